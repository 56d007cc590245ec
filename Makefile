PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
PYTEST ?= -q

.DEFAULT_GOAL := help
.PHONY: help demo matrix test lint format bench sample package clean

help: ## Show what there is
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[anthropic,aws,celery,dask,dbos,dbos-postgres,docker,langgraph,langgraph-postgres,llamaindex,network,openai,openai-agents,prefect,pydantic-ai,pydantic-ai-temporal,stripe,temporal]' --group test --group lint --group bench
	@touch $@

demo: $(STAMP) ## Kill a LangGraph agent at every step and show the matrix (about 40 cells)
	$(BIN)/ackgap run scenarios/langgraph-ticket --slice demo --warm --out reports/demo --expected scenarios/langgraph-ticket/expected.demo.json

matrix: $(STAMP) ## The same agent, every variant and every crash point (about half an hour)
	$(BIN)/ackgap run scenarios/langgraph-ticket --warm --out reports/matrix --fail-on never

test: $(STAMP) ## Run the tests; the slow ones too with CI=true
	$(BIN)/python -m pytest $(PYTEST)

lint: $(STAMP) ## Style, strict types, import layers
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## Format the code
	$(BIN)/ruff check --fix-only --quiet . && $(BIN)/ruff format .

bench: $(STAMP) ## Measure against what one would write by hand, what durability costs and what pruning saves
	$(BIN)/python benchmarks/cells.py
	$(BIN)/python benchmarks/first_cell.py
	$(BIN)/python benchmarks/many_cells.py
	$(BIN)/python benchmarks/page_opening.py
	$(BIN)/python benchmarks/naive_script.py
	$(BIN)/python benchmarks/announcement.py
	$(BIN)/python benchmarks/durability.py
	$(BIN)/python benchmarks/pruning.py

sample: $(STAMP) ## Make the sample report and the pictures in the docs anew
	$(BIN)/python docs/make_pictures.py

package: $(STAMP) ## Build wheel and sdist
	$(BIN)/python -m build

clean: ## Remove what was built and installed
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
