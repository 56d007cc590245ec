"""Stand-ins for functions that are written in C."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

__all__ = ["Replacement", "around"]


class Replacement:
    """Calls a Python function in place of a built-in one.

    A plain function would not do: as an attribute of a class (`clock = time.time`) it would turn into a method, which
    built-in functions never do.

    Args:
        original: The built-in function.
        function: What is called in its place.
        module: Name of the module in which it is replaced; pickles refer to it there.
    """

    def __init__(self, original: Any, function: Callable[..., Any], module: str) -> None:
        self._function = function
        self.__wrapped__ = original
        for name in ("__name__", "__qualname__", "__doc__", "__text_signature__"):
            value = getattr(original, name, None)
            if value is not None:
                setattr(self, name, value)
        self.__module__ = module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Python function."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> str:
        return str(self.__name__)  # type: ignore[attr-defined]


def around(original: Any, function: Callable[..., Any]) -> Any:
    """Return a Python function in the place of another one, with its name, documentation and signature."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        try:  # noqa: SIM105
            setattr(function, name, getattr(original, name))
        except AttributeError:
            pass
    function.__dict__.update(getattr(original, "__dict__", {}))
    function.__wrapped__ = original  # type: ignore[attr-defined]
    return function
