"""The command line: arguments to calls, and what comes back to an exit status.

0  nothing red, nothing inconclusive        2  the user's mistake
1  at least one red verdict                 3  only inconclusive, or the harness itself failed
4  a replay did not reproduce its verdict
130  interrupted; what had finished is reported
143  ended with SIGTERM; what had finished is reported
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence

from ackgap.cli.arguments import make_parser
from ackgap.cli.github import unheard

__all__ = ["carried_out", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if not hasattr(options, "command_function"):
        parser.print_help()
        return 2
    with unheard(options):
        return carried_out(lambda: int(_resolve(options.command_function)(options)))


def carried_out(command: Callable[[], int]) -> int:
    """Carry a command out and return its exit status; what a user can mend is said in words."""
    from ackgap.errors import AckgapError
    from ackgap.support import check_platform

    try:
        with _ended_like_interrupted():
            check_platform()
            status = command()
            sys.stdout.flush()
        return status
    except AckgapError as error:
        print(f"ackgap: {_harmless(str(error))}", file=sys.stderr)
        return error.exit_status
    except _Ended as signalled:
        print(f"ackgap: ended with {signal.Signals(signalled.number).name}", file=sys.stderr)
        return 128 + signalled.number
    except KeyboardInterrupt:
        print("ackgap: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _forget_output()
        return 0
    except OSError as error:  # the output is on a full disk, a file vanished under our hands
        print(f"ackgap: {_harmless(error.strerror or str(error))}", file=sys.stderr)
        print(f"  where: {_harmless(str(error.filename or 'standard output'))}", file=sys.stderr)
        _forget_output()
        return 3


def _harmless(text: str) -> str:
    """Return what an error says without secrets, and without power over a terminal; it may quote what a worker said."""
    from ackgap.report.plain import plain_block
    from ackgap.target.wire.redaction import Redactor

    return plain_block(Redactor.of(os.environ).text(text))


class _Ended(KeyboardInterrupt):
    """The process is told to end by another signal than Ctrl-C; it ends in the same orderly way."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextlib.contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """Make SIGTERM and SIGHUP end the command as Ctrl-C does: what has finished is reported, nothing is left running.

    Only the first of them: whoever is impatient has SIGKILL, after which the slots clear up by themselves.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: object) -> None:
        for other in handled:
            signal.signal(other, lambda _number, _frame: None)
        raise _Ended(number)

    # A signal that is ignored from outside stays so (nohup); a handler that somebody else has set stays theirs.
    handled = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _forget_output() -> None:
    """Keep the interpreter from trying once more, at its end, to write what standard output does not take."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _resolve(name: str):  # type: ignore[no-untyped-def]
    import importlib

    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"ackgap.cli.{module}"), function)
