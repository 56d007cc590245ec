"""Whatever a user does to keep state in a plain file is a durable write, once, and what is no state is none."""

import pytest


def written(*names):
    return [f"{phase} file.{name}" for name in names for phase in ("committing", "committed")]


IDIOMS = {
    "with open": "with open('state.json', 'w') as file: file.write('new')",
    "json.dump into a file that is left to close itself": "import json; json.dump('new', open('state.json', 'w'))",
    "bytes": "with open('state.json', 'wb') as file: file.write(b'new')",
    "no buffer": "with open('state.json', 'wb', 0) as file: file.write(b'new')",
    "lines": "with open('state.json', 'w', 1) as file: file.write('new\\n')",
    "write_text": "from pathlib import Path; Path('state.json').write_text('new')",
    "write_bytes": "from pathlib import Path; Path('state.json').write_bytes(b'new')",
    "Path.open": "from pathlib import Path\nwith Path('state.json').open('w') as file: file.write('new')",
    "io.open": "import io\nwith io.open('state.json', 'w') as file: file.write('new')",
    "codecs.open": "import codecs\nwith codecs.open('state.json', 'w', 'utf-8') as file: file.write('new')",
    "os.fdopen": "import os\n"
    "with os.fdopen(os.open('state.json', os.O_WRONLY | os.O_CREAT), 'w') as file: file.write('new')",
    "pickle": "import pickle\nwith open('state.json', 'wb') as file: pickle.dump('new', file)",
    "print": "with open('state.json', 'w') as file: print('new', file=file)",
    "exclusive": "with open('state.json', 'x') as file: file.write('new')",
    "update in place": "open('state.json', 'x').close()\n"
    "with open('state.json', 'r+') as file: file.read(); file.seek(0); file.write('new'); file.truncate()",
    "append, flush, sync": "import os\n"
    "with open('state.json', 'a') as file: file.write('new'); file.flush(); os.fsync(file.fileno())",
    "left open at the end of the process": "file = open('state.json', 'w'); file.write('new')",
    "a thread": "import threading\n"
    "def write():\n    with open('state.json', 'w') as file: file.write('new')\n"
    "thread = threading.Thread(target=write); thread.start(); thread.join()",
    "shutil.copy": "import os, shutil, tempfile\n"
    "with tempfile.NamedTemporaryFile('w') as file:\n"
    "    file.write('new'); file.flush(); shutil.copy(file.name, 'state.json')",
}


@pytest.mark.parametrize("idiom", IDIOMS)
def test_every_idiom_of_writing_a_file_is_one_durable_write(supervisor, idiom):
    supervisor.hold(lambda one: one["phase"] == "committing")
    worker = supervisor.start(IDIOMS[idiom])
    supervisor.wait_for_write("committing", "file.state.json.write")
    state = supervisor.workspace / "state.json"
    assert not state.exists() or state.read_bytes() == b""
    supervisor.let_go()
    supervisor.finish(worker)
    assert supervisor.said() == written("state.json.write")
    assert b"new" in state.read_bytes()


def test_what_is_written_is_there_at_committed(supervisor):
    supervisor.hold(lambda one: one["phase"] == "committed")
    worker = supervisor.start("file = open('state.json', 'w'); file.write('new'); file.flush(); file.write('er')")
    supervisor.wait_for_write("committed", "file.state.json.write")
    assert (supervisor.workspace / "state.json").read_text() == "new"
    supervisor.let_go()
    supervisor.finish(worker)
    assert (supervisor.workspace / "state.json").read_text() == "newer"
    assert supervisor.said() == written("state.json.write", "state.json.write")


def test_renames_onto_a_file_of_the_workspace_are_durable_writes(supervisor):
    supervisor.run(
        """
        import os, shutil
        from pathlib import Path
        for number, move in enumerate([os.replace, os.rename, shutil.move, Path.replace, Path.rename]):
            Path(f"new{number}").touch()
            move(Path(f"new{number}"), Path("state.json"))
        """
    )
    assert supervisor.said() == written(*["state.json.replace"] * 5)


def test_a_rename_has_not_happened_at_committing(supervisor):
    supervisor.hold(lambda one: one["name"].endswith(".replace"))
    worker = supervisor.start("import os\nopen('state.tmp', 'w').close()\nos.replace('state.tmp', 'state.json')")
    supervisor.wait_for_write("committing", "file.state.json.replace")
    assert not (supervisor.workspace / "state.json").exists()
    supervisor.let_go_once()
    supervisor.wait_for_write("committed", "file.state.json.replace")
    assert (supervisor.workspace / "state.json").exists()
    supervisor.let_go()
    supervisor.finish(worker)


def test_removals_of_files_of_the_workspace_are_durable_writes(supervisor):
    supervisor.run(
        """
        import os
        from pathlib import Path
        for number, remove in enumerate([os.remove, os.unlink, Path.unlink, lambda file: os.remove(path=file)]):
            Path("key").touch()
            remove(Path("key"))
        Path("key").unlink(missing_ok=True)
        """
    )
    assert supervisor.said() == written(*["key.remove"] * 4)


def test_a_file_is_still_there_at_committing_of_its_removal(supervisor):
    supervisor.hold(lambda one: one["name"].endswith(".remove"))
    worker = supervisor.start("import os\nopen('key', 'w').close()\nos.remove('key')")
    supervisor.wait_for_write("committing", "file.key.remove")
    assert (supervisor.workspace / "key").exists()
    supervisor.let_go_once()
    supervisor.wait_for_write("committed", "file.key.remove")
    assert not (supervisor.workspace / "key").exists()
    supervisor.let_go()
    supervisor.finish(worker)


def test_removals_that_change_no_state_are_none(supervisor, tmp_path):
    supervisor.run(
        f"""
        import os, tempfile
        from pathlib import Path
        for name in ("agent.log", {str(tmp_path / "elsewhere")!r}):
            Path(name).touch()
            os.remove(name)
        with tempfile.NamedTemporaryFile(dir=".", delete=False) as file:
            pass
        os.remove(file.name)
        os.symlink("nowhere", "link")
        os.remove("link")
        for attempt in (lambda: os.remove("missing"), lambda: os.remove("."), lambda: os.remove()):
            try:
                attempt()
            except (OSError, TypeError) as error:
                print(type(error).__name__)
        """
    )
    assert supervisor.said() == []


def test_temporary_names_read_the_same_in_every_run(supervisor):
    supervisor.run(
        """
        import os, tempfile, uuid
        with tempfile.NamedTemporaryFile("w", dir=".", delete=False) as file:
            file.write("x")
        os.replace(file.name, "state.json")
        with tempfile.TemporaryFile("w", dir=".") as file:
            file.write("gone when it is closed")
        descriptor, name = tempfile.mkstemp(prefix="state-", suffix=".json", dir=".")
        with os.fdopen(descriptor, "w") as file:
            file.write("x")
        with open(f"state.{os.getpid()}.json", "w") as file:
            file.write("x")
        with open(f"run-{uuid.uuid4()}.json", "w") as file:
            file.write("x")
        with open("a name; with #signs,.json", "w") as file:
            file.write("x")
        """
    )
    assert supervisor.said() == written(
        "tmp.write",
        "state.json.replace",
        "tmp.write",
        "tmp.write",
        "run-uuid.json.write",
        "a_name_with_signs_.json.write",
    )


def test_a_file_larger_than_its_buffer_is_torn_once_and_completed_once(supervisor):
    supervisor.hold(lambda one: one["phase"] == "committed")
    worker = supervisor.start(
        """
        import json
        with open("state.json", "w") as file:
            json.dump(list(range(200_000)), file)
        """
    )
    state = supervisor.workspace / "state.json"
    supervisor.wait_for_write("committed", "file.state.json.write")
    torn = state.read_text()
    assert 0 < len(torn) < 100_000
    supervisor.let_go()
    supervisor.finish(worker)
    assert supervisor.said() == written("state.json.write", "state.json.write")
    assert state.read_text() == str(list(range(200_000)))


def test_a_large_text_written_at_once_is_one_durable_write(supervisor):
    supervisor.run("from pathlib import Path\nPath('state.json').write_text('x' * 1_000_000)")
    assert supervisor.said() == written("state.json.write")
    assert (supervisor.workspace / "state.json").stat().st_size == 1_000_000


def test_a_file_to_which_nothing_is_written_is_no_durable_write(supervisor):
    supervisor.run("open('empty', 'w').close(); open('empty', 'a').close(); print(open('empty').read())")
    assert supervisor.said() == []


def test_what_holds_no_state_is_not_announced(supervisor):
    supervisor.run(
        """
        import logging, os, sys, tempfile
        for name in ("agent.log", "agent.log.1", "x.pyc"):
            with open(name, "w") as file:
                file.write("x")
        logging.basicConfig(filename="journal.txt", level=logging.INFO)
        logging.info("to a file that is a log whatever its name")
        with open(os.devnull, "w") as file:
            file.write("x")
        with tempfile.TemporaryFile("w") as file:
            file.write("x")
        print("to the output"); print("flushed", flush=True)
        with open(1, "w", closefd=False) as file:
            file.write("once more\\n")
        """
    )
    assert supervisor.said() == []


def test_files_behave_as_they_do_without_us(supervisor):
    code = """
        import io, os, pickle, sys, time
        with open("a.txt", "w", encoding="latin-1", newline="\\r\\n") as file:
            print(type(file), type(file.buffer.raw), file.mode, file.name, file.encoding, file.newlines)
            print(isinstance(file.buffer, io.BufferedWriter), file.line_buffering, file.tell(), file.buffer.mode)
            print(file.write("\\xe4\\n"), file.tell(), file.seekable(), file.readable(), file.writable())
        print(open("a.txt", "rb").read(), file.closed)
        with open("a.txt", "r+b") as file:
            print(type(file.raw), isinstance(file, io.BufferedRandom), file.read(1), file.seek(1), file.write(b"zz"))
            print(file.peek(1), file.readline(), file.tell(), file.truncate(2), file.seek(0), file.read())
            target = bytearray(4)
            file.seek(0); file.write(b"y"); file.seek(0)
            print(file.readinto(target), target, file.seek(0), file.read1(1))
        with open("a.txt", "w+") as file:
            file.write("one\\ntwo\\n"); file.seek(0)
            print(file.readlines(), file.read())
        with open("a.txt", "ab") as file:
            print(file.write(memoryview(b"12")), file.write(bytearray(b"34")), file.tell())
        with open("a.txt", "wb", buffering=4) as file:
            for piece in (b"ab", b"cdefgh", b"i", b"jklmnop", b"qrstuvwxyz", b"!", b""):
                print(file.write(piece))
        print(open("a.txt", "rb").read())
        with open("a.txt", "wb", buffering=0) as file:
            print(isinstance(file, io.FileIO), file.write(b"x"), file.mode)
        for arguments in (("a.txt", "w", 0), ("a.txt", "wb", -1, "utf-8"), ("a.txt", "wq"), ("a.txt", "wr"),
                          ("no/a", "w"), ("a.txt", "x"), (None, "w"), ("a.txt", "wbt"), ("a.txt", "w", -1, "nonsense")):
            try:
                open(*arguments)
            except Exception as error:
                print(type(error).__name__, error)
        class Class:
            opener, clock = open, time.time
            replace = os.replace
        print(Class().opener("a.txt").read(), open is io.open, pickle.loads(pickle.dumps(open)) is open)
        print(pickle.loads(pickle.dumps((os.replace, time.time))) == (os.replace, time.time))
        Class().replace("a.txt", "b.txt")
        print(sorted(os.listdir(".")), callable(open), open.__name__)
        try:
            with open("b.txt", "w") as file:
                file.write(b"wrong")
        except TypeError as error:
            print(error)
        file = open("b.txt", "w"); file.write("x"); raw = file.detach(); raw.write(b"y"); raw.close()
        print(open("b.txt").read())
    """
    with_us = supervisor.run(code)
    for left in supervisor.workspace.iterdir():
        left.unlink()
    without = supervisor.run(code, ACKGAP_CHANNEL="")
    assert with_us == without


def test_a_write_that_fails_is_reported_as_failed_and_not_as_committed(supervisor):
    worker = supervisor.start(
        """
        import os
        os.mkdir("directory")
        open("file", "w").close()
        try:
            os.replace("directory", "file")
        except OSError:
            print("failed")
        """
    )
    assert supervisor.finish(worker) == "failed\n"
    assert supervisor.said() == ["committing file.file.replace"]
    (failed,) = supervisor.of_type("failed")
    assert failed["op"] == supervisor.reached[0]["op"]
