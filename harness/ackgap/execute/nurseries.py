"""The nurseries of one slot, of which only the last ones used are kept.

What is imported may read the environment and the clock, or keep a function of it, so each environment and each offset
of the clock has a nursery that began with it. One takes some hundred megabytes with an agent's libraries.
"""

from __future__ import annotations

from collections.abc import Mapping

from ackgap.execute.nursery import Nursery

__all__ = ["KEPT", "Nurseries"]

KEPT = 6

_Key = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...], float]


class Nurseries:
    """Starts nurseries when they are first asked for."""

    def __init__(self) -> None:
        self._kept: dict[_Key, Nursery] = {}

    def get(
        self, python: str, modules: tuple[str, ...], env: Mapping[str, str], clock_offset_s: float = 0.0
    ) -> Nursery:
        """Return a nursery; the one that was not used for longest ends for it, if none of its lives is left.

        Args:
            python: As of `Nursery`.
            modules: As of `Nursery`.
            env: As of `Nursery`.
            clock_offset_s: As of `Nursery`.
        """
        key = (python, modules, tuple(sorted(env.items())), clock_offset_s)
        nursery = self._kept.pop(key, None)
        if nursery is None:
            self._make_room()
            nursery = Nursery(python, modules, env, clock_offset_s=clock_offset_s)
        self._kept[key] = nursery
        return nursery

    def close(self) -> None:
        """End them all."""
        for nursery in self._kept.values():
            nursery.close()
        self._kept.clear()

    def _make_room(self) -> None:
        for key in [key for key, nursery in self._kept.items() if not nursery.has_lives]:
            if len(self._kept) < KEPT:
                return
            self._kept.pop(key).close()
