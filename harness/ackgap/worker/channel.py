"""The worker's end of the channel: say where a thread or coroutine stands, park it, wake it at the reply.

Built on the interpreter's own `_socket` and `_thread`, so that nothing which the user's code might import or patch
(`socket`, `threading`, a monkey-patching event library) is loaded or relied on.
"""

from __future__ import annotations

import _socket
import _thread
import os
import select
import sys
from itertools import count

from . import codec, surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Message = dict[str, Any]

__all__ = ["HARNESS_GONE", "Channel"]

HARNESS_GONE = 70
"""Exit status of a process whose harness has died: it must not go on acting."""

_READ_BYTES = 1 << 16
_FORK_WAIT_S = 0.05
_LOOK_UP_S = 0.05
_poll, _READABLE = select.poll, select.POLLIN  # now: an event library may replace them


class Channel:
    """One process's connection to the supervisor.

    Any number of threads and coroutines may stand here at once. One of the threads reads the replies, its own and
    those of the others, and hands that over to another one when it goes on: that costs no switch of threads where only
    one stands here. With the first coroutine a background thread takes part in that, since a coroutine cannot wait for
    a reply by itself; it is no obstacle to the interpreter's end, and steps aside while the process forks.

    Args:
        path: Of the supervisor's socket.
        greeting: Returns the first message of a connection.
    """

    def __init__(self, path: str, greeting: Callable[[], Message]) -> None:
        self._path = path
        self._greeting = greeting
        self._lock = _thread.RLock()  # reentrant: a signal handler or a finalizer may announce in the midst of a send
        self._main_thread = _thread.get_ident()
        self._ids = count(1)
        self._parked: dict[int, Callable[[], object]] = {}
        self._answered: dict[int, None] = {}  # of those, whose reply has come
        self._followers: dict[int, _thread.LockType] = {}  # threads that stand here and do not read
        self._role = _thread.allocate_lock()  # held by the thread that reads
        self._leader = 0
        self._told: set[str] = set()
        self._descriptor = -1
        self._pid = 0
        self._inode: tuple[int, int] | None = None
        self._unread = b""
        self._reader: _Reader | None = None

    def open(self) -> bool:
        """Connect and say hello; return False if this process cannot see the socket at all.

        Nobody listening on a socket that is there means that the harness has died.
        """
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.connect(self._path)
        except ConnectionRefusedError:
            self._end()
        except OSError:
            connection.close()
            return False
        # A plain descriptor: Python 3.9 crashes over a socket that is closed for it at the very end of the interpreter.
        self._descriptor = connection.detach()
        status = os.fstat(self._descriptor)
        self._pid = os.getpid()
        self._inode, self._unread = (status.st_dev, status.st_ino), b""
        self._send(self._greeting())
        return True

    def tell(self, message: Message, complete: Callable[[Message], object] | None = None) -> None:
        """Say something that needs no reply; `complete` adds to it while nobody else can send."""
        with self._lock:
            if complete is not None:
                complete(message)
            self._send(message)

    def trouble(self, text: str) -> None:
        """Say once that something inside the injector did not work."""
        if text not in self._told:
            self._told.add(text)
            self.tell({"type": "trouble", "text": text})

    def reach(self, message: Message, complete: Callable[[Message], object]) -> None:
        """Announce where this thread stands and park it until it may go on.

        Args:
            message: What it says.
            complete: Called with it while nobody else can send, for what has to be true at that very moment.
        """
        gate = _thread.allocate_lock()
        gate.acquire()
        number = self._post(message, complete, gate.release)
        self._followers[number] = gate
        try:
            while number not in self._answered:
                if sys.is_finalizing() or self._leader == _thread.get_ident():
                    # No other thread will run again; or this is a handler of a signal in the midst of reading.
                    self._read_until(number)
                elif not self._lead(lambda: self._read_until(number)):
                    self._follow(gate)
        finally:
            self._followers.pop(number, None)
            self._forget(number)
            self._call_a_follower()

    def _lead(self, read: Callable[[], object]) -> bool:
        """Read what comes, for everybody; return False if another thread does."""
        if not self._role.acquire(False):
            return False
        self._leader = _thread.get_ident()
        try:
            read()
        finally:
            self._wake_the_answered()
            self._leader = 0
            self._role.release()
        return True

    def _forget(self, number: int) -> None:
        self._parked.pop(number, None)
        self._answered.pop(number, None)

    def _call_a_follower(self) -> None:
        """See to it that somebody reads as long as anybody waits: whoever goes on wakes one, who takes the place."""
        if not self._role.locked():
            for gate in list(self._followers.values())[:1]:
                try:  # noqa: SIM105
                    gate.release()
                except RuntimeError:
                    pass  # it has been woken already, and will do the same

    def _follow(self, gate: _thread.LockType) -> None:
        """Wait for a reply, or for the place of the thread that reads."""
        if _thread.get_ident() != self._main_thread:
            gate.acquire()
            return
        # A signal that comes right before a thread goes to sleep does not wake it, and only this thread runs the
        # handlers of signals.
        while not gate.acquire(True, _LOOK_UP_S):
            continue

    async def reach_async(self, message: Message, complete: Callable[[Message], object]) -> None:
        """Announce where this coroutine stands and let its siblings run until it may go on; see `reach`."""
        loop = surroundings.running_asyncio_loop()
        if loop is None:
            await self._reach_elsewhere(message, complete)
            return
        future = loop.create_future()

        def wake() -> None:
            loop.call_soon_threadsafe(_settle, future)

        self._start_reader()
        number = self._post(message, complete, wake)
        try:
            await future
        finally:
            self._forget(number)

    async def _reach_elsewhere(self, message: Message, complete: Callable[[Message], object]) -> None:
        """Park a coroutine of an event loop that is not asyncio's: in a thread under trio, else with the loop."""
        trio = surroundings.running_trio()
        if trio is None:
            message["blocks_loop"] = True
            self.reach(message, complete)
            return
        await trio.to_thread.run_sync(self.reach, message, complete)

    def _post(self, message: Message, complete: Callable[[Message], object], wake: Callable[[], object]) -> int:
        with self._lock:
            number = next(self._ids)
            self._parked[number] = wake
            message["id"] = number
            complete(message)
            self._send(message)
        return number

    def _start_reader(self) -> None:
        with self._lock:
            if self._reader is None and not sys.is_finalizing():
                reader = _Reader(self._descriptor, self._role, self._lead, self._read)
                try:
                    reader.start()
                except RuntimeError:
                    return  # too late in the life of the interpreter for another thread
                self._reader = reader

    def _send(self, message: Message) -> None:
        if not self._is_ours():
            self._reader = None
            if not self.open():
                self._end()
        line = memoryview(codec.encode(message))
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError:
            self._end()

    def _is_ours(self) -> bool:
        """Whether the connection is still this process's own.

        A process that turns into a daemon closes all descriptors it finds, and C code forks without telling Python.
        """
        if os.getpid() != self._pid:
            return False
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._inode

    def _read(self) -> None:
        """Take in what has arrived and wake those it is for."""
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self._end()
        self._unread += data
        self._wake_the_answered()

    def _wake_the_answered(self) -> None:
        # A handler of a signal may raise between any two steps of the main thread. A line is taken off only when all is
        # done that it asks for, all of which may be done twice.
        while True:
            line, end, rest = self._unread.partition(b"\n")
            if not end:
                return
            number = codec.decode(line.decode()).get("id")
            wake = self._parked.get(number)
            if wake is not None:
                self._answered[number] = None
                try:  # noqa: SIM105
                    wake()
                except RuntimeError:
                    pass  # its event loop is closed, or it has been woken otherwise
            self._unread = rest

    def _read_until(self, number: int) -> None:
        """Read until an announcement is answered."""
        poll = _poll()
        poll.register(self._descriptor, _READABLE)
        # Waiting and reading are apart, so that this thread takes nothing off the connection that it cannot pass on:
        # when the interpreter ends it is frozen in `poll`. It looks up now and then for signals, and since a handler or
        # a finalizer may have read its reply.
        while number not in self._answered:
            if poll.poll(1000 * _LOOK_UP_S):
                self._read()

    def _end(self) -> None:
        os._exit(HARNESS_GONE)

    # ------------------------------------------------------------------ fork

    def survive_fork(self) -> None:
        """See to it that a forked child has a connection of its own."""
        os.register_at_fork(before=self._before_fork, after_in_child=self._after_fork_in_child)

    def _before_fork(self) -> None:
        # From 3.12 on Python warns of forks in a process with several threads. The user's may have one only.
        if sys.version_info < (3, 12):
            return
        with self._lock:
            if self._parked:
                return
            reader, self._reader = self._reader, None
        if reader is not None:
            reader.stop(_FORK_WAIT_S)

    def _after_fork_in_child(self) -> None:
        self._main_thread = _thread.get_ident()
        self._lock = _thread.RLock()
        self._parked, self._answered, self._followers = {}, {}, {}
        self._role, self._leader = _thread.allocate_lock(), 0
        if self._reader is not None:
            self._reader.forget()
            self._reader = None
        self._pid = os.getpid()
        if self._is_ours():
            os.close(self._descriptor)
        if not self.open():
            self._end()


class _Reader:
    """A thread that reads a connection, whenever no other one does, until it is told to stop.

    Args:
        descriptor: Of the connection.
        role: Held by whoever reads.
        lead: Calls a function in that role, unless somebody else has it.
        read: Takes in what has arrived.
    """

    def __init__(
        self,
        descriptor: int,
        role: _thread.LockType,
        lead: Callable[[Callable[[], object]], bool],
        read: Callable[[], None],
    ) -> None:
        self._descriptor = descriptor
        self._role = role
        self._lead = lead
        self._read = read
        self._wakeup = os.pipe()
        self._stopped = False
        self._native_id = 0
        self._started = _thread.allocate_lock()
        self._started.acquire()

    def start(self) -> None:
        """Start the thread.

        Raises:
            RuntimeError: The interpreter is about to end.
        """
        _thread.start_new_thread(self._run, ())

    def stop(self, limit_s: float) -> None:
        """End the thread and wait until the system does not count it any longer, at most `limit_s` real seconds."""
        import time

        self._started.acquire()
        os.write(self._wakeup[1], b"x")
        deadline = time.monotonic() + limit_s
        while os.path.exists(f"/proc/self/task/{self._native_id}") and time.monotonic() < deadline:
            time.sleep(0.0002)
        self.forget()

    def forget(self) -> None:
        """Close what the thread was woken by."""
        for descriptor in self._wakeup:
            try:  # noqa: SIM105
                os.close(descriptor)
            except OSError:
                pass

    def _run(self) -> None:
        self._native_id = _thread.get_native_id()
        self._started.release()
        while not self._stopped:
            if not self._lead(self._look):
                self._role.acquire()  # wait until nobody reads
                self._role.release()

    def _look(self) -> None:
        poll = _poll()
        poll.register(self._descriptor, _READABLE)
        poll.register(self._wakeup[0], _READABLE)
        ready = [descriptor for descriptor, _ in poll.poll()]
        if self._wakeup[0] in ready:
            self._stopped = True
        elif ready:
            self._read()


def _settle(future: Any) -> None:
    if not future.done():
        future.set_result(None)
