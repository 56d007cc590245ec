"""From options, as the command line and tests give them, to the part of the matrix that they name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ackgap.campaign.selection import Selection
from ackgap.errors import UsageInvalid
from ackgap.model.manner import Manner
from ackgap.model.schedule import Schedule
from ackgap.scenario.faults import fault_mistake
from ackgap.scenario.scenario import Scenario, Slice

__all__ = ["manners_of", "selection_of"]

PartialVariant = Mapping[str, tuple[str, ...]]
DEPTH_LIMIT = 3
UNSETTLED_LIMIT = 10_000


def selection_of(
    scenario: Scenario,
    *,
    only: Sequence[str] = (),
    points: Sequence[str] = (),
    slice_name: str | None = None,
    schedules: Sequence[str] = (),
    faults: Sequence[str] = (),
    depth: int | None = None,
    orders: bool = False,
    unsettled: int = 0,
    prune: bool = False,
) -> Selection:
    """Return the part of the matrix that options name.

    Args:
        scenario: Whose axes and slices they name.
        only: `AXIS=VALUE` or `AXIS=VALUE,VALUE`.
        points: Globs over crash points.
        slice_name: A slice of the scenario.
        schedules: Text forms of schedules, such as `pause@tickets.create#1:sending`.
        faults: Text forms of what is done at every point, such as `kill,down=72h`; those of the slice, or of the
            scenario, where there are none.
        depth: How many lives a schedule strikes at most, 1 to 3; that of the slice, or 1, where it is None.
        orders: Let durable writes that run beside each other land in the other order as well, as a slice may say.
        unsettled: Kill at each point also without waiting for writes in flight, in so many runs.
        prune: Of points with the same crash state run one, and check a sample of the others.

    Raises:
        UsageInvalid: An axis, value or slice does not exist, or a text is no schedule.
    """
    part = _slice_of(scenario, slice_name)
    globs = tuple(points) or (part.points if part is not None else ())
    parsed, manners = _parsed(scenario, schedules, faults)
    if unsettled and parsed and not (manners or globs):
        raise UsageInvalid(
            "with schedules alone there is no point at which to kill unsettled",
            where="--unsettled",
            next_step=f"write it into the schedule: 'kill@...,unsettled={unsettled}'; or choose points with --point",
        )
    if not manners and not parsed:
        manners = (part.faults if part is not None else ()) or scenario.faults
    return Selection(
        variants=_variants_of(scenario, part, only),
        points=globs,
        schedules=parsed,
        faults=manners,
        unsettled=_checked_number("unsettled", unsettled, 0, UNSETTLED_LIMIT),
        depth=_checked_number("depth", (part.depth if part else 1) if depth is None else depth, 1, DEPTH_LIMIT),
        orders=orders or (part is not None and part.orders),
        prune=prune,
    )


def _slice_of(scenario: Scenario, name: str | None) -> Slice | None:
    if name is None:
        return None
    try:
        return scenario.slice(name)
    except KeyError:
        names = ", ".join(part.name for part in scenario.slices) or "it has none"
        raise UsageInvalid(
            f"the scenario has no slice {name!r}", where="--slice", next_step=f"its slices: {names}"
        ) from None


def _variants_of(scenario: Scenario, part: Slice | None, only: Sequence[str]) -> tuple[PartialVariant, ...]:
    """Return the partial variants of a slice, narrowed to the values that were asked for."""
    variants = part.variants if part is not None else ()
    chosen: dict[str, tuple[str, ...]] = {}
    for text in only:
        axis, values = _axis_and_values(scenario, text)
        chosen[axis] = (*chosen.get(axis, ()), *values)
    if not chosen:
        return variants
    if not variants:
        return (chosen,)
    narrowed = tuple(filter(None, (_narrowed(partial, chosen) for partial in variants)))
    if not narrowed:
        raise UsageInvalid(
            f"no variant of the slice {part.name if part else ''} is left",
            where="--only",
            next_step="leave out --slice or --only; the scenario's file has the variants of its slices",
        )
    return narrowed


def _parsed(
    scenario: Scenario, schedules: Sequence[str], faults: Sequence[str]
) -> tuple[tuple[Schedule, ...], tuple[Manner, ...]]:
    """Return schedules and faults, once it is known that they can be done in this scenario."""
    try:
        parsed = tuple(Schedule.parse(text) for text in schedules)
    except ValueError as error:
        raise UsageInvalid(
            str(error), where="--schedule", next_step="write it as in a report, such as kill@tickets.create#1:applied"
        ) from None
    manners = manners_of(scenario, faults)
    _check_there(scenario, (fault.manner for schedule in parsed for fault in schedule.faults), where="--schedule")
    return parsed, tuple(dict.fromkeys(manners))


def manners_of(scenario: Scenario, faults: Sequence[str]) -> tuple[Manner, ...]:
    """Return what `--fault` names, once it is known that it can be done in this scenario.

    Raises:
        UsageInvalid: A text is no fault, or names what the scenario does not have.
    """
    try:
        manners = tuple(Manner.parse(text) for text in faults)
    except ValueError as error:
        raise UsageInvalid(
            str(error), where="--fault", next_step="write it without a point, such as kill,down=72h or fail,status=429"
        ) from None
    _check_there(scenario, manners, where="--fault")
    return manners


def _check_there(scenario: Scenario, manners: Iterable[Manner], *, where: str) -> None:
    for manner in manners:
        if mistake := fault_mistake(scenario, manner):
            raise UsageInvalid(mistake[0], where=where, next_step=mistake[1])


def _checked_number(name: str, number: int, least: int, most: int) -> int:
    if not least <= number <= most:
        raise UsageInvalid(
            f"{number} is out of range", where=f"--{name}", next_step=f"write a number from {least} to {most}"
        )
    return number


def _narrowed(
    partial: Mapping[str, tuple[str, ...]], chosen: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]] | None:
    """Return the partial variant that agrees with both; None where nothing does."""
    both = dict(partial)
    for axis, values in chosen.items():
        both[axis] = tuple(value for value in both.get(axis, values) if value in values)
    return both if all(both.values()) else None


def _axis_and_values(scenario: Scenario, text: str) -> tuple[str, tuple[str, ...]]:
    name, equals, values = text.partition("=")
    axis = next((axis for axis in scenario.axes if axis.name == name), None)
    if axis is None or not equals:
        names = ", ".join(f"{axis.name}=..." for axis in scenario.axes) or "it has none"
        raise UsageInvalid(f"{text!r} names no axis of the scenario", where="--only", next_step=f"its axes: {names}")
    chosen = tuple(values.split(","))
    allowed = [value.name for value in axis.values]
    for value in chosen:
        if value not in allowed:
            raise UsageInvalid(
                f"axis {name} has no value {value!r}", where="--only", next_step=f"its values: {', '.join(allowed)}"
            )
    return name, chosen
