"""Comes up before the user's code: loads the injector by its location, then lets the user's own `sitecustomize` run.

Any Python that the worker starts reads this file, whatever its version: it keeps to syntax that all of them have.
"""

import os
import sys


def _load_injector(here):  # type: (str) -> None
    room = os.path.dirname(here)
    package = type(sys)("_ackgap_worker")
    package.__path__ = [room]
    sys.modules["_ackgap_worker"] = package
    from _ackgap_worker import bootstrap  # type: ignore[import-not-found]

    bootstrap.start(os.environ)


def _hand_over(here):  # type: (str) -> None
    """Import the `sitecustomize` that would have been found without this one."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", None) != "sitecustomize":
            raise
    finally:
        if this is not None:
            sys.modules.setdefault("sitecustomize", this)


_here = os.path.dirname(os.path.abspath(__file__))
if os.environ.get("ACKGAP_CHANNEL") and sys.version_info >= (3, 9):
    try:  # noqa: SIM105 - `contextlib.suppress` would be one more import
        _load_injector(_here)
    except Exception:
        pass  # the user's worker runs on, whatever happens here
_hand_over(_here)
