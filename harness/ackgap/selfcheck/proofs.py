"""Proofs that were found earlier: which mutants nobody outside can tell from the agent, and why.

Equivalence is a fact about an agent, the services that it talks to and a change, not about ackgap's judge. So it is
proven once, kept in the repository with the digests of all three, and proven anew only where one of them has changed
or somebody asks for that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ackgap.content import find_profile, scenarios_directory
from ackgap.errors import HarnessFailed
from ackgap.execute.workspace import copied_files
from ackgap.files import write_whole
from ackgap.model.event import Json
from ackgap.scenario.scenario import Scenario
from ackgap.selfcheck.operators.catalogue import Mutant
from ackgap.selfcheck.subjects import Subject

__all__ = ["PROOFS_FILE", "Proof", "Proofs", "circumstances", "proofs_file"]

PROOFS_FILE = "equivalent.json"
_TOLD_ELSEWHERE = (".md", ".json")
"""Endings of files in an agent's folder that no worker reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Why a mutant is equivalent.

    Attributes:
        text: Digest of the mutant's source.
        why: The proof, in words.
        cells: In how many cells it was found.
    """

    text: str
    why: str
    cells: int


@dataclass(frozen=True)
class Proofs:
    """Proofs by scenario: the digest of its circumstances, and the proof of each mutant by name."""

    by_scenario: Mapping[str, tuple[str, Mapping[str, Proof]]] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Proofs:
        """Read them; there are none where there is no such file.

        Raises:
            HarnessFailed: The file is damaged.
        """
        if not file.is_file():
            return cls()
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            found = {
                scenario: (part["circumstances"], {name: Proof(**proof) for name, proof in part["mutants"].items()})
                for scenario, part in document.items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise HarnessFailed(
                f"the proofs that are shipped cannot be read: {error}",
                where=str(file),
                next_step="install ackgap again, or prove them anew: ackgap selfcheck --prove",
            ) from None
        return cls(found)

    def of(self, subject: Subject, circumstances: str, mutant: Mutant) -> Proof | None:
        """Return the proof of a mutant; None where there is none of just this one."""
        known, proofs = self.by_scenario.get(subject.scenario, ("", {}))
        proof = proofs.get(mutant.name)
        if proof is None or known != circumstances or proof.text != _digest([mutant.change.text.encode()]):
            return None
        return proof

    def with_found(self, subject: Subject, circumstances: str, found: Iterable[tuple[Mutant, str, int]]) -> Proofs:
        """Return them with what was proven of a subject in place of what was known of it.

        Args:
            subject: Whose mutants they are.
            circumstances: As `circumstances` returns it.
            found: Each mutant that is equivalent, why, and in how many cells that was seen.
        """
        proofs = {
            mutant.name: Proof(text=_digest([mutant.change.text.encode()]), why=why, cells=cells)
            for mutant, why, cells in found
        }
        return Proofs({**self.by_scenario, subject.scenario: (circumstances, proofs)})

    def write(self, file: Path) -> None:
        """Write them, so that a change of one shows as a change of one line."""
        document: dict[str, Json] = {
            scenario: {
                "circumstances": known,
                "mutants": {
                    name: {"text": each.text, "why": each.why, "cells": each.cells} for name, each in proofs.items()
                },
            }
            for scenario, (known, proofs) in sorted(self.by_scenario.items())
        }
        write_whole(file, [json.dumps(document, indent=1), "\n"])


def proofs_file() -> Path:
    """Return where the shipped proofs are."""
    return scenarios_directory() / "selfcheck" / PROOFS_FILE


def circumstances(subject: Subject, scenario: Scenario, folder: Path) -> str:
    """Return a digest of all that a proof rests on besides the change: the agent, its services, what is done to it."""
    said = [json.dumps([subject.only, subject.faults, subject.file]).encode()]
    for name, file in copied_files(folder):
        if not name.endswith(_TOLD_ELSEWHERE):
            said += [name.encode(), file.read_bytes()]
    said += [find_profile(target.profile).read_bytes() for target in scenario.targets]
    return _digest(said)


def _digest(parts: Iterable[bytes]) -> str:
    total = hashlib.blake2b(digest_size=8)
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()
