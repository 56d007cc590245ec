"""Calls are announced in their phases, whatever client makes them, and `returned` never before the last byte."""

import json
import signal
import textwrap
import time

import pytest

SYNC = """
import http.client, io, json, sys, urllib.request
import httpcore, httpx, httpx2, requests, urllib3

def buffered(url):
    return io.BufferedReader(urllib.request.urlopen(url)).read()

def pieces(method):
    def read(url):
        with urllib.request.urlopen(url) as answer:
            return b"".join(iter(lambda: getattr(answer, method)(100), b""))
    return read

def into(url):
    answer, body, buffer = urllib.request.urlopen(url), b"", bytearray(100)
    while count := answer.readinto(buffer):
        body += buffer[:count]
    return body

def streamed(library):
    def read(url):
        with library.stream("GET", url) as answer:
            return b"".join(answer.iter_bytes())
    return read

def session(url):
    with requests.Session() as session:
        return session.get(url).content

def httpcore_stream(url):
    with httpcore.ConnectionPool() as pool, pool.stream("GET", url) as answer:
        return b"".join(answer.iter_stream())

CLIENTS = {
    "urllib": lambda url: urllib.request.urlopen(url).read(),
    "urllib-lines": lambda url: b"".join(urllib.request.urlopen(url)),
    "urllib-pieces": pieces("read"),
    "urllib-read1": pieces("read1"),
    "urllib-into": into,
    "urllib-buffered": buffered,
    "requests": lambda url: requests.get(url).content,
    "requests-session": session,
    "requests-pieces": lambda url: b"".join(requests.get(url, stream=True).iter_content(100)),
    "requests-raw": lambda url: requests.get(url, stream=True).raw.read(),
    "urllib3": lambda url: urllib3.request("GET", url).data,
    "httpx": lambda url: httpx.get(url).content,
    "httpx-stream": streamed(httpx),
    "httpx2": lambda url: httpx2.get(url).content,
    "httpx2-stream": streamed(httpx2),
    "httpcore": lambda url: httpcore.request("GET", url).content,
    "httpcore-stream": httpcore_stream,
}
for name in json.loads(sys.argv[2]):
    for path in json.loads(sys.argv[3]):
        print(name, path, len(CLIENTS[name](f"{sys.argv[1]}{path}?{name}")), flush=True)
"""

ASYNC = """
import asyncio, json, sys
import aiohttp, httpcore, httpx, httpx2

def got(library):
    async def read(url):
        async with library.AsyncClient() as client:
            return (await client.get(url)).content
    return read

def streamed(library):
    async def read(url):
        async with library.AsyncClient() as client, client.stream("GET", url) as answer:
            return b"".join([piece async for piece in answer.aiter_bytes()])
    return read

def with_aiohttp(take):
    async def read(url):
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return await take(answer)
    return read

def joined(pieces):
    async def take(answer):
        return b"".join([piece async for piece in pieces(answer.content)])
    return take

async def chunks(content):
    async for piece, _ in content.iter_chunks():
        yield piece

async def exactly(answer):
    body = b""
    while not answer.content.at_eof():
        body += await answer.content.readany()
    return body

CLIENTS = {
    "httpx": got(httpx),
    "httpx-stream": streamed(httpx),
    "httpx2": got(httpx2),
    "httpx2-stream": streamed(httpx2),
    "aiohttp": with_aiohttp(lambda answer: answer.read()),
    "aiohttp-lines": with_aiohttp(joined(lambda content: content.iter_chunked(1 << 20))),
    "aiohttp-pieces": with_aiohttp(joined(lambda content: content.iter_chunked(100))),
    "aiohttp-any": with_aiohttp(joined(lambda content: content.iter_any())),
    "aiohttp-chunks": with_aiohttp(joined(chunks)),
    "aiohttp-readany": with_aiohttp(exactly),
}

async def main():
    for name in json.loads(sys.argv[2]):
        for path in json.loads(sys.argv[3]):
            print(name, path, len(await CLIENTS[name](f"{sys.argv[1]}{path}?{name}")), flush=True)

asyncio.run(main())
"""

URLLIB = "import sys, urllib.request\nurllib.request.urlopen(sys.argv[1] + '/json').read()"
LENGTHS = {"/json": 14, "/none": 0, "/empty": 0, "/large": 300_000, "/chunked": 13}


def names_in(code):
    table = code[code.index("CLIENTS = {") : code.index("\n}\n")]
    return [line.split('"')[1] for line in table.splitlines() if line.startswith('    "')]


KINDS = {"threads": SYNC, "coroutines": ASYNC}


@pytest.fixture(params=KINDS)
def clients(request):
    """Code that makes the same request with client after client, and the names of these."""
    for library in ("requests", "httpx", "httpx2", "aiohttp"):
        pytest.importorskip(library)
    return KINDS[request.param], names_in(KINDS[request.param])


def phases(request):
    return [f"{phase} {request}" for phase in ("sending", "returned")]


def run_async(body, imports):
    lines = textwrap.indent(body, "    ")
    return f"import asyncio, sys\n{imports}\nurl = sys.argv[1]\nasync def main():\n{lines}\nasyncio.run(main())\n"


@pytest.mark.slow
def test_every_client_announces_its_calls_in_their_phases(supervisor, service, clients):
    code, names = clients
    paths = ["/json", "/none", "/empty", "/large"]
    out = supervisor.run(code, service.url, json.dumps(names), json.dumps(paths))
    assert out.splitlines() == [f"{name} {path} {LENGTHS[path]}" for name in names for path in paths]
    for name in names:
        said = [line for line in supervisor.said() if line.endswith(f"?{name}")]
        assert said == [line for path in paths for line in phases(f"GET {path}?{name}")], name
    assert {one["host"] for one in supervisor.reached} == {f"127.0.0.1:{service.port}"}
    assert len({one["call"] for one in supervisor.reached}) == len(names) * len(paths)


@pytest.mark.slow
def test_returned_waits_for_the_last_byte_of_the_body(supervisor, service, clients):
    code, names = clients
    supervisor.hold(lambda one: one["phase"] == "sending")
    worker = supervisor.start(code, service.url, json.dumps(names), json.dumps(["/chunked"]))
    for name in names:
        path = f"/chunked?{name}"
        supervisor.wait_for_call("sending", path)
        service.may_complete.clear()
        service.has_begun.clear()
        supervisor.let_go_once()
        assert service.has_begun.wait(20)
        time.sleep(0.05)  # for the client to read it
        assert f"returned GET {path}" not in supervisor.said(), name
        service.may_complete.set()
        supervisor.wait_for_call("returned", path)
    assert supervisor.finish(worker).count(" 13\n") == len(names)
    assert supervisor.said() == [line for name in names for line in phases(f"GET /chunked?{name}")]


@pytest.mark.slow
def test_nothing_has_been_sent_at_sending(supervisor, service, clients):
    code, names = clients
    supervisor.hold(lambda one: one["phase"] == "sending")
    worker = supervisor.start(code, service.url, json.dumps(names), json.dumps(["/json"]))
    for name in names:
        supervisor.wait_for_call("sending", f"/json?{name}")
        assert f"GET /json?{name}" not in service.requests
        supervisor.let_go_once()
    supervisor.finish(worker)
    assert service.requests == [f"GET /json?{name}" for name in names]


def test_head_has_no_body(supervisor, service):
    code = "import requests, httpx, sys\nrequests.head(sys.argv[1] + '/json'); httpx.head(sys.argv[1] + '/json')"
    supervisor.run(code, service.url)
    assert supervisor.said() == ["sending HEAD /json", "returned HEAD /json"] * 2


def test_each_exchange_on_a_kept_connection_is_a_call_of_its_own_with_its_port(supervisor, service):
    supervisor.run(
        """
        import requests, sys
        with requests.Session() as session:
            for number in range(3):
                session.post(sys.argv[1] + f"/json?n={number}", json={})
        """,
        service.url,
    )
    assert supervisor.said() == [line for n in range(3) for line in phases(f"POST /json?n={n}")]
    calls = [one["call"] for one in supervisor.reached if one["phase"] == "sending"]
    assert len(set(calls)) == 3
    ports = {one["local_port"] for one in supervisor.reached if one["phase"] == "returned"}
    assert len(ports) == 1
    assert ports.pop() > 0


def test_the_port_is_known_before_the_request_leaves(supervisor, service, clients):
    code, names = clients
    names = [name for name in names if name in ("httpx", "httpx2", "aiohttp")]
    supervisor.run(code, service.url, json.dumps(names), json.dumps(["/json"]))
    for call in {one["call"] for one in supervisor.reached}:
        (port,) = {one["local_port"] for one in supervisor.reached if one["call"] == call}
        assert port > 0


def test_a_body_that_breaks_off_has_not_returned(supervisor, service):
    supervisor.run(
        """
        import asyncio, sys, http.client, urllib.request, requests, httpx, aiohttp
        url = sys.argv[1] + "/broken"
        for attempt in (lambda: urllib.request.urlopen(url).read(), lambda: requests.get(url), lambda: httpx.get(url)):
            try:
                attempt()
            except (http.client.IncompleteRead, requests.RequestException, httpx.HTTPError):
                continue
            raise SystemExit("was not broken")
        answer = urllib.request.urlopen(url)
        while answer.read(50):
            pass

        async def main():
            async with aiohttp.ClientSession() as session:
                try:
                    async with session.get(url) as answer:
                        await answer.read()
                except aiohttp.ClientPayloadError:
                    return
            raise SystemExit("was not broken")

        asyncio.run(main())
        """,
        service.url,
    )
    assert {one["phase"] for one in supervisor.reached} == {"sending"}
    assert len(supervisor.reached) == 5


def test_a_body_that_nobody_reads_has_not_returned(supervisor, service):
    supervisor.run(
        "import sys, urllib.request\nwith urllib.request.urlopen(sys.argv[1] + '/json') as answer: pass", service.url
    )
    assert supervisor.said() == ["sending GET /json"]


def test_only_targets_are_announced(supervisor, service):
    supervisor.targets.clear()
    supervisor.run(URLLIB, service.url)
    assert supervisor.reached == []
    assert service.requests == ["GET /json"]


def test_a_call_through_a_proxy_is_a_call_to_the_target(supervisor, service):
    # The service answers absolute request targets as it does others.
    code = """
        import sys, urllib.request
        handler = urllib.request.ProxyHandler({"http": sys.argv[1]})
        opener = urllib.request.build_opener(handler)
        print(opener.open(sys.argv[2] + "/x").read())
    """
    supervisor.targets["127.0.0.2:9"] = "tickets"
    supervisor.run(code, service.url, "http://127.0.0.2:9")
    assert supervisor.said() == phases("GET /x")
    assert supervisor.reached[0]["host"] == "127.0.0.2:9"


@pytest.mark.slow
def test_the_openai_client_is_announced_streaming_or_not(supervisor, service):
    pytest.importorskip("openai")
    out = supervisor.run(
        """
        import asyncio, openai, sys

        options = {"base_url": sys.argv[1] + "/v1", "api_key": "x"}
        ask = {"model": "m", "messages": []}
        stream = {"extra_headers": {"X-Answer": "stream"}, "stream": True}

        with openai.OpenAI(**options) as client:
            print(client.chat.completions.create(**ask).choices[0].message.content)
            print("".join(part.choices[0].delta.content for part in client.chat.completions.create(**ask, **stream)))

        async def main():
            async with openai.AsyncOpenAI(**options) as client:
                print((await client.chat.completions.create(**ask)).choices[0].message.content)
                parts = await client.chat.completions.create(**ask, **stream)
                print("".join([part.choices[0].delta.content async for part in parts]))

        asyncio.run(main())
        """,
        service.url,
    )
    assert out == "forty-two\nforty\n" * 2
    assert supervisor.said() == phases("POST /v1/chat/completions") * 4


def test_a_parked_coroutine_lets_its_siblings_run(supervisor, service):
    supervisor.hold(lambda one: one["path"] == "/held" and one["phase"] == "sending")
    worker = supervisor.start(
        """
        import asyncio, sys, httpx, aiohttp
        url = sys.argv[1]

        async def main():
            async with httpx.AsyncClient() as client, aiohttp.ClientSession() as session:
                parked = [asyncio.create_task(client.get(url + "/held"), name="the first")]
                async with session.get(url + "/sibling") as answer:
                    await answer.read()
                answer = await client.get(url + "/another")
                parked.append(asyncio.create_task(session.get(url + "/held")))
                print("siblings ran", flush=True)
                first, second = await asyncio.gather(*parked)
                await second.read()
                print(first.status_code, second.status)

        asyncio.run(main())
        """,
        service.url,
    )
    supervisor.wait_for_call("returned", "/another")
    held = supervisor.wait_for_call("sending", "/held")
    assert (held["thread"], held["blocks_loop"]) == ("the first", False)
    assert "GET /held" not in service.requests
    supervisor.let_go()
    assert supervisor.finish(worker) == "siblings ran\n200 200\n"


def test_a_parked_thread_lets_its_siblings_run(supervisor, service):
    supervisor.hold(lambda one: one["path"] == "/held" and one["phase"] == "sending")
    worker = supervisor.start(
        """
        import sys, threading, httpx, requests
        url = sys.argv[1]
        thread = threading.Thread(target=requests.get, args=(url + "/held",), name="the first")
        thread.start()
        print(httpx.get(url + "/sibling").status_code, flush=True)
        thread.join()
        """,
        service.url,
    )
    supervisor.wait_for_call("returned", "/sibling")
    held = supervisor.wait_for_call("sending", "/held")
    assert (held["thread"], held["blocks_loop"]) == ("the first", False)
    supervisor.let_go()
    assert supervisor.finish(worker) == "200\n"


def test_a_synchronous_call_in_a_coroutine_says_that_it_blocks_the_loop(supervisor, service):
    supervisor.run(run_async("requests.get(url + '/json')", "import requests"), service.url)
    assert all(one["blocks_loop"] for one in supervisor.reached)


def test_a_coroutine_that_is_cancelled_while_it_is_parked_ends_there(supervisor, service):
    supervisor.hold(lambda message: message.get("path") == "/held")
    worker = supervisor.start(
        run_async(
            "async with httpx.AsyncClient() as client:\n"
            "    try: await asyncio.wait_for(client.get(url + '/held'), 0.3)\n"
            "    except asyncio.TimeoutError: print('gave up')\n"
            "    print((await client.get(url + '/next')).status_code)",
            "import httpx",
        ),
        service.url,
    )
    assert supervisor.finish(worker) == "gave up\n200\n"
    assert service.requests == ["GET /next"]


def test_a_parked_main_thread_still_handles_signals(supervisor, service):
    supervisor.hold(lambda one: one["path"] == "/held" and one["phase"] == "sending")
    worker = supervisor.start(
        """
        import signal, sys, urllib.request

        def stop(*args):
            raise SystemExit(7)

        signal.signal(signal.SIGTERM, stop)
        urllib.request.urlopen(sys.argv[1] + "/held")
        """,
        service.url,
    )
    supervisor.wait_for_call("sending", "/held")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(20) == 7
    assert service.requests == []


def test_many_threads_announce_whole_messages_each_with_its_own_number(supervisor, service):
    supervisor.run(
        """
        import sys, urllib.request
        from concurrent.futures import ThreadPoolExecutor

        def get(number):
            return urllib.request.urlopen(f"{sys.argv[1]}/json?{number}").read()

        with ThreadPoolExecutor(8) as pool:
            assert len(list(pool.map(get, range(60)))) == 60
        """,
        service.url,
    )
    assert len(supervisor.reached) == 120
    numbers = [one["id"] for one in supervisor.reached]
    assert numbers == sorted(numbers)
    assert len({one["call"] for one in supervisor.reached}) == 60
