"""The trace injector: from a worker's system calls that stand in the kernel to boundaries of its life.

It sees what the preload injector does not: programs that are linked statically, streams of the C library, processes
with a cleaned environment. It needs no compiler and nothing in the worker.
"""

from __future__ import annotations

import asyncio
import os
import select
from pathlib import Path

from ackgap.execute import containment
from ackgap.execute.gatekeeper import Gatekeeper
from ackgap.execute.life import Life
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.trace import seccomp
from ackgap.execute.trace.listening import Listener
from ackgap.execute.trace.system_calls import Change, change_of, process_of
from ackgap.model.event import Injector, InjectorReady, Note
from ackgap.target.ports import Severed

__all__ = ["Tracer"]


class Tracer:
    """Answers the calls of one life's processes.

    Args:
        life: Whose program has been started.
        listener: Of its calls.
        root: The cell's directory.
        gatekeeper: Says when a change may go on.
        recorder: Keeps the history.
    """

    def __init__(
        self, life: Life, listener: Listener, root: Path, gatekeeper: Gatekeeper, recorder: HistoryRecorder
    ) -> None:
        self._descriptor = listener.descriptor
        self._root = os.path.realpath(root)
        self._life = life
        self._gatekeeper = gatekeeper
        self._numbers = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = True
        self._recorder = recorder
        self._told: set[str] = set()
        pid, number = life.process.pid, life.incarnation
        life.injectors[pid] = Injector.TRACE
        recorder.record(InjectorReady, incarnation=number, pid=pid, python="", injector=Injector.TRACE)
        for note in listener.waiting:
            self._take(note)
        asyncio.get_running_loop().add_reader(self._descriptor, self._readable)

    def close(self) -> None:
        """Answer nothing any more; the life is over."""
        if not self._open:
            return
        self._open = False
        for task in list(self._tasks):
            task.cancel()
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _readable(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        while self._open and (ready := poll.poll(0)):
            if not ready[0][1] & select.POLLIN:
                self.close()  # nobody is left whom the filter holds for
                return
            try:
                note = seccomp.receive(self._descriptor)
            except OSError:
                self.close()
                return
            if note is not None:
                self._take(note)

    def _take(self, note: seccomp.Notification) -> None:
        try:
            standing = self._standing(note)
        except OSError:
            standing = None  # its process is gone, or the kernel is to say what is wrong with the call
        except Exception as error:
            self._say(f"a system call could not be understood: {type(error).__name__}: {error}")
            standing = None
        if standing is None:
            seccomp.go_on(self._descriptor, note)
            return
        task = asyncio.ensure_future(standing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _standing(self, note: seccomp.Notification) -> asyncio.Task[None] | None:
        """Return what waits for a call's turn; None where nobody needs to wait."""
        change = change_of(note, self._root)
        if change is None:
            return None
        self._numbers += 1
        return asyncio.get_running_loop().create_task(self._stand(note, change, process_of(note.tid), self._numbers))

    def _say(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._recorder.record(Note, code="injector_trouble", text=text, incarnation=self._life.incarnation)

    async def _stand(self, note: seccomp.Notification, change: Change, pid: int, number: int) -> None:
        thread = "main" if note.tid == pid else f"thread {note.tid - pid}"
        containment.hold_thread(note.tid)
        try:
            files, source = self._gatekeeper.files, Injector.TRACE
            tells = await files.begins(self._life, pid, number, change.call, source=source, thread=thread)
            try:
                value = change.do()
            except OSError as error:
                files.failed(self._life, pid, number)
                seccomp.answer(self._descriptor, note, 0, error.errno or 5)
                return
            if tells:
                await files.is_done(self._life, pid, number, source=source, thread=thread)
            if value is None:
                seccomp.go_on(self._descriptor, note)
            else:
                seccomp.answer(self._descriptor, note, value)
        except Severed:
            pass  # it is dead, and needs no answer
        finally:
            containment.let_thread_go(note.tid)
