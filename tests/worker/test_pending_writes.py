"""What an announcement says of the writes in the background is true at the moment at which it is sent."""

import pytest

THREADS = """
import contextvars, os, sys, threading
from concurrent.futures import ThreadPoolExecutor
from _ackgap_worker.announcer import Announcer
from _ackgap_worker.channel import Channel
from _ackgap_worker.config import Config

sys.setswitchinterval(1e-6)  # whatever can come between two steps does
channel = Channel(os.environ["ACKGAP_CHANNEL"], lambda: {"type": "hello", "token": "token of this life"})
channel.open()
announcer = Announcer(channel, Config.from_text(os.environ["ACKGAP_CONFIG"]))
executor = ThreadPoolExecutor(4)
over = threading.Event()

def write():
    with announcer.durable_write("write"):
        pass

def call():
    while not over.is_set():
        announcer.call("localhost", 1, "GET", "/").at("sending")

callers = [threading.Thread(target=call) for _ in range(2)]
for caller in callers:
    caller.start()
for round in range(150):
    context = contextvars.copy_context
    futures = [announcer.ask_for_write(lambda: executor.submit(context().run, write)) for _ in range(4)]
    for future in futures:
        future.result()
over.set()
for caller in callers:
    caller.join()
"""


@pytest.fixture
def reached(supervisor):
    supervisor.targets = {"localhost:1": "service"}
    supervisor.run(THREADS)
    return supervisor.reached


def test_a_write_is_pending_or_begun_from_when_it_was_first_spoken_of(reached):
    """Else the supervisor takes it for one that nobody has asked for, and lets a later one through."""
    spoken_of, begun = set(), set()
    for one in reached:
        if one["phase"] == "committing":
            begun.add(one["op"])
        pending = set(one["pending"])
        assert not pending & begun, "a write that has begun is said to be pending"
        assert spoken_of <= pending | begun, "a write that was asked for is not spoken of"
        spoken_of |= pending
    assert len(begun) == 600


HANDED_OVER = """
import os
from concurrent.futures import ThreadPoolExecutor
from _ackgap_worker.announcer import Announcer
from _ackgap_worker.channel import Channel
from _ackgap_worker.config import Config

channel = Channel(os.environ["ACKGAP_CHANNEL"], lambda: {"type": "hello", "token": "token of this life"})
channel.open()
announcer = Announcer(channel, Config.from_text(os.environ["ACKGAP_CONFIG"]))
with ThreadPoolExecutor(1) as executor:
    announcer.ask_for_write(lambda: executor.submit(print)).result()
"""


@pytest.mark.parametrize(("config", "said"), [({"wire": ["127.0.0.1:5432"]}, [[]]), ({}, [])])
def test_a_write_that_only_a_proxy_announces_is_no_longer_pending_once_it_is_over(supervisor, config, said):
    supervisor.config = config
    supervisor.run(HANDED_OVER)
    assert [message["pending"] for message in supervisor.of_type("pending")] == said
