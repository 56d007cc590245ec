"""A client that leaves a stream once it has heard all of it has its answer; one that leaves before has not."""

from __future__ import annotations

import pytest

WORKER = """
import asyncio, sys
import httpx, httpx2

def leave_after_one_piece(library, url):
    with library.stream("POST", url) as answer:
        for piece in answer.iter_raw():
            return piece

async def leave_after_one_piece_async(library, url):
    async with library.AsyncClient() as client, client.stream("POST", url) as answer:
        async for piece in answer.aiter_raw():
            await answer.aclose()
            return piece

library = {"httpx": httpx, "httpx2": httpx2}[sys.argv[1].removesuffix("-async")]
if sys.argv[1].endswith("-async"):
    asyncio.run(leave_after_one_piece_async(library, sys.argv[2]))
else:
    leave_after_one_piece(library, sys.argv[2])
"""
CLIENTS = ["httpx", "httpx-async", "httpx2", "httpx2-async"]


@pytest.mark.parametrize("client", CLIENTS)
def test_the_only_event_of_a_stream_is_all_of_it(supervisor, service, client):
    supervisor.run(WORKER, client, f"{service.url}/event")
    assert supervisor.said() == ["sending POST /event", "returned POST /event"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_large_body_that_was_left_has_not_returned(supervisor, service, client):
    supervisor.run(WORKER, client, f"{service.url}/large")
    assert supervisor.said() == ["sending POST /large"]
