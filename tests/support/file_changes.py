"""A worker that changes files in every way that an injector should see, and looks closely at what comes of it.

It is run by a test with the path of a directory. What it prints is what an injector has to have seen, in order.
"""

# ruff: noqa: PT017, PTH102, PTH104, PTH106, PTH108, PTH123 - it makes the very calls that are to be seen

from __future__ import annotations

import ctypes
import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(sys.argv[1])
os.chdir(HERE)
seen: list[str] = []


def fails(code: int, function, *arguments) -> None:
    try:
        function(*arguments)
    except OSError as error:
        assert error.errno == code, (error, code)
        return
    raise AssertionError(f"{function} did not fail")


def content(name: str) -> bytes:
    with open(name, "rb", buffering=0) as file:
        return file.read()


def writes() -> None:
    descriptor = os.open("plain", os.O_RDWR | os.O_CREAT)
    assert os.write(descriptor, b"0123456789") == 10
    assert os.writev(descriptor, [b"ab", b"", b"cd"]) == 4
    assert os.lseek(descriptor, 0, os.SEEK_CUR) == 14
    assert os.pwrite(descriptor, b"X", 2) == 1
    assert os.pwritev(descriptor, [b"Y", b"Z"], 3) == 2
    assert os.lseek(descriptor, 0, os.SEEK_CUR) == 14
    os.ftruncate(descriptor, 14)  # it is as long as that
    assert content("plain") == b"01XYZ56789abcd"
    os.ftruncate(descriptor, 4)
    os.close(descriptor)
    seen.extend(["file.plain.write"] * 4 + ["file.plain.truncate"])
    appending = os.open("plain", os.O_WRONLY | os.O_APPEND)
    assert os.write(appending, b"end") == 3
    os.close(appending)
    seen.append("file.plain.write")
    assert content("plain") == b"01XYend"
    reading = os.open("plain", os.O_RDONLY)
    other = os.open("copied", os.O_WRONLY | os.O_CREAT)
    assert os.sendfile(other, reading, 2, 3) == 3
    assert os.copy_file_range(reading, other, 2) == 2
    os.close(other)
    os.close(reading)
    seen.extend(["file.copied.write"] * 2)
    assert content("copied") == b"XYe01"


def names() -> None:
    os.rename("copied", "moved")
    os.link("moved", "linked")
    os.unlink("moved")
    os.truncate("linked", 2)
    os.close(os.open("linked", os.O_WRONLY | os.O_TRUNC))
    os.close(os.open("linked", os.O_WRONLY | os.O_TRUNC))  # it is empty already
    os.close(os.open("new", os.O_WRONLY | os.O_TRUNC | os.O_CREAT))  # it has never been anything else
    seen.extend(
        f"file.{what}"
        for what in ("moved.replace", "linked.link", "moved.remove", "linked.truncate", "linked.truncate")
    )
    folder = os.open(".", os.O_RDONLY)
    os.rename("new", "newer", src_dir_fd=folder, dst_dir_fd=folder)
    os.unlink("newer", dir_fd=folder)
    os.close(folder)
    seen.extend(["file.newer.replace", "file.newer.remove"])
    os.mkdir("folder")
    os.rmdir("folder")


def what_is_nothing() -> None:
    fails(errno.ENOENT, os.rename, "nobody", "somebody")
    fails(errno.ENOENT, os.unlink, "nobody")
    fails(errno.EBADF, os.write, 999, b"x")
    reading = os.open("plain", os.O_RDONLY)
    os.close(reading)
    Path("some.log").write_text("a log is no state")
    read_end, write_end = os.pipe()
    assert os.write(write_end, b"x") == 1
    assert os.read(read_end, 1) == b"x"


def what_fails() -> None:
    """A change that fails is announced, and fails as it would have."""
    reading = os.open("plain", os.O_RDONLY)
    fails(errno.EBADF, os.write, reading, b"x")
    os.close(reading)
    seen.append("file.plain.write")


def streams() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    library.fopen.restype = ctypes.c_void_p
    for name in ("fputs", "fclose", "fflush", "fileno", "fseek", "fgets"):
        getattr(library, name)
    library.fputs.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    library.fgets.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
    library.fseek.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]
    for one in (library.fclose, library.fflush, library.fileno):
        one.argtypes = [ctypes.c_void_p]
    stream = library.fopen(b"stream", b"w+")
    assert stream
    assert library.fputs(b"first line\n", stream) >= 0
    assert library.fputs(b"second line\n", stream) >= 0
    assert content("stream") == b""
    assert library.fflush(stream) == 0
    assert os.fstat(library.fileno(stream)).st_size == 23
    assert library.fseek(stream, 6, os.SEEK_SET) == 0
    line = ctypes.create_string_buffer(80)
    assert library.fgets(line, 80, stream)
    assert line.value == b"line\n"
    assert library.fclose(stream) == 0
    assert not library.fopen(b"no/such/folder", b"w")
    assert ctypes.get_errno() == errno.ENOENT
    seen.append("file.stream.write")


def others() -> None:
    child = os.fork()
    if child == 0:
        descriptor = os.open("by-a-child", os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, b"x")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    subprocess.run(["sh", "-c", "echo x > by-a-shell; exec cat by-a-shell > by-a-program"], check=True)
    seen.extend(["file.by-a-child.write", "file.by-a-shell.write", "file.by-a-program.write"])

    def write(number: int) -> None:
        descriptor = os.open(f"by-thread-{number}", os.O_WRONLY | os.O_CREAT)
        for _ in range(20):
            assert os.write(descriptor, b"x" * 1000) == 1000
        os.close(descriptor)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen.extend(f"file.by-thread-{number}.write" for number in range(4) for _ in range(20))
    os.closerange(3, 4096)  # as a daemon does
    descriptor = os.open("by-a-daemon", os.O_WRONLY | os.O_CREAT)
    assert os.write(descriptor, b"x") == 1
    seen.append("file.by-a-daemon.write")


for part in (writes, names, what_is_nothing, what_fails, streams, others):
    part()
print(json.dumps(seen))
