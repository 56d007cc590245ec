"""The arguments of every command; light, since every start of the command line reads it."""

from __future__ import annotations

import argparse

from ackgap import __version__
from ackgap.cli.ci_arguments import add_badge, add_diff, add_github
from ackgap.cli.selfcheck_arguments import add_selfcheck

__all__ = ["make_parser"]


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line; `command_function` names what runs a command."""
    parser = argparse.ArgumentParser(
        prog="ackgap",
        description="Kills an agent's worker at every point where the outside world or its own durable state changes, "
        "brings it back, and counts what the outside world saw.",
        epilog="exit status: 0 nothing red or inconclusive; 1 red; 2 your mistake; 3 inconclusive, or ackgap failed",
    )
    parser.add_argument("--version", action="version", version=f"ackgap {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_run(commands)
    _add_search(commands)
    _add_replay(commands)
    _add_show(commands)
    report = commands.add_parser("report", help="rebuild the reports of a run from its results alone")
    report.add_argument("directory", metavar="DIR", help="what `ackgap run` wrote")
    report.add_argument(
        "--fail-on", metavar="KINDS", default="never", help="what makes the exit status non-zero, as for `run`"
    )
    add_github(report)
    report.set_defaults(command_function="results:report")
    merge = commands.add_parser("merge", help="join the parts of a run that --shard made into one")
    merge.add_argument("directories", metavar="DIR", nargs="+", help="what `ackgap run --shard` wrote, one a part")
    merge.add_argument("--out", metavar="DIR", required=True, help="where the whole goes")
    merge.add_argument("--fail-on", metavar="KINDS", default="red,inconclusive", help="as for `run`")
    add_github(merge)
    merge.set_defaults(command_function="results:merge")
    add_diff(commands)
    add_badge(commands)
    listing = commands.add_parser("list", help="list the scenarios that ship with ackgap, or the axes of one")
    listing.add_argument("scenario", metavar="SCENARIO", nargs="?", help="a scenario's path or name: show its axes")
    listing.set_defaults(command_function="listing:scenarios")
    _add_init(commands)
    _add_doctor(commands)
    add_selfcheck(commands)
    _add_targets(commands)
    _add_serve(commands)
    _add_mcp(commands)
    return parser


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run",
        help="run a scenario, or any worker with --worker",
        description="Probe the worker undisturbed, then kill it at every point found, and judge each run.",
        epilog="example: ackgap run --worker 'python agent.py' --target tickets=any --env TICKETS_URL={tickets.url}",
    )
    run.add_argument("scenario", metavar="SCENARIO", nargs="?", help="path of a scenario, or name of a shipped one")
    _add_part(run)
    fakes = run.add_argument_group("the fake services")
    fakes.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME.SETTING=VALUE",
        help="a setting of a fake service: JSON or text, or @FILE for a file of JSON",
    )
    _add_how(run)
    _add_worker(run)
    run.set_defaults(command_function="run:run")


def _add_part(run: argparse.ArgumentParser) -> None:
    part = run.add_argument_group("which part of the matrix")
    part.add_argument("--only", action="append", default=[], metavar="AXIS=VALUE", help="only these values of an axis")
    part.add_argument("--point", action="append", default=[], metavar="GLOB", help="only crash points like 'tickets.*'")
    part.add_argument(
        "--schedule",
        action="append",
        default=[],
        metavar="TEXT",
        help="these faults alone, or beside what --point and --fault choose: 'pause@tickets.create#1:sending'",
    )
    part.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="TEXT",
        help="what is done at every point: kill (default), 'kill,down=72h', pause, lose, reset, 'fail,status=503', "
        "'slow,for=30s', twice",
    )
    part.add_argument("--slice", metavar="NAME", help="a part that the scenario names")
    part.add_argument(
        "--depth",
        type=int,
        choices=(1, 2, 3),
        metavar="N",
        help="kill recoveries as well, at the points that they pass: up to N lives of a run (default: 1)",
    )
    part.add_argument(
        "--orders",
        action="store_true",
        help="let durable writes that run beside each other land in the other order too",
    )
    part.add_argument(
        "--unsettled",
        type=_positive,
        default=0,
        metavar="N",
        help="kill at every point also without waiting for writes in flight, in N runs, and report a rate",
    )
    part.add_argument(
        "--prune",
        action="store_true",
        help="of points with the same crash state run one, and check a sample of the others",
    )


def _add_how(run: argparse.ArgumentParser) -> None:
    how = run.add_argument_group("how")
    how.add_argument("--jobs", type=_positive, metavar="N", help="cells at a time (default: one for each core)")
    how.add_argument("--out", metavar="DIR", help="where results go (default: reports/<scenario>)")
    how.add_argument(
        "--network",
        choices=("auto", "isolated", "host"),
        help="a network of their own for the workers, where the system allows it (default: auto)",
    )
    how.add_argument(
        "--fail-on",
        metavar="KINDS",
        help="what makes the exit status non-zero: verdicts, or red, amber, inconclusive, never "
        "(default: red,inconclusive)",
    )
    how.add_argument(
        "--warm",
        action=argparse.BooleanOptionalAction,
        help="fork Python workers from a parent that has imported their installed modules once; several times faster",
    )
    how.add_argument(
        "--copies",
        action=argparse.BooleanOptionalAction,
        help="begin recoveries with copies of one undisturbed run, where that is possible; a sample is killed really",
    )
    how.add_argument(
        "--engine-defaults", action="store_true", help="shorten nothing of what an engine of [engine] waits for"
    )
    how.add_argument("--resume", action="store_true", help="go on with the run that --out holds, if it was interrupted")
    how.add_argument(
        "--shard", metavar="PART/PARTS", default="", help="run one part, such as 2/8; `ackgap merge` joins the parts"
    )
    how.add_argument(
        "--dask", metavar="ADDRESS", default="", help="run in parts on the workers of a Dask cluster, and merge them"
    )
    how.add_argument("--quiet", action="store_true", help="no progress, only the matrix")
    how.add_argument("--expected", metavar="FILE", help="exit 0 if and only if the verdicts equal those in FILE")
    how.add_argument("--write-expected", metavar="FILE", help="write the verdicts to FILE")
    add_github(how)


def _add_worker(run: argparse.ArgumentParser) -> None:
    real = run.add_argument_group("in front of a real service")
    real.add_argument(
        "--upstream",
        action="append",
        default=[],
        metavar="NAME=URL",
        help="hand a target's requests on to a staging or sandbox service, in every cell",
    )
    real.add_argument("--record", metavar="PATH", help="record its answers: a new .jsonl file, or a directory")
    real.add_argument(
        "--replay", action="append", default=[], metavar="NAME=FILE", help="answer from a recording, and send nothing"
    )
    real.add_argument("--allow-host", action="append", default=[], metavar="HOST", help="may be reached for real")
    worker = run.add_argument_group("any worker, no scenario file")
    worker.add_argument("--worker", metavar="COMMAND", help="the command that starts it, in a copy of this directory")
    worker.add_argument(
        "--target", action="append", default=[], metavar="NAME=PROFILE", help="a fake service (see `ackgap targets`)"
    )
    worker.add_argument(
        "--protection",
        action="append",
        default=[],
        metavar="NAME=PROTECTION",
        help="how a fake service treats repeats (see `ackgap targets PROFILE`)",
    )
    worker.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST=NAME",
        help="a fake service stands for this host, for workers that cannot be told an address: api.stripe.com=stripe",
    )
    worker.add_argument(
        "--toxic",
        action="append",
        default=[],
        metavar="NAME=TARGET:TYPE",
        help="a fault of the network for --fault and --schedule: 'cut=tickets:limit_data,bytes=0'",
    )
    worker.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="for the worker; {NAME.url} is a target's address",
    )
    worker.add_argument(
        "--injector",
        choices=("auto", "python", "preload", "trace", "wire"),
        help="what looks into the worker beside the services (default: auto, what sees most of its program here)",
    )
    worker.add_argument("--resume-command", metavar="COMMAND", help="the command of later lives (default: the same)")
    worker.add_argument("--state", action="append", default=[], metavar="PATH", help="durable state of the worker")
    worker.add_argument("--reset", metavar="COMMAND", help="resets state that ackgap cannot see, before every cell")
    worker.add_argument("--finished-when", metavar="COMMAND", help="exits 0 once the work is finished")
    worker.add_argument("--in-doubt-when", metavar="REGEX", help="what the worker prints when it asks a human")
    worker.add_argument("--read", action="append", default=[], metavar="GLOB", help="operations without an effect")
    worker.add_argument("--expect", action="append", default=[], metavar="OPERATION=N", help="effects of an operation")
    worker.add_argument("--life", type=float, metavar="SECONDS", help="how long one life may take (default: 60)")


def _add_search(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    search = commands.add_parser(
        "search",
        help="draw schedules of several faults until one is red, and make it as small as it gets",
        description="Draw schedules of several faults, run them until one is red, find the smallest that does the "
        "same, and say which parts of it do not matter.",
    )
    search.add_argument("scenario", metavar="SCENARIO", help="path of a scenario, or name of a shipped one")
    search.add_argument("--only", action="append", default=[], metavar="AXIS=VALUE", help="only these values")
    search.add_argument(
        "--seed", type=_not_negative, default=0, metavar="N", help="another seed, another search (default: 0)"
    )
    search.add_argument(
        "--examples", type=_positive, default=100, metavar="N", help="schedules for each variant (default: 100)"
    )
    search.add_argument(
        "--shrinks", type=_positive, default=100, metavar="N", help="more, to find a smaller one (default: 100)"
    )
    search.add_argument("--max-faults", type=_positive, default=3, metavar="N", help="of one schedule (default: 3)")
    search.add_argument("--kinds", metavar="KIND,...", help="what may be done: kill,pause,lose")
    search.add_argument(
        "--fault", action="append", default=[], metavar="TEXT", help="may be done as well: 'kill,down=72h'"
    )
    search.add_argument("--out", metavar="DIR", help="where results go (default: reports/<scenario>-search)")
    search.add_argument("--network", choices=("auto", "isolated", "host"), help="as for `run`")
    search.add_argument("--quiet", action="store_true", help="no progress")
    search.set_defaults(command_function="search:search")


def _add_replay(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    replay = commands.add_parser("replay", help="run one cell of a run again, and show what happens as it happens")
    replay.add_argument("directory", metavar="DIR", help="what `ackgap run` wrote")
    replay.add_argument("cell", metavar="CELL", help="its name, such as 'tickets.create#1:returned@default'")
    replay.add_argument("--network", choices=("auto", "isolated", "host"), help="as for `run`")
    replay.set_defaults(command_function="replay:replay")


def _add_show(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    show = commands.add_parser("show", help="the matrix of a run, also while it goes on; or all about one cell of it")
    show.add_argument("directory", metavar="DIR", help="what `ackgap run` wrote, or is writing")
    show.add_argument("cell", metavar="CELL", nargs="?", help="its name, the beginning of it, or a glob: '*:returned'")
    show.set_defaults(command_function="show:show")
    trace = commands.add_parser("trace", help="what happened in one cell, step by step, from what a run has kept")
    trace.add_argument(
        "directory", metavar="DIR", nargs="?", help="what `ackgap run` wrote (default: the newest with such a cell)"
    )
    trace.add_argument("cell", metavar="CELL", help="its name, the beginning of it, or a glob: '*:returned'")
    trace.add_argument("--json", action="store_true", help="every event as a line of JSON")
    trace.set_defaults(command_function="trace:trace")


def _add_init(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    init = commands.add_parser(
        "init",
        help="look at your project, and write a first scenario and a first test for it",
        description="Read a project's sources without running them, and write a scenario.toml with the reason for each "
        "line and a first pytest test. Says what was found, what is a guess, and what could not be known.",
        epilog="example: ackgap init --worker 'python agent.py'",
    )
    init.add_argument("directory", metavar="DIR", nargs="?", default=".", help="the project (default: this directory)")
    init.add_argument("--worker", metavar="COMMAND", help="the command that starts the worker, if it is not found")
    init.add_argument("--force", action="store_true", help="replace a scenario and a test that are there")
    init.add_argument("--dry-run", action="store_true", help="only say what was found, write nothing")
    init.add_argument("--stdout", action="store_true", help="print the scenario, write nothing")
    init.set_defaults(command_function="init:init")


def _add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="say what this machine has of what ackgap can use, and how to get the rest",
        description="Look at system, kernel, disk, interpreters, servers, tools and engines; nothing is left running. "
        "The exit status is 0 unless something is missing that nothing works without.",
    )
    doctor.add_argument("--python", metavar="PATH", help="the interpreter whose engines are listed (default: this one)")
    doctor.add_argument("--json", action="store_true", help="as one JSON document")
    doctor.set_defaults(command_function="doctor:doctor")


def _add_targets(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    targets = commands.add_parser("targets", help="list the fake services, or explain one")
    targets.add_argument("name", metavar="NAME", nargs="?", help="a profile's name, or the path of a profile")
    what = targets.add_mutually_exclusive_group()
    what.add_argument("--toml", action="store_true", help="print the file of the profile, to begin one of your own")
    what.add_argument("--check", metavar="FILE", help="only say whether a profile of your own can be read")
    targets.set_defaults(command_function="listing:targets")


def _add_serve(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = commands.add_parser(
        "serve",
        help="serve fake services alone, with a live view of what they count",
        description="Serve fake services until Ctrl-C, for developing an agent, and show every attempt and effect.",
        epilog="example: ackgap serve stripe=4242 desk:./desk.toml --protection desk=idempotency-key --clock +72h",
    )
    serve.add_argument(
        "profile",
        metavar="[NAME:]PROFILE[=PORT]",
        nargs="+",
        help="a profile's name or path; on a free port unless one is given",
    )
    serve.add_argument(
        "--protection",
        action="append",
        default=[],
        metavar="NAME=PROTECTION",
        help="how a service treats repeats (see `ackgap targets PROFILE`); the name may be left out if there is one",
    )
    serve.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME.SETTING=VALUE",
        help="a setting of the profile: JSON or text, or @FILE for a file of JSON",
    )
    serve.add_argument("--read", action="append", default=[], metavar="GLOB", help="operations without an effect")
    serve.add_argument("--clock", metavar="DURATION", default="0", help="how far their clock is ahead: +72h")
    serve.add_argument("--drift", type=_not_negative, metavar="N", default=0, help="another wording of scripted models")
    serve.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="to listen on (default: 127.0.0.1)")
    serve.add_argument(
        "--control", type=_port, metavar="PORT", default=0, help="of the control endpoint (default: a free one)"
    )
    serve.add_argument("--json", action="store_true", help="events as lines of JSON")
    serve.set_defaults(command_function="serve:serve")


def _add_mcp(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    mcp = commands.add_parser(
        "mcp",
        help="a fake service's tools over standard input and output: the MCP server that an agent starts",
        epilog='example: "mcpServers": {"desk": {"command": "ackgap", "args": ["mcp", "DESK_MCP"]}}',
    )
    mcp.add_argument("address", metavar="URL", help="of the service's /mcp, or the name of a variable that holds it")
    mcp.set_defaults(command_function="mcp:mcp")


def _not_negative(text: str) -> int:
    return _whole_number(text, least=0)


def _port(text: str) -> int:
    return _whole_number(text, least=0, most=65535)


def _positive(text: str) -> int:
    return _whole_number(text, least=1)


def _whole_number(text: str, *, least: int, most: int | None = None) -> int:
    """Return the number.

    Raises:
        ArgumentTypeError: It is none, or out of range. (For a ValueError argparse would print the name of a function.)
    """
    allowed = f"at least {least}" if most is None else f"{least} to {most}"
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number; write one, {allowed}") from None
    if number < least or (most is not None and number > most):
        raise argparse.ArgumentTypeError(allowed)
    return number
