"""Nothing leaves the machine unseen, and nothing is written outside the cell unreported."""

import pytest

# 192.0.2.1 is an address for documentation that nobody has; no test gets as far as sending to it.
ATTEMPTS = {
    "connect": "socket.create_connection(('192.0.2.1', 443), 1)",
    "connect_ex": "socket.socket().connect_ex(('192.0.2.1', 443))",
    "sendto": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 443))",
    "IPv6": "socket.socket(socket.AF_INET6).connect(('2001:db8::1', 443))",
    "urllib": "urllib.request.urlopen('http://192.0.2.1:443')",
    "asyncio": "asyncio.run(asyncio.open_connection('192.0.2.1', 443))",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_connection_that_leaves_the_machine_is_refused_and_reported_once(supervisor, attempt):
    out = supervisor.run(
        f"""
        import asyncio, socket, urllib.request
        for _ in range(2):
            try:
                {ATTEMPTS[attempt]}
            except OSError as error:
                print(type(error).__name__, "ackgap" in str(error))
        """
    )
    assert set(out.splitlines()) <= {"ConnectionRefusedError True", "URLError True"}
    assert len(out.splitlines()) == 2
    (egress,) = supervisor.of_type("egress")
    assert egress["host"] in ("192.0.2.1", "2001:db8::1")
    assert (egress["port"], egress["allowed"]) == (443, False)


def test_a_name_that_is_not_allowed_is_not_even_looked_up(supervisor):
    out = supervisor.run(
        """
        import socket, urllib.request
        name = "api.example.com"
        for attempt in (lambda: socket.getaddrinfo(name, 443), lambda: socket.gethostbyname(name)):
            try:
                attempt()
            except socket.gaierror as error:
                print("gaierror", "ackgap" in str(error))
        try:
            urllib.request.urlopen("https://api.example.com/charge")
        except OSError as error:
            print(type(error).__name__)
        """
    )
    assert out == "gaierror True\ngaierror True\nURLError\n"
    assert [one["host"] for one in supervisor.of_type("egress")] == ["api.example.com"]


def test_a_host_that_a_target_stands_for_is_refused_at_another_port_with_that_port(supervisor):
    supervisor.config["targets"] = {"api.example.com:443": "tickets", "api.example.com:80": "tickets"}
    out = supervisor.run(
        """
        import socket
        for port in (8443, 443):
            try:
                socket.create_connection(("api.example.com", port))
            except socket.gaierror as error:
                print("api.example.com:8443: a target stands for that host at ports 443 and 80" in str(error))
        """
    )
    assert out == "True\nFalse\n"
    assert [one["port"] for one in supervisor.of_type("egress")] == [8443, 443]


def test_loopback_unix_sockets_and_the_own_name_are_free(supervisor, service):
    supervisor.run(
        """
        import socket, sys, urllib.request
        port = int(sys.argv[1].rpartition(":")[2])
        for host in ("127.0.0.1", "localhost", "127.0.0.2", "0.0.0.0", "::ffff:127.0.0.1"):
            try:
                socket.create_connection((host, port), 2).close()
            except ConnectionRefusedError as error:
                if "ackgap" in str(error): raise
        first, second = socket.socketpair()
        listener = socket.socket(socket.AF_UNIX); listener.bind("s"); listener.listen()
        socket.socket(socket.AF_UNIX).connect("s")
        socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))
        socket.getaddrinfo(socket.gethostname(), None) if len(sys.argv) > 2 else None
        urllib.request.urlopen(sys.argv[1].replace("127.0.0.1", "localhost")).read()
        """,
        service.url,
    )
    assert supervisor.of_type("egress") == []


ALLOWED = """
import socket, sys
real = socket.getaddrinfo
answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", 443))]

class Connected(Exception): pass

def audit(event, args):
    # Runs after the guard: what gets here would be sent, and must not be.
    if event == "socket.connect" and args[1][0].startswith("192.0.2."):
        raise Connected
    if event == "socket.getaddrinfo":
        raise Connected

sys.addaudithook(audit)

def attempt(host, port):
    try:
        socket.socket().connect((host, port))
    except Connected: return "passed"
    except ConnectionRefusedError: return "refused"

def look_up(host):
    try:
        socket.getaddrinfo(host, 443)
    except Connected: return "passed"
    except socket.gaierror: return "refused"
"""


def test_allowed_hosts_pass_and_are_reported(supervisor):
    supervisor.config["allow_hosts"] = ["192.0.2.5", "192.0.2.6:443", "api.example.com", "*.example.org"]
    out = supervisor.run(
        ALLOWED
        + """
print(attempt("192.0.2.5", 80), attempt("192.0.2.6", 443), attempt("192.0.2.6", 80), attempt("192.0.2.7", 443))
print(look_up("api.example.com"), look_up("API.example.com."), look_up("other.example.com"), look_up("a.example.org"))
"""
    )
    assert out == "passed passed refused refused\npassed passed refused passed\n"
    assert {(one["host"], one["allowed"]) for one in supervisor.of_type("egress")} == {
        ("192.0.2.5", True),
        ("192.0.2.6", True),
        ("192.0.2.6", False),
        ("192.0.2.7", False),
        ("api.example.com", True),
        ("other.example.com", False),
        ("a.example.org", True),
    }


def test_the_addresses_of_an_allowed_name_pass(supervisor, service):
    # The name of this machine's loopback, as a stand-in for one that resolves to an address elsewhere.
    supervisor.config["allow_hosts"] = ["localhost"]
    out = supervisor.run(
        """
        import socket, sys
        socket.getaddrinfo("localhost", 80)
        from _ackgap_worker import guard
        guard._guards[0].resolved("localhost", ["192.0.2.9"])

        class Connected(Exception): pass

        def audit(event, args):
            if event == "socket.connect": raise Connected

        sys.addaudithook(audit)
        try:
            socket.socket().connect(("192.0.2.9", 443))
        except Connected:
            print("passed", guard._guards[0]._names["127.0.0.1"])
        """
    )
    assert out == "passed localhost\n"
    assert [(one["host"], one["allowed"]) for one in supervisor.of_type("egress")] == [("localhost", True)]


def test_without_the_guard_hosts_are_reported_and_pass(supervisor):
    supervisor.config["guard_egress"] = False
    out = supervisor.run(ALLOWED + "print(attempt('192.0.2.7', 443))")
    assert out == "passed\n"
    assert [(one["host"], one["allowed"]) for one in supervisor.of_type("egress")] == [("192.0.2.7", True)]


def test_writes_outside_the_cell_are_reported_once_each(supervisor, tmp_path):
    supervisor.run(
        """
        import os, sqlite3, sys
        from pathlib import Path
        outside = Path(sys.argv[1])
        for _ in range(2):
            (outside / "written").write_text("x")
            with open(outside / "appended", "ab") as file: file.write(b"x")
        os.close(os.open(outside / "low level", os.O_RDWR | os.O_CREAT))
        os.makedirs(outside / "directory", exist_ok=True)
        os.makedirs(outside / "directory", exist_ok=True)
        open("inside", "w").close()
        os.rename("inside", outside / "moved")
        os.remove(outside / "moved")
        sqlite3.connect(outside / "agent.db").close()
        sqlite3.connect(f"file:{outside}/other.db?mode=memory", uri=True).close()
        """,
        str(tmp_path),
    )
    paths = [one["path"] for one in supervisor.of_type("outside")]
    names = ["written", "appended", "low level", "directory", "moved", "agent.db"]
    assert paths == [str(tmp_path / name) for name in names]


def test_writes_inside_the_cell_and_reads_anywhere_are_not_reported(supervisor, tmp_path):
    (tmp_path / "settings.toml").write_text("x")
    supervisor.config["allow_write"] = [f"{tmp_path}/cache/*"]
    supervisor.run(
        """
        import os, sqlite3, sys, tempfile
        from pathlib import Path
        outside = Path(sys.argv[1])
        (outside / "settings.toml").read_text()
        (outside / "__pycache__").mkdir()
        (outside / "__pycache__" / "x.pyc").write_bytes(b"x")
        (outside / "cache" / "a").mkdir(parents=True) if False else None
        os.makedirs("sub/directory"); Path("sub/directory/file").write_text("x")
        with tempfile.NamedTemporaryFile() as file: file.write(b"x")
        open(os.devnull, "w").close()
        sqlite3.connect("agent.db").close(); sqlite3.connect(":memory:").close()
        os.mkdir("/proc") if not os.path.isdir("/proc") else None
        try:
            os.remove(outside / "nothing there")
        except FileNotFoundError:
            pass
        try:
            open(outside / "cache" / "x", "w")
        except FileNotFoundError:
            pass
        """,
        str(tmp_path),
    )
    assert supervisor.of_type("outside") == []


def test_hosts_that_belong_to_the_cell_are_free_by_name_and_by_address(supervisor):
    supervisor.config["own_hosts"] = ["192.0.2.7", "journal"]
    out = supervisor.run(
        """
        import socket
        def attempt(function, *arguments):
            try:
                function(*arguments)
            except OSError as error:
                print("ackgap" in str(error))
        attempt(socket.getaddrinfo, "journal", 80)
        attempt(socket.create_connection, ("192.0.2.7", 80), 0.01)
        attempt(socket.create_connection, ("192.0.2.8", 80), 0.01)
        """
    )
    assert out.splitlines() == ["False", "False", "True"]
    assert [one["host"] for one in supervisor.of_type("egress")] == ["192.0.2.8"]


def test_what_is_written_where_a_folder_of_the_cell_is_mounted_lies_inside(supervisor, tmp_path):
    mounted, outside = tmp_path / "data", tmp_path / "other"
    mounted.mkdir()
    outside.mkdir()
    supervisor.config["mounts"] = [str(mounted)]
    supervisor.run(
        f"""
        for folder in ({str(mounted)!r}, {str(outside)!r}):
            with open(folder + "/state.json", "w") as file:
                file.write("x")
        """
    )
    assert [one["path"] for one in supervisor.of_type("outside")] == [str(outside / "state.json")]
    assert [one["name"] for one in supervisor.of_type("reach") if one["phase"] == "committing"] == [
        "file.state.json.write"
    ]
