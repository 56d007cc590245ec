"""The run's certificate authority is trusted beside those that a client has chosen, also by one that brings its own."""

from __future__ import annotations

from .announcer import Announcer
from .replacement import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hook_ssl"]

_CHOOSING = ("load_verify_locations", "load_default_certs", "set_default_verify_paths")


def hook_ssl(module: Any, announcer: Announcer) -> None:
    """Have each context that is given authorities take the run's as well."""
    authority = announcer.config.authority
    if not authority:
        return
    context = module.SSLContext
    load = context.load_verify_locations

    def choosing(original: Any) -> Any:
        def choose(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            try:
                load(self, authority)
            except Exception as error:
                announcer.trouble("the run's certificate authority could not be trusted", error)
            return result

        return around(original, choose)

    for name in _CHOOSING:
        setattr(context, name, choosing(getattr(context, name)))
