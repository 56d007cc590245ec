"""A badge: what a run found in a few words, as a small picture or as what shields.io makes one from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from ackgap.errors import ResultsInvalid
from ackgap.model.event import Json
from ackgap.model.verdict import SEVERITY, Colour
from ackgap.report.gaps import Standing, declared_cells
from ackgap.report.plain import plain
from ackgap.report.store import Run

__all__ = ["Badge", "badge_json", "badge_of", "badge_svg"]

_HEX = {"brightgreen": "#1f7a3a", "red": "#b3261e", "yellow": "#8a6100", "lightgrey": "#6b6b6b"}
"""White letters have a contrast of at least 4.5 on each."""
_LABEL_HEX = "#3f3f46"
_NARROW = frozenset("ijl.,:;'|!()[]1 ftrI")
_WIDE = frozenset("mwMW×%@")
_MOST_CHARACTERS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """What a badge says.

    Attributes:
        label: Its left half.
        message: Its right half.
        colour: Of the right half, by a name that shields.io knows.
    """

    label: str
    message: str
    colour: str


def badge_of(run: Run, *, label: str = "ackgap") -> Badge:
    """Return what a badge says of a run: the worst of it, and green only where all of it was proven.

    Raises:
        ResultsInvalid: It is a part of a run, which says nothing of the whole.
    """
    if run.info.shard:
        raise ResultsInvalid(
            f"This is part {run.info.shard} of a run, of which there is no badge.",
            where=str(run.directory),
            next_step="Join the parts with `ackgap merge`, and make the badge of the whole.",
        )
    message, colour = _said(run)
    return Badge(label=plain(label)[:_MOST_CHARACTERS], message=message, colour=colour)


def _said(run: Run) -> tuple[str, str]:
    known = {each.cell.cell for each in declared_cells(run) if each.standing is Standing.KNOWN}
    kinds = [cell.verdict.kind for cell in run.cells if cell.cell not in known]
    colours = [kind.colour for kind in kinds]
    total = len(run.cells)
    if red := colours.count(Colour.RED):
        worst = min((kind for kind in kinds if kind.colour is Colour.RED), key=SEVERITY.index)
        return f"{worst.words}: {red} of {total} cells red", "red"
    if run.info.interrupted:
        return f"not complete: {total} of {max(total, run.info.planned_cells)} cells", "lightgrey"
    if grey := colours.count(Colour.GREY):
        return f"inconclusive: {grey} of {total} cells", "lightgrey"
    faults = sum(1 for cell in run.cells if cell.schedule.faults)
    if not faults:
        return "nothing was tried", "lightgrey"
    if known:
        return f"known gaps: {len(known)} of {total} cells", "yellow"
    if amber := [kind for kind in kinds if kind.colour is Colour.AMBER]:
        return f"{min(amber, key=SEVERITY.index).words}: {len(amber)} of {total} cells", "yellow"
    return f"exactly once, {faults} fault{'' if faults == 1 else 's'}", "brightgreen"


def badge_json(badge: Badge) -> str:
    """Return what an endpoint badge of shields.io reads."""
    document: dict[str, Json] = {
        "schemaVersion": 1,
        "label": badge.label,
        "message": badge.message,
        "color": badge.colour,
    }
    if badge.colour == "red":
        document["isError"] = True
    return json.dumps(document, indent=1) + "\n"


def badge_svg(badge: Badge) -> str:
    """Return the badge as a picture that loads nothing and can be read aloud."""
    left, right = (_width(text) + 12 for text in (badge.label, badge.message))
    whole = f"{badge.label}: {badge.message}"
    halves = "".join(
        f'<text x="{middle / 2:g}" y="14" textLength="{width - 12}">{escape(text)}</text>'
        for text, width, middle in ((badge.label, left, left), (badge.message, right, 2 * left + right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img"'
        f" aria-label={quoteattr(whole)}>"
        f"<title>{escape(whole)}</title>"
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="{_LABEL_HEX}"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_HEX[badge.colour]}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{halves}</g></svg>\n"
    )


def _width(text: str) -> int:
    """Return about how wide a text is; the letters are fitted into just that, whatever font there is."""
    return round(sum(4.2 if letter in _NARROW else 9.6 if letter in _WIDE else 6.9 for letter in text))
