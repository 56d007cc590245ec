"""Of the threads that stand at boundaries one reads for all; whatever happens to it, the others go on."""

import signal

PREAMBLE = """
import asyncio, atexit, os, signal, sys, threading, urllib.request

def get(path):
    return urllib.request.urlopen(sys.argv[1] + path).read()
"""


def holding(supervisor, *paths):
    supervisor.hold(lambda one: one.get("path") in paths and one["phase"] == "sending")


def test_a_follower_takes_the_place_of_a_leader_that_goes_on(supervisor, service):
    holding(supervisor, "/one", "/two", "/three")
    worker = supervisor.start(
        PREAMBLE
        + """
for path in ("/one", "/two", "/three"):
    threading.Thread(target=get, args=(path,)).start()
        """,
        service.url,
    )
    for path in ("/one", "/two", "/three"):
        supervisor.wait_for_call("sending", path)
    supervisor.let_go()
    supervisor.finish(worker)
    assert sorted(service.requests) == ["GET /one", "GET /three", "GET /two"]


def test_a_leader_that_a_signal_takes_away_leaves_its_place_to_a_follower(supervisor, service):
    holding(supervisor, "/leader", "/follower")
    worker = supervisor.start(
        PREAMBLE
        + """
class Stop(Exception):
    pass

def stop(*args):
    raise Stop

signal.signal(signal.SIGTERM, stop)
follower = threading.Thread(target=get, args=("/follower",))
threading.Timer(0.5, follower.start).start()
try:
    get("/leader")
except Stop:
    follower.join()
        """,
        service.url,
    )
    supervisor.wait_for_call("sending", "/leader")
    supervisor.wait_for_call("sending", "/follower")
    worker.send_signal(signal.SIGTERM)
    supervisor.let_go()
    supervisor.finish(worker)
    assert "GET /follower" in service.requests


def test_a_handler_that_announces_while_its_thread_reads_is_answered(supervisor, service):
    holding(supervisor, "/held")
    worker = supervisor.start(
        PREAMBLE
        + """
signal.signal(signal.SIGTERM, lambda *args: get("/handler"))
get("/held")
        """,
        service.url,
    )
    supervisor.wait_for_call("sending", "/held")
    worker.send_signal(signal.SIGTERM)
    supervisor.wait_for_call("returned", "/handler")
    supervisor.let_go()
    supervisor.finish(worker)
    assert service.requests == ["GET /handler", "GET /held"]


def test_what_announces_at_the_end_is_answered_though_a_daemon_thread_reads(supervisor, service):
    holding(supervisor, "/held")
    worker = supervisor.start(
        PREAMBLE
        + """
threading.Thread(target=get, args=("/held",), daemon=True).start()
while not threading.active_count() == 2:
    pass
get("/first")

class AtTheVeryEnd:
    def __del__(self, get=get):
        get("/last")

sys.modules["kept"] = AtTheVeryEnd()
atexit.register(get, "/exit")
        """,
        service.url,
    )
    supervisor.wait_for_call("returned", "/exit")
    worker.communicate(timeout=20)
    assert service.requests[:2] == ["GET /first", "GET /exit"]


def test_coroutines_and_threads_are_answered_beside_each_other(supervisor, service):
    supervisor.run(
        """
        import asyncio, sys, threading, urllib.request
        import httpx

        def get():
            for _ in range(15):
                urllib.request.urlopen(sys.argv[1] + "/thread").read()

        async def main():
            async with httpx.AsyncClient() as client:
                for _ in range(15):
                    await client.get(sys.argv[1] + "/coroutine")

        threads = [threading.Thread(target=get) for _ in range(2)]
        for thread in threads:
            thread.start()
        asyncio.run(main())
        for thread in threads:
            thread.join()
        """,
        service.url,
    )
    assert (service.requests.count("GET /thread"), service.requests.count("GET /coroutine")) == (30, 15)
