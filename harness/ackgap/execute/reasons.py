"""Why a cell was given up, in words, read from outside."""

from __future__ import annotations

from ackgap.execute.client import Client
from ackgap.execute.life import Life
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.services.household import Household
from ackgap.model.engine import EngineState, EngineWord
from ackgap.model.event import GaveUp, Note

__all__ = ["give_up", "why_given_up"]

_ENGINE_KNOWS_WHY = (EngineState.FAILED, EngineState.UNOWNED, EngineState.WAITING)


def why_given_up(
    life: Life, *, lives: int, life_s: float, left_running: str = "", client: Client | None = None
) -> tuple[str, str]:
    """Return the reason (`waiting`, `crash_loop`, `client_failed`) and what there is to say, the engine left aside.

    Args:
        life: The last.
        lives: How many there were.
        life_s: How long each might take, in real seconds.
        left_running: Processes that a command had left behind when its time was over.
        client: What waited for the work, where something did.
    """
    said = _last_line(life.process.output_tail)
    heard = _last_line(client.output_tail, "; the client last printed") if client is not None else ""
    if client is not None and client.problem:
        return "client_failed", f"{client.problem}{_last_lines(client.output_tail)}{said}"
    if life.overdue and left_running:
        return "waiting", (
            f"the command of life {life.incarnation} ended with exit status 0, and processes that it had started "
            f"were still running {life_s:g} s later: {left_running}{said}"
        )
    if life.hopeless:
        return "waiting", f"life {life.incarnation} went on, and nothing happened{said}{heard}"
    if life.overdue:
        network = f", with the network disturbed: {life.disturbed}" if life.disturbed else ""
        return "waiting", f"life {life.incarnation} was still running after {life_s:g} s{network}{said}{heard}"
    code = life.process.exit_code
    how = f"exit status {code}" if code is not None else f"signal {life.process.signal}"
    text = f"{lives} {'life' if lives == 1 else 'lives'}, the last ended by itself with {how}{said}{heard}"
    return "crash_loop", text


def give_up(
    recorder: HistoryRecorder,
    life: Life,
    *,
    lives: int,
    life_s: float,
    left_running: str,
    client: Client | None,
    household: Household | None,
    engine: str,
    word: EngineWord,
) -> None:
    """Write down that a cell was given up, why, and what its services had to say meanwhile.

    What the engine says comes first, where that is why: nobody has to guess from a time-out.
    """
    reason, text = why_given_up(life, lives=lives, life_s=life_s, left_running=left_running, client=client)
    if engine and word.text:
        reason = f"engine_{word.state}" if word.state in _ENGINE_KNOWS_WHY else reason
        text = f"{engine} {word.text}; {text}"
    recorder.record(GaveUp, reason=reason, text=text)
    for name, tail in (household.log_tails() if household is not None else {}).items():
        recorder.record(Note, code="service_log", text=f"{name} printed: {tail}")


def _last_line(output: str, before: str = "; it last printed") -> str:
    tail = output.strip().splitlines()
    return f"{before}: {tail[-1][:300]}" if tail else ""


def _last_lines(output: str) -> str:
    tail = output.strip().splitlines()[-5:]
    return "; it printed: " + " / ".join(line.strip()[:300] for line in tail) if tail else "; it printed nothing"
