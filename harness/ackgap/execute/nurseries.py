"""The nurseries of one slot, of which only the last ones used are kept.

What is imported may read the environment and the clock, or keep a function of it. So each offset of the clock has a
nursery that began with it, and so has each environment, unless it differs only in what was never read. What an
interpreter draws at its start or during its imports (the seed of `hash`, an id) is another one after a restart: lives
that follow each other come from two nurseries in turn. One takes some hundred megabytes with an agent's libraries.
"""

from __future__ import annotations

from collections.abc import Mapping

from ackgap.execute.nursery import Nursery

__all__ = ["KEPT", "Nurseries"]

KEPT = 8

_Kind = tuple[str, tuple[str, ...], float, int]


class Nurseries:
    """Starts nurseries when they are first asked for."""

    def __init__(self) -> None:
        self._kept: list[tuple[_Kind, Nursery]] = []

    def get(
        self,
        python: str,
        modules: tuple[str, ...],
        env: Mapping[str, str],
        clock_offset_s: float = 0.0,
        incarnation: int = 1,
    ) -> Nursery:
        """Return a nursery that suits; the one that was not used for longest ends for it, if it has no lives.

        Args:
            python: As of `Nursery`.
            modules: As of `Nursery`.
            env: As of `Nursery`.
            clock_offset_s: As of `Nursery`.
            incarnation: Of the life that is to be forked.
        """
        kind = (python, modules, clock_offset_s, incarnation % 2)
        found = next((one for one in self._kept if one[0] == kind and one[1].suits(env)), None)
        if found is None:
            self._make_room()
            found = kind, Nursery(python, modules, env, clock_offset_s=clock_offset_s)
        else:
            self._kept.remove(found)
        self._kept.append(found)
        return found[1]

    def close(self) -> None:
        """End them all."""
        for _, nursery in self._kept:
            nursery.close()
        self._kept.clear()

    def _make_room(self) -> None:
        for one in [one for one in self._kept if not one[1].has_lives]:
            if len(self._kept) < KEPT:
                return
            self._kept.remove(one)
            one[1].close()
