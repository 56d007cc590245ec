"""DBOS's durable writes are announced by what they are, whichever of its threads makes them."""

import pytest

pytest.importorskip("dbos", reason="pip install 'ackgap[dbos]'")

WORKER = """
import sys
import httpx
from dbos import DBOS, SetWorkflowID

url = sys.argv[1]
DBOS(config={"name": "worker", "system_database_url": "sqlite:///dbos.sqlite", "application_version": "1",
             "log_level": "CRITICAL", "notification_listener_polling_interval_sec": 0.01})

@DBOS.step()
def search(): return httpx.get(url + "/search").text

@DBOS.step()
def file_ticket():
    if "fail" in sys.argv:
        raise ValueError("no")
    return httpx.post(url + "/tickets").text

@DBOS.workflow()
def review():
    search()
    file_ticket()
    return "done"

def outer():
    @DBOS.step()
    def inner(): return 1
    @DBOS.workflow()
    def nested(): return inner()
    return nested

nested = outer()
DBOS.launch()
with SetWorkflowID("1"):
    handle = DBOS.start_workflow(nested if "nested" in sys.argv else review)
try:
    print(handle.get_result(polling_interval_sec=0.01))
except ValueError as error:
    print(error)
DBOS.destroy()
"""


def writes(reached):
    return [f"{one['phase']} {one['name']}" for one in reached if one.get("name", "").startswith("dbos.")]


def both(*names):
    return [f"{phase} {name}" for name in names for phase in ("committing", "committed")]


@pytest.mark.slow
def test_each_step_and_each_outcome_has_its_name(supervisor, service):
    assert supervisor.run(WORKER, service.url) == "done\n"
    assert writes(supervisor.reached) == both(
        "dbos.workflow.start", "dbos.step.search", "dbos.step.file_ticket", "dbos.workflow.success"
    )
    said = supervisor.said()
    assert said.index("returned POST /tickets") < said.index("committing dbos.step.file_ticket")


@pytest.mark.slow
def test_a_step_that_fails_is_recorded_and_ends_the_workflow(supervisor, service):
    assert supervisor.run(WORKER, service.url, "fail") == "no\n"
    assert writes(supervisor.reached)[-4:] == both("dbos.step.file_ticket", "dbos.workflow.error")


@pytest.mark.slow
def test_a_step_defined_in_a_function_is_named_without_it(supervisor, service):
    assert supervisor.run(WORKER, service.url, "nested") == "1\n"
    assert "committing dbos.step.inner" in writes(supervisor.reached)


@pytest.mark.slow
def test_a_workflow_that_was_killed_is_recovered_and_its_recorded_steps_do_not_run_again(supervisor, service):
    supervisor.hold(lambda one: one.get("name") == "dbos.step.file_ticket" and one["phase"] == "committing")
    worker = supervisor.start(WORKER, service.url)
    supervisor.wait_for_write("committing", "dbos.step.file_ticket")
    worker.kill()
    worker.communicate()
    before = len(supervisor.messages)
    supervisor.hold(lambda one: False)
    assert supervisor.run(WORKER, service.url) == "done\n"
    second = [one for one in supervisor.messages[before:] if one["type"] == "reach"]
    assert "committing dbos.workflow.recover" in writes(second)
    assert [name for name in writes(second) if "step" in name] == both("dbos.step.file_ticket")
    assert service.requests == ["GET /search", "POST /tickets", "POST /tickets"]


@pytest.mark.slow
def test_a_method_that_a_later_version_has_not_is_reported(supervisor):
    code = """
        import sys, types
        import _ackgap_worker.dbos as hooks
        class Announcer:
            config = types.SimpleNamespace(hurry=False)
            def trouble(self, what, error=None): print(what)
        hooks.hook_system_database(types.SimpleNamespace(SystemDatabase=type("SystemDatabase", (), {})), Announcer())
    """
    said = supervisor.run(code).splitlines()
    assert len(said) == 4
    assert said[0] == "dbos has no SystemDatabase.record_operation_result: its writes are named by the database driver"


@pytest.mark.slow
def test_a_dbos_that_waits_without_an_interval_of_the_callers_is_left_as_it_is(supervisor):
    code = """
        import types
        import _ackgap_worker.dbos_polls as hooks
        class Announcer:
            config = types.SimpleNamespace(hurry=True)
            def trouble(self, what, error=None): print(what)
        class SystemDatabase:
            def await_workflow_result(self, workflow_uuid): return f"result of {workflow_uuid}"
            async def await_workflow_result_async(self, workflow_id, polling_interval): return polling_interval
        hooks.look_more_often(types.SimpleNamespace(SystemDatabase=SystemDatabase), Announcer())
        print(SystemDatabase().await_workflow_result("w"))
        import asyncio
        print(asyncio.run(SystemDatabase().await_workflow_result_async("w", 1.0)))
    """
    assert supervisor.run(code).splitlines() == [
        "dbos has no SystemDatabase.await_workflow_result with an interval: its poll stays as it is",
        "result of w",
        "0.05",
    ]
