"""Getting hold of the system calls of a program that is about to be started; see `seccomp`."""

from __future__ import annotations

import array
import contextlib
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator

from ackgap.execute.trace import seccomp

__all__ = ["Listener"]

_DESCRIPTOR_BYTES = array.array("i").itemsize


class Listener:
    """Puts the filter into a process that is about to be started, and gets hold of its listener.

    Attributes:
        descriptor: Of the listener, once the program has been started.
        waiting: Calls that came meanwhile and have not been answered.
    """

    def __init__(self) -> None:
        self._install = seccomp.installer()
        self._ours, self._its = socket.socketpair()
        self._ready = threading.Event()
        self._begun = os.eventfd(0, os.EFD_CLOEXEC)
        self.descriptor = -1
        self.waiting: list[seccomp.Notification] = []

    @contextlib.contextmanager
    def starting(self) -> Iterator[Callable[[], None]]:
        """Give what the child calls before exec; within, whatever the child says of its start is let through.

        A child that cannot be started says so in a pipe, and its parent waits for that: somebody has to answer.
        """
        thread = threading.Thread(target=self._attend, daemon=True, name="ackgap-listener")
        thread.start()
        try:
            yield self._before_exec
        finally:
            self._its.close()
            os.eventfd_write(self._begun, 1)
            thread.join()
            self._ours.close()
            os.close(self._begun)

    def _before_exec(self) -> None:
        listener = self._install()
        if listener < 0:
            os._exit(126)
        self._its.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
        os.close(listener)

    def _attend(self) -> None:
        try:
            _, given, _, _ = self._ours.recvmsg(1, socket.CMSG_SPACE(_DESCRIPTOR_BYTES))
        except OSError:
            return
        for _, _, data in given:
            self.descriptor = array.array("i", data[:_DESCRIPTOR_BYTES])[0]
        if self.descriptor < 0:
            return
        poll = select.poll()
        poll.register(self.descriptor, select.POLLIN)
        poll.register(self._begun, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if self._begun in ready:
                return
            with contextlib.suppress(OSError):
                note = seccomp.receive(self.descriptor)
                if note is not None:
                    self._attend_to(note)
            if ready.get(self.descriptor, 0) & (select.POLLHUP | select.POLLERR):
                return

    def _attend_to(self, note: seccomp.Notification) -> None:
        pipe = False
        with contextlib.suppress(OSError):
            pipe = os.readlink(f"/proc/{note.tid}/fd/{note.arguments[0]}").startswith("pipe:")  # noqa: PTH115
        if pipe:
            seccomp.go_on(self.descriptor, note)
        else:
            self.waiting.append(note)
