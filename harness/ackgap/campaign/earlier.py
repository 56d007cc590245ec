"""Earlier: what is known from a run of the same that was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ackgap.errors import ProbeFailed
from ackgap.model.codec import encode
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant, cell_id
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Verdict, VerdictKind

__all__ = ["Earlier"]


class Earlier:
    """The results of a run that was interrupted.

    Args:
        results: Of its cells, by their names, without histories.
        expectations: Its yardsticks, by variant.
        with_history: Fills in the history of a result.
    """

    def __init__(
        self,
        results: Mapping[str, CellResult],
        expectations: Mapping[str, Expectation],
        with_history: Callable[[CellResult], CellResult],
    ) -> None:
        self._results = results
        self._expectations = expectations
        self._with_history = with_history

    def check(self, variant: Variant, expectation: Expectation) -> None:
        """Refuse to go on where a variant is not what it was.

        Raises:
            ProbeFailed: Its yardstick is another one now.
        """
        before = self._expectations.get(str(variant))
        if before is not None and encode(before.without_races()) != encode(expectation.without_races()):
            raise ProbeFailed(
                f"the undisturbed run of {variant} is not what it was in the run that was interrupted",
                where="--resume",
                next_step="run without --resume; the results of the earlier run are kept beside the new ones",
            )

    def result(self, variant: Variant, schedule: Schedule) -> CellResult | None:
        """Return the result of a cell; None where it did not run, or where it proves nothing and may do so now.

        It proves nothing either where the yardstick of its variant is not known: that is written a little later than
        results, and a killed harness may not have come to it.
        """
        if str(variant) not in self._expectations:
            return None
        result = self._results.get(cell_id(schedule, variant))
        if result is None or result.equal_to or result.verdict.kind is VerdictKind.INCONCLUSIVE:
            return None
        # What only the comparison with another cell says is said again when both are known.
        findings = (finding for finding in result.findings if finding.code != "order_dependent")
        return self._with_history(replace(result, verdict=Verdict.of(findings)))
