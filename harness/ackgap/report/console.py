"""The console that everything is printed to: colours on terminals, plain lines elsewhere, and never a traceback.

Output that does not know our glyphs gets others of the same width, so that what stands in columns stays there.
"""

from __future__ import annotations

import codecs
import io
import locale
import os
import sys
from typing import IO

from rich.console import Console

__all__ = ["is_live", "make_console"]

PLAIN_WIDTH = 100
"""Characters of a line where the output is not a terminal."""
_ASCII = str.maketrans("×✓∅≠†■–●◆→←╳✕‖│┃┏┗└━─╸╺…·≈⇄«»’", "xv0!t#-o*><XX=||+++----~.~%<>'")
_ERRORS = "ackgap.glyphs"


class _Console(Console):
    """A console that goes on without a word once nobody reads it any more: what is being done is not undone by that.

    Args:
        ends: Tell by `BrokenPipeError` instead; for what has nothing to do but to be read.
    """

    ends = False

    def on_broken_pipe(self) -> None:
        """Print to nowhere from now on; neither may the interpreter, at its end, try to write what is left."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)
        if self.ends:
            raise BrokenPipeError
        self.quiet = True


def make_console(file: IO[str] | None = None, *, ends: bool = False) -> Console:
    """Return a console that colours only terminals and honours `NO_COLOR`; elsewhere lines are of a fixed width.

    Args:
        file: Where to; standard output where it is None.
        ends: Raise `BrokenPipeError` once nobody reads any more, instead of going on in silence.
    """
    stream = file if file is not None else sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        encoding = stream.encoding if _takes_glyphs(stream) else "ascii"
        stream.reconfigure(encoding=encoding, errors=_ERRORS)
    console = _Console(file=file, highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        console = _Console(
            file=file, highlight=False, emoji=False, markup=False, width=PLAIN_WIDTH, color_system=None, no_color=True
        )
    console.ends = ends
    return console


def is_live(console: Console) -> bool:
    """Whether what has been printed can be drawn anew: a terminal, and not only a file that is to be coloured."""
    isatty = getattr(console.file, "isatty", None)
    return console.is_terminal and not console.is_dumb_terminal and isatty is not None and bool(isatty())


def _takes_glyphs(stream: io.TextIOWrapper) -> bool:
    """Whether what is written is to be more than ASCII.

    Python writes UTF-8 also where the locale is C, which a terminal of that locale does not show; whoever says so by a
    variable of Python's own gets it all the same. (Where no locale is set at all, Python takes C.UTF-8.)
    """
    if codecs.lookup(stream.encoding).name != "utf-8":
        return True  # the encoding knows what it knows, and the handler of errors replaces the rest
    if os.environ.get("PYTHONIOENCODING") or os.environ.get("PYTHONUTF8") == "1":
        return True
    return codecs.lookup(locale.getencoding()).name == "utf-8"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Return what is written in place of characters that an output does not know: a glyph's like, or an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end].translate(_ASCII)
    return found.encode("ascii", "backslashreplace").decode("ascii"), error.end


codecs.register_error(_ERRORS, _replaced)
