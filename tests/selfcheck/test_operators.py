"""Operators are pure: an agent's text in, changed texts out, and every other line as it was."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from ackgap.selfcheck.agent_source import AgentSource
from ackgap.selfcheck.meaning import Deed, Meaning
from ackgap.selfcheck.operators.catalogue import OPERATORS, mutants_of
from ackgap.selfcheck.subjects import SUBJECTS

SCENARIOS = Path(__file__).parents[2] / "scenarios"

AGENT = '''
"""An agent."""
import json, os, sqlite3
import urllib.request

STATE = "state.json"


def call(url, body=None, key=None):
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.load(answer)


def load():
    if not os.path.exists(STATE):
        return {}
    with open(STATE) as file:
        return json.load(file)


def save(state):
    with open(STATE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STATE + ".new", STATE)


def find(order):
    return call(f"/orders?customer=7&order={order}")["items"]


def words():
    return call("/model", {"ask": "words"})["text"]


def main():  # kept as it is
    state = load()
'''


def changed(operator: str, body: str) -> list[str]:
    """Return the lines that each mutant of an operator has and the agent has not."""
    text = (AGENT + textwrap.indent(textwrap.dedent(body), "    ")).lstrip()
    before = text.splitlines()
    chosen = tuple(each for each in OPERATORS if each.name == operator)
    found = []
    for mutant in mutants_of("worker.py", text, chosen):
        ast.parse(mutant.change.text)
        lines = [line.strip() for line in mutant.change.text.splitlines() if line not in before]
        found.append("\n".join(lines))
    return found


CHARGE = "call('/charges', body, f'charge-{order}')"


def test_a_key_is_left_out_where_it_is_handed_over():
    assert changed("drop-key", CHARGE) == ["call('/charges', body, None)"]


def test_a_key_is_a_digest_of_what_is_sent():
    [text] = changed("payload-key", CHARGE)
    assert text == "import hashlib\ncall('/charges', body, hashlib.sha256(json.dumps(body).encode()).hexdigest())"


def test_a_key_is_random():
    assert changed("random-key", CHARGE) == ["import uuid\ncall('/charges', body, str(uuid.uuid4()))"]


def test_a_key_is_the_time():
    assert changed("time-key", CHARGE) == ["import time\ncall('/charges', body, str(time.time_ns()))"]


def test_a_key_has_the_attempt_in_it():
    assert changed("attempt-key", CHARGE) == ["call('/charges', body, f'{os.getpid()}-' + (f'charge-{order}'))"]


def test_a_call_without_a_key_has_none_to_lose():
    assert changed("drop-key", "call('/charges', body)") == []


def test_a_write_is_left_out():
    assert changed("forget-commit", "call('/charges', body)\nsave(state)")[-1] == "pass"


def test_a_write_comes_after_the_next_thing():
    body = "save(state)\ncall('/charges', {'a': 1})\nprint(1)"
    [mutant] = mutants("commit-later", body)
    assert in_order(mutant, "call('/charges'", "save(state)", "print(1)")


def test_a_write_at_the_end_of_a_step_comes_after_the_next_step():
    body = """
    if "a" not in state:
        state["a"] = call("/a", {})
        save(state)
    if "b" not in state:
        state["b"] = call("/b", {})
    """
    [mutant] = mutants("commit-later", body)
    assert in_order(mutant, "'/a'", '"/b"', "save(state)") or in_order(mutant, "'/a'", "'/b'", "save(state)")


def test_what_is_done_in_a_loop_is_written_down_after_it():
    body = "for order in orders:\n    call('/charges', {'order': order})\n    save(state)"
    [mutant] = mutants("commit-after-loop", body)
    assert mutant.endswith("    save(state)\n")
    assert "        save(state)" not in mutant


def test_a_step_is_noted_before_it_is_done():
    assert changed("ack-before-doing", "save({'id': call('/charges', body)['id']})") == ["save({'id': None})"]
    body = "made = call('/charges', body)\nsave({'id': made['id']})"
    assert in_order(*mutants("ack-before-doing", body), "save({'id': None})", "made = call('/charges', body)")


def test_a_change_is_committed_before_it_is_made():
    body = "db.execute('insert into a values (1)')\ndb.commit()"
    assert in_order(mutants("swap-writes", body)[0], "db.commit()", "db.execute")


def test_a_state_file_is_written_over():
    [text] = changed("non-atomic-write", "save(state)")
    assert text == "with open(STATE, 'w') as file:\nfile.write(json.dumps(state))"


def test_a_state_file_is_written_in_two_halves():
    [text] = changed("torn-write", "save(state)")
    assert "file.write(whole[:len(whole) // 2])\nfile.flush()" in text


def test_two_changes_are_committed_apart():
    body = "db.execute('insert into a values (1)')\ndb.execute('insert into b values (1)')\ndb.commit()"
    [mutant] = mutants("split-transaction", body)
    assert in_order(mutant, "into a", "db.commit()", "into b", "db.commit()")


def test_each_statement_is_a_transaction():
    assert changed("autocommit", "db = sqlite3.connect('a.db')") == [
        "db = sqlite3.connect('a.db', isolation_level=None)"
    ]


def test_an_error_is_swallowed():
    found = changed("swallow-error", "state['id'] = call('/charges', body)")
    assert found[-1] == "try:\nstate['id'] = call('/charges', body)\nexcept Exception:\nstate['id'] = None"


def test_after_an_error_the_next_one_is_taken():
    [text] = changed("catch-and-continue", "for order in orders:\n    call('/charges', body)")
    assert text == "try:\ncall('/charges', body)\nexcept Exception as error:\nprint(error)"


def test_a_call_without_a_key_is_made_again_after_an_error():
    *_, text = changed("blind-retry", "call('/charges', body)")
    assert text.startswith("for left in (1, 0):\ntry:\ncall('/charges', body)\nbreak\nexcept OSError:")
    assert not any("charge-" in text for text in changed("blind-retry", CHARGE)), "under its key that does no harm"


def test_a_conflict_is_an_error_like_any_other():
    assert changed("ignore-conflict", "if answer.status_code == 422:\n    pass") == ["if False:"]
    assert changed("ignore-conflict", "if error.code != 409:\n    raise") == ["if True:"]
    assert changed("ignore-conflict", "if error.code != 7:\n    raise") == []


def test_a_status_is_not_looked_at():
    assert changed("unchecked-answer", "answer.raise_for_status().json()") == ["answer.json()"]


def test_nothing_is_looked_up():
    assert "if not None:" in changed("forget-lookup", "if not find(order):\n    call('/charges', body)")
    assert "return []" in changed("forget-lookup", "find(order)")


def test_a_lookup_has_one_condition_less():
    assert changed("wide-lookup", "find(order)") == ["return call(f'/orders?order={order}')[\"items\"]"]


def test_records_are_not_asked():
    assert changed("drop-guard", "if 'id' not in state:\n    call('/charges', body)") == ["if True:"]


def test_what_was_kept_is_not_read():
    assert changed("forget-state", "pass") == ["if True:"]


def test_what_is_filed_is_made_anew():
    body = "state['text'] = words()\nsave(state)\ncall('/tickets', {'text': state['text']})"
    assert changed("remade-content", body) == ["call('/tickets', {'text': words()})"]


def test_every_other_line_stays_as_it_is():
    for mutant in mutants("drop-key", CHARGE):
        assert "def main():  # kept as it is" in mutant


def mutants(operator: str, body: str) -> list[str]:
    text = (AGENT + textwrap.indent(textwrap.dedent(body), "    ")).lstrip()
    chosen = tuple(each for each in OPERATORS if each.name == operator)
    return [mutant.change.text for mutant in mutants_of("worker.py", text, chosen)]


def in_order(text: str, *parts: str) -> bool:
    main = text[text.index("def main") :]
    place = -1
    for part in parts:
        place = main.find(part, place + 1)
        if place < 0:
            return False
    return True


def test_a_call_with_a_body_acts_and_one_without_looks():
    meaning = Meaning(AgentSource(AGENT + "    call('/a', {})\n    call('/a')\n    save(state)\n"))
    main = meaning.source.functions["main"]
    assert [meaning.deeds(statement) for statement in main.body[1:]] == [{Deed.ACT}, {Deed.LOOK}, {Deed.WRITE}]
    assert meaning.writing == {"save"}
    assert meaning.acting == {"call", "words", "main"}


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.scenario)
def test_each_subject_has_mutants_of_their_own_that_can_be_read(subject):
    text = (SCENARIOS / subject.scenario / subject.file).read_text()
    found = list(mutants_of(subject.file, text))
    assert len(found) >= 5
    assert len({mutant.name for mutant in found}) == len(found)
    assert len({mutant.change.text for mutant in found} - {text}) == len(found)
    for mutant in found:
        ast.parse(mutant.change.text)


def test_every_operator_has_a_site_and_says_where_it_was_published():
    used = {
        mutant.operator.name
        for subject in SUBJECTS
        for mutant in mutants_of(subject.file, (SCENARIOS / subject.scenario / subject.file).read_text())
    }
    assert used == {operator.name for operator in OPERATORS}
    assert all(operator.published and operator.about for operator in OPERATORS)
