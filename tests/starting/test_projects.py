"""What is read off projects of many shapes; each scenario that comes of it is loaded by the real loader."""

from __future__ import annotations

import pytest

from ackgap.errors import UsageInvalid

POST = "import os, urllib.request\nurllib.request.urlopen(os.environ['TICKETS_URL'] + '/tickets', b'{}')\n"


def test_a_plain_script_is_its_own_worker(look):
    found = look({"agent.py": POST})
    assert found.scenario.worker.command[1:] == ("agent.py",)
    assert found.env == {"TICKETS_URL": "{tickets.url}"}
    assert found.profiles == {"tickets": "any"}
    assert "agent.py:2" in found.text
    assert "case-management" in found.said("guessed")  # it has the path /tickets


def test_nothing_of_a_project_is_run(look, tmp_path):
    marker = tmp_path / "ran"
    look({"agent.py": POST + f"open({str(marker)!r}, 'w').close()\n", "setup.py": f"open({str(marker)!r}, 'w')"})
    assert not marker.exists()


def test_a_package_in_src_is_started_by_its_console_script_without_being_installed(look):
    found = look(
        {
            "pyproject.toml": """
                [project]
                name = "Ticket Agent"
                dependencies = ["httpx", "pydantic-settings"]
                [project.scripts]
                ticket-agent = "ticket_agent.cli:main"
                """,
            "src/ticket_agent/__init__.py": "",
            "src/ticket_agent/cli.py": "from ticket_agent.desk import file\ndef main():\n    file()\n",
            "src/ticket_agent/desk.py": """
                import httpx
                from .settings import settings
                def file():
                    httpx.post(settings.desk_url + "/tickets", json={}, headers={"X": settings.desk_token})
                """,
            "src/ticket_agent/settings.py": """
                from pydantic_settings import BaseSettings
                class Settings(BaseSettings):
                    model_config = {"env_prefix": "agent_"}
                    desk_url: str = "https://desk.example.org/api/v2"
                    desk_token: str
                settings = Settings()
                """,
            "scripts/unrelated.py": "import os\nos.environ['OTHER_URL']\nif __name__ == '__main__':\n    pass\n",
        }
    )
    assert found.scenario.name == "Ticket-Agent"
    assert found.scenario.worker.command[1] == "-c"
    assert "from ticket_agent.cli import main" in found.scenario.worker.command[2]
    assert found.env["PYTHONPATH"] == "src"
    assert found.env["AGENT_DESK_URL"] == "{agent_desk.url}/api/v2"
    assert found.env["AGENT_DESK_TOKEN"] == "unused"
    assert "OTHER_URL" not in found.text
    assert found.remarks.edits == []


def test_a_module_in_a_package_is_started_as_a_module(look):
    agent = "import os, httpx\nif __name__ == '__main__':\n    httpx.post(os.environ['DESK_URL'])\n"
    found = look({"crew/__init__.py": "", "crew/agent.py": agent})
    assert found.scenario.worker.command[1:] == ("-m", "crew.agent")


def test_the_user_says_which_program_it_is(look):
    files = {"agent.py": POST, "other.py": "import os\nos.environ['CRM_URL']\nprint()\n"}
    found = look(files, "python other.py --fast")
    assert found.scenario.worker.command[1:] == ("other.py", "--fast")
    assert found.env == {"CRM_URL": "{crm.url}"}


def test_without_a_program_the_user_is_asked_for_one(look):
    with pytest.raises(UsageInvalid, match="No program was found") as error:
        look({"library.py": "def f():\n    pass\n"})
    assert "--worker" in error.value.next_step


def test_several_programs_are_named_so_that_a_wrong_guess_shows(look):
    guarded = "import httpx, os\nif __name__ == '__main__':\n    httpx.post(os.environ['DESK_URL'])\n"
    found = look({"agent.py": guarded, "report.py": guarded})
    assert found.scenario.worker.command[1:] == ("agent.py",)
    assert "report.py" in found.said("guessed")


def test_official_clients_are_led_to_their_fakes_by_the_variables_that_they_read(look):
    found = look(
        {
            "agent.py": """
            import boto3, openai, anthropic
            openai.OpenAI().responses.create(model="m", input="x")
            anthropic.Anthropic()
            boto3.client("s3").put_object(Bucket="b", Key="k", Body=b"")
            boto3.client("polly")
            """
        }
    )
    assert found.env["OPENAI_BASE_URL"] == "{model.url}/v1"
    assert found.env["ANTHROPIC_BASE_URL"] == "{model2.url}"
    assert found.env["AWS_ENDPOINT_URL_S3"] == "{s3.url}"
    assert found.env["OPENAI_API_KEY"] == "unused"
    assert found.profiles == {"model": "openai", "model2": "anthropic", "s3": "s3"}
    assert "polly" in found.said("unknown")
    assert found.remarks.edits == []


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('openai.OpenAI(base_url=os.environ["LLM_URL"])', "{llm.url}/v1"),
        ('openai.OpenAI(base_url=os.environ["LLM_URL"] + "/v1")', "{llm.url}"),
        ("openai.OpenAI(base_url=f\"{os.environ['LLM_URL']}/v1\")", "{llm.url}"),
        ('BASE = os.environ.get("LLM_URL") or "https://x"\nopenai.OpenAI(base_url=BASE)', "{llm.url}/v1"),
    ],
)
def test_an_address_has_what_the_program_leaves_out(look, expression, value):
    found = look({"agent.py": f"import os, openai\n{expression}\nprint()\n"})
    assert found.env["LLM_URL"] == value
    assert found.profiles == {"llm": "openai"}
    assert "OPENAI_BASE_URL" not in found.env


def test_a_client_that_reads_no_variable_has_its_host_stood_for(look):
    files = {"agent.py": "import stripe\n\nstripe.Charge.create(amount=1, currency='eur', source='tok')\n"}
    found = look(files)
    assert "STRIPE_API_BASE" not in found.env
    assert 'hosts = ["api.stripe.com"]' in found.text
    assert "stands for api.stripe.com" in found.said("found")
    assert found.remarks.edits == []
    line = 'import os, stripe\nstripe.api_base = os.environ.get("STRIPE_API_BASE", stripe.api_base)\nprint()\n'
    edited = look({"agent.py": line})
    assert edited.remarks.edits == []
    assert "hosts" not in edited.text
    assert edited.env["STRIPE_API_BASE"] == "{stripe.url}"
    assert edited.profiles == {"stripe": "stripe"}


def test_a_host_that_is_written_into_the_source_is_stood_for(look):
    found = look(
        {
            "agent.py": '"""See https://docs.acme.io."""\nimport requests\nrequests.post("https://crm.acme.io/v2/leads")\n'
        }
    )
    assert found.env == {}
    assert found.remarks.edits == []
    assert '[targets.crm]\nprofile = "any"\nhosts = ["crm.acme.io"]' in found.text


def test_an_address_with_a_port_of_its_own_gets_a_variable(look):
    found = look({"agent.py": '\n\nimport requests; requests.post("https://crm.acme.io:8443/v2/leads")\n'})
    assert found.env == {"CRM_URL": "{crm.url}"}
    (edit,) = found.remarks.edits
    assert edit.startswith("agent.py:3: ")
    assert 'os.environ.get("CRM_URL", "https://crm.acme.io:8443")' in edit


def test_where_no_address_is_found_that_is_what_has_to_be_edited(look):
    found = look({"agent.py": "print('x')\n"})
    assert found.profiles == {"service": "any"}
    assert "no address of an outside service was found" in found.said("edits")


def test_host_and_port_are_given_apart(look):
    found = look(
        {
            "agent.py": """
            import os, http.client
            port = int(os.environ.get("DESK_PORT", "80"))
            http.client.HTTPConnection(os.environ["DESK_HOST"], port).request("POST", "/")
            """
        }
    )
    assert found.env == {"DESK_HOST": "{desk.host}", "DESK_PORT": "{desk.port}"}


def test_a_host_that_gets_its_scheme_later_has_none(look):
    found = look({"agent.py": "import os, httpx\nhttpx.post(f\"http://{os.environ['DESK_HOST']}/tickets\")\n"})
    assert found.env == {"DESK_HOST": "{desk.host}:{desk.port}"}
    assert found.remarks.edits == []


def test_https_in_front_of_a_variable_has_to_go(look):
    found = look({"agent.py": "import os, httpx\nhttpx.post(f\"https://{os.environ['DESK_HOST']}/tickets\")\n"})
    assert "fakes speak plain HTTP" in found.said("edits")


def test_servers_and_telemetry_are_no_outside_services(look):
    found = look(
        {
            "agent.py": """
            import os, httpx, psycopg, redis
            psycopg.connect(os.environ["DATABASE_URL"])
            redis.from_url(os.getenv("REDIS_URL", "redis://localhost:6379/0"))
            os.environ.get("SENTRY_DSN"), os.environ.get("HTTPS_PROXY"), os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
            httpx.post(os.environ["DESK_URL"])
            """
        }
    )
    assert {service.name: service.kind for service in found.scenario.services} == {"db": "postgres", "redis": "redis"}
    assert found.env == {"DATABASE_URL": "{db.url}", "REDIS_URL": "{redis.url}", "DESK_URL": "{desk.url}"}


def test_the_driver_of_a_database_s_address_stays(look):
    found = look(
        {
            "agent.py": """
            import os, httpx, sqlalchemy
            sqlalchemy.create_engine(os.environ.get("DB_URL", "postgresql+psycopg://localhost/app"))
            httpx.post(os.environ["DESK_URL"])
            """
        }
    )
    assert found.env["DB_URL"] == "postgresql+psycopg://{db.user}@{db.host}:{db.port}/{db.database}"


def test_a_server_that_ackgap_does_not_know_is_said(look):
    found = look({"agent.py": POST + "os.environ['MONGO_URL']\n"})
    assert "MONGO_URL" in found.said("unknown")


def test_a_setting_that_has_to_be_there_is_guessed_from_what_it_is_compared_with(look):
    found = look({"agent.py": POST + "if os.environ['MODE'] == 'fast':\n    pass\nos.environ['PARTNER']\n"})
    assert found.env["MODE"] == "fast"
    assert found.env["PARTNER"] == "1"
    assert "PARTNER: agent.py:5" in found.said("unknown")


def test_state_of_an_earlier_run_is_removed_from_each_copy(look):
    source = POST + "from pathlib import Path\nSTATE = Path('state.json')\nSTATE.write_text('{}')\n"
    assert look({"agent.py": source}).scenario.prepare == ()
    found = look({"agent.py": source, "state.json": "{}", "notes.json": "{}"})
    assert found.scenario.prepare == (("rm", "-f", "state.json"),)
    assert "state.json" in found.said("found")


def test_state_elsewhere_is_put_back_before_each_cell(look):
    found = look({"agent.py": POST + "import sqlite3\nsqlite3.connect(os.path.expanduser('~/.my-agent/state.db'))\n"})
    (outside,) = found.scenario.worker.external_state
    assert outside.as_posix().endswith("/.my-agent/state.db")
    assert outside.is_absolute()


def test_a_saver_in_memory_is_told_for_what_it_is(look):
    found = look(
        {
            "agent.py": """
            import os, httpx
            from langgraph.checkpoint.memory import InMemorySaver
            saver = InMemorySaver()
            httpx.post(os.environ["DESK_URL"])
            """
        }
    )
    assert "InMemorySaver" in found.said("found")
    assert "forgets all at a death" in found.said("guessed")


def test_tools_of_an_agent_become_a_script_for_its_model(look):
    found = look(
        {
            "agent.py": """
            import os, httpx, openai
            TOOL = {"type": "function", "name": "refund", "parameters": {"type": "object", "properties": {
                "order_id": {"type": "string"}, "amount": {"type": "integer"}, "reason": {"type": "string"}}}}
            openai.OpenAI().responses.create(model="m", input="x", tools=[TOOL])
            httpx.post(os.environ["DESK_URL"])
            """
        }
    )
    script = next(target.settings["script"] for target in found.scenario.targets if target.name == "model")
    arguments = script[0]["call"]["arguments"]
    assert script[0]["call"]["tool"] == "refund"
    assert [item["order_id"] for item in arguments] == ["order-id-1", "order-id-1"]
    assert len({item["reason"] for item in arguments}) == 2
    assert arguments[0]["amount"] == 1
    assert "call" not in script[-1]


def test_a_tool_that_the_request_forces_needs_no_script(look):
    found = look(
        {
            "agent.py": """
            import openai
            TOOL = {"type": "function", "name": "refund", "parameters": {"type": "object", "properties": {}}}
            openai.OpenAI().responses.create(model="m", input="x", tools=[TOOL], tool_choice={"name": "refund"})
            """
        }
    )
    assert "script" not in next(target.settings for target in found.scenario.targets)


def test_a_server_without_somebody_who_asks_it_needs_a_client(look):
    found = look(
        {
            "app.py": """
            import os, httpx, uvicorn
            from fastapi import FastAPI
            app = FastAPI()
            @app.post("/review")
            def review():
                httpx.post(os.environ["DESK_URL"])
            if __name__ == "__main__":
                uvicorn.run(app, port=8000)
            """
        }
    )
    assert "app.py:" in found.said("edits")
    assert "[client]" in found.said("edits")
    assert "# [client]" in found.text


def test_an_address_of_temporal_that_is_written_down_gets_a_variable(look):
    worker = """
        import asyncio, os, httpx
        from temporalio.client import Client
        from temporalio.worker import Worker
        async def main():
            client = await Client.connect("localhost:7233")
            await Worker(client, task_queue="q", workflows=[]).run()
            httpx.post(os.environ["DESK_URL"])
        if __name__ == "__main__":
            asyncio.run(main())
        """
    starter = """
        import asyncio
        from temporalio.client import Client
        async def main():
            client = await Client.connect("localhost:7233")
            await client.execute_workflow("W", id="review-1", task_queue="q")
        if __name__ == "__main__":
            asyncio.run(main())
        """
    found = look({"worker.py": worker, "starter.py": starter})
    assert found.env["TEMPORAL_ADDRESS"] == "{temporal.address}"
    assert len(found.remarks.edits) == 2
    assert 'os.environ.get("TEMPORAL_ADDRESS", "localhost:7233")' in found.remarks.edits[0]
    assert found.scenario.engine is not None
    assert found.scenario.engine.workflow == "review-1"
    assert found.scenario.client is not None
    assert found.scenario.client.command[1:] == ("starter.py",)


def test_a_celery_application_is_started_by_celery(look):
    found = look(
        {
            "jobs.py": """
            import os, httpx
            from celery import Celery
            app = Celery("jobs", broker="redis://localhost:6379/0")
            @app.task
            def file():
                httpx.post(os.environ["DESK_URL"])
            """,
            "ask.py": "from jobs import file\nfrom celery import chain\nfile.delay()\n",
        }
    )
    assert found.scenario.worker.command[1:5] == ("-m", "celery", "-A", "jobs")
    assert [service.kind for service in found.scenario.services] == ["redis"]
    assert 'os.environ["REDIS_URL"]' in found.said("edits")
    assert found.scenario.client is not None
    assert found.scenario.client.command[1:] == ("ask.py",)


def test_scripts_in_other_languages_are_read_for_their_variables(look):
    shell = look({"agent.sh": 'set -eu\nKEY=1\ncurl -d "$KEY" "$TICKETS_URL/tickets" "${NOTIFY_URL:-$TICKETS_URL}"\n'})
    assert shell.scenario.worker.command == ("sh", "agent.sh")
    assert shell.env == {"TICKETS_URL": "{tickets.url}", "NOTIFY_URL": "{notify.url}"}


def test_javascript_is_read_for_its_variables(look, program):
    program("node", "apt-get install nodejs")
    found = look({"agent.mjs": "fetch(process.env.CRM_URL ?? 'https://crm.acme.io/v1')\nprocess.env['API_TOKEN']\n"})
    assert found.env == {"CRM_URL": "{crm.url}/v1", "API_TOKEN": "unused"}


def test_names_of_dotenv_are_read_and_its_secrets_are_not(look):
    found = look({"agent.py": POST, ".env": "TICKETS_URL=https://tickets.acme.io\nTOKEN=s3cr3t-value\n"})
    assert "TICKETS_URL" in found.said("guessed")
    everything = found.text + "".join(found.said(kind) for kind in ("found", "guessed", "unknown", "edits"))
    assert "s3cr3t-value" not in everything
    assert "tickets.acme.io" not in everything


def test_a_file_that_is_no_python_is_named_and_the_rest_is_read(look):
    found = look({"agent.py": POST, "broken.py": "def f(:\n"})
    assert "broken.py" in found.said("unknown")
    assert found.env == {"TICKETS_URL": "{tickets.url}"}


@pytest.mark.parametrize(
    "hostile",
    [
        "os.environ['A=B']\nos.environ['X\\0Y']\nos.environ['\\x1b[31mRED_URL']\n",
        "os.environ.get('ODD_URL', 'http://[broken')\n",
        "os.environ.get('ODD_URL', 'https://x/{tickets.nothing}\"\\n[worker]')\n",
        "x = " + "(" * 90 + "1" + ")" * 90 + "\n",
        "x = " + "+".join(["os.environ['A_URL']"] * 400) + "\n",
    ],
    ids=["names", "address", "toml", "nesting", "chain"],
)
def test_hostile_sources_still_make_a_scenario_that_loads(look, hostile):
    found = look({"agent.py": POST + hostile})
    assert found.env["TICKETS_URL"] == "{tickets.url}"
    assert "\x1b" not in found.text
