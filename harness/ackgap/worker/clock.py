"""Move this process's wall clock: `time` and `datetime` say what they would say so many seconds later.

`datetime.now` and `datetime.utcnow` are replaced in the class itself, and not by a class of our own in its place: every
`isinstance`, pickle, adapter and annotation goes on meaning the one class there is. `date.today` and `datetime.today`
ask `time.time`. Monotonic clocks are not touched, nor is what C code reads by itself, such as SQLite's `now`.
"""

from __future__ import annotations

import gc
import sys
import time

from .replacement import Replacement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

__all__ = ["move"]

_NS_PER_S = 1_000_000_000
_AGREEMENT_S = 60.0

_moved: dict[float, bool] = {}


def move(offset_s: float) -> bool:
    """Move the clock; return whether all of it could be moved.

    A life that was forked where the clock had been moved so far already keeps it.

    Args:
        offset_s: Seconds to add to the machine's time.
    """
    if offset_s not in _moved:
        _moved[offset_s] = _move(offset_s)
    return _moved[offset_s]


def _move(offset_s: float) -> bool:
    offset_ns = round(offset_s * _NS_PER_S)
    real_time_ns = time.time_ns
    _move_time(offset_ns)
    return _move_datetime(lambda: real_time_ns() + offset_ns)


def _move_time(offset_ns: int) -> None:
    real: dict[str, Any] = {name: getattr(time, name) for name in dir(time) if callable(getattr(time, name))}

    def now_ns() -> int:
        return int(real["time_ns"]()) + offset_ns

    def now() -> float:
        return now_ns() / _NS_PER_S

    def broken_down(name: str) -> Any:
        def function(seconds: Any = None) -> Any:
            return real[name](now() if seconds is None else seconds)

        return function

    def asctime(moment: Any = None) -> Any:
        return real["asctime"](real["localtime"](now()) if moment is None else moment)

    def strftime(layout: str, moment: Any = None) -> Any:
        return real["strftime"](layout, real["localtime"](now()) if moment is None else moment)

    def clock_gettime(clock: int) -> Any:
        return now() if clock == time.CLOCK_REALTIME else real["clock_gettime"](clock)

    def clock_gettime_ns(clock: int) -> Any:
        return now_ns() if clock == time.CLOCK_REALTIME else real["clock_gettime_ns"](clock)

    moved = {
        "time": now,
        "time_ns": now_ns,
        "localtime": broken_down("localtime"),
        "gmtime": broken_down("gmtime"),
        "ctime": broken_down("ctime"),
        "asctime": asctime,
        "strftime": strftime,
        "clock_gettime": clock_gettime,
        "clock_gettime_ns": clock_gettime_ns,
    }
    for name, function in moved.items():
        if name in real:
            setattr(time, name, Replacement(real[name], function, "time"))


def _move_datetime(now_ns: Callable[[], int]) -> bool:
    import datetime as dt

    utc = dt.timezone.utc

    def now(cls: Any, tz: Any = None) -> Any:
        seconds, rest = divmod(now_ns(), _NS_PER_S)
        return cls.fromtimestamp(seconds, tz).replace(microsecond=rest // 1000)

    def utcnow(cls: Any) -> Any:
        if sys.version_info >= (3, 12):
            import warnings

            warnings.warn("datetime.datetime.utcnow() is deprecated", DeprecationWarning, stacklevel=2)
        seconds, rest = divmod(now_ns(), _NS_PER_S)
        return cls.fromtimestamp(seconds, utc).replace(microsecond=rest // 1000, tzinfo=None)

    import ctypes

    # The only reference of the view that `__dict__` returns is the dictionary of the class.
    (attributes,) = gc.get_referents(dt.datetime.__dict__)
    attributes["now"] = classmethod(now)
    attributes["utcnow"] = classmethod(utcnow)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(dt.datetime))
    return abs(dt.datetime.now(utc).timestamp() - now_ns() / _NS_PER_S) < _AGREEMENT_S
