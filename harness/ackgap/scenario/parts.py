"""From the tables of a `scenario.toml` about processes and services to what they mean."""

from __future__ import annotations

from pathlib import Path

from ackgap.model.gap import KnownGap
from ackgap.model.verdict import VerdictKind
from ackgap.scenario.container import ContainerSpec
from ackgap.scenario.environment import EnvironmentSpec
from ackgap.scenario.hosts import plain_host
from ackgap.scenario.release import ReleaseSpec
from ackgap.scenario.scenario import TargetSpec, WorkerSpec
from ackgap.scenario.schema import (
    ClientFile,
    EnvironmentFile,
    KnownGapFile,
    ReadyFile,
    ReleaseFile,
    ServiceFile,
    TargetFile,
    ToxicFile,
    WorkerFile,
)
from ackgap.scenario.services import ClientSpec, ReadyWhen, ServiceSpec
from ackgap.scenario.toxics import ToxicSpec
from ackgap.scenario.words import with_python

__all__ = ["client_of", "environment_of", "gap_of", "release_of", "service_of", "target_of", "toxic_of", "worker_of"]


def worker_of(written: WorkerFile, folder: Path, *, own_python: bool | None) -> WorkerSpec:
    """Return what `[worker]` says; paths in it are relative to `folder`."""
    container = _container_of(written, folder)

    def command(words: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if words is None else with_python(words, own_python=own_python)

    # What `python` means in a container is the image's business.
    inside = command if container is None else tuple
    return WorkerSpec(
        command=inside(written.command) or (),
        resume_command=inside(written.resume_command) if written.resume_command else None,
        directory=folder / Path(written.directory).expanduser(),
        env=dict(written.env),
        store=tuple(written.store),
        external_state=tuple(folder / Path(path).expanduser() for path in written.external_state),
        reset=command(written.reset),
        finished_when=command(written.finished_when),
        in_doubt_when=written.in_doubt_when,
        allow_hosts=tuple(written.allow_hosts),
        allow_write=tuple(str(Path(path).expanduser()) for path in written.allow_write),
        mask=tuple(written.mask),
        injector=written.injector if written.python_injector or written.injector != "auto" else "wire",
        python_injector=written.python_injector and written.injector in ("auto", "python"),
        sends=written.sends,
        requires=tuple(written.requires),
        requires_hint=written.requires_hint,
        environment=written.environment,
        container=container,
    )


def _container_of(written: WorkerFile, folder: Path) -> ContainerSpec | None:
    if written.image is None and written.build is None:
        return None
    return ContainerSpec(
        image=written.image or "",
        build=None if written.build is None else folder / Path(written.build).expanduser(),
        hostname=written.hostname or "new",
        init=bool(written.init),
        mounts=dict(written.mounts or {}),
    )


def gap_of(written: KnownGapFile) -> KnownGap:
    """Return what a `[[known_gap]]` says."""
    return KnownGap(
        verdict=VerdictKind(written.verdict),
        reason=written.reason,
        owner=written.owner,
        cell=written.cell or "",
        points=written.point,
        only=dict(written.only),
    )


def environment_of(name: str, written: EnvironmentFile, folder: Path) -> EnvironmentSpec:
    """Return what `[environments.NAME]` says; paths in it are relative to `folder`."""
    return EnvironmentSpec(
        name=name,
        about=written.about,
        requirements=tuple(line.strip() for line in written.requirements),
        python=written.python,
        folder=folder,
    )


def release_of(name: str, written: ReleaseFile, folder: Path, *, own_python: bool | None) -> ReleaseSpec:
    """Return what `[releases.NAME]` says; paths in it are relative to `folder`."""
    return ReleaseSpec(
        name=name,
        about=written.about,
        directory=None if written.directory is None else folder / Path(written.directory).expanduser(),
        command=written.command and with_python(written.command, own_python=own_python),
        resume_command=written.resume_command and with_python(written.resume_command, own_python=own_python),
        env=dict(written.env),
        environment=written.environment,
    )


def target_of(name: str, written: TargetFile, folder: Path) -> TargetSpec:
    """Return what `[targets.NAME]` says; paths in it are relative to `folder`."""
    profile = written.profile
    if profile.endswith(".toml"):  # a file of the user's own, beside the scenario
        profile = str(folder / Path(profile).expanduser())
    return TargetSpec(
        name=name,
        profile=profile,
        protection=written.protection,
        reads=tuple(written.reads),
        settings=dict(written.settings),
        hosts=tuple(map(plain_host, written.hosts)),
        upstream=written.upstream,
        upstream_limit_s=written.upstream_limit_s,
        replay=None if written.replay is None else folder / Path(written.replay).expanduser(),
        replay_match=written.replay_match,
    )


def service_of(name: str, written: ServiceFile, folder: Path, *, own_python: bool) -> ServiceSpec:
    """Return what `[services.NAME]` says; paths in it are relative to `folder`."""

    def command(words: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if words is None else with_python(words, own_python=own_python)

    return ServiceSpec(
        name=name,
        kind=written.kind,
        url=written.url,
        wire=written.wire,
        park=tuple(written.park),
        command=command(written.command),
        env=dict(written.env),
        ready=_ready(written.ready_when, own_python=own_python),
        reset=command(written.reset),
        digest=command(written.digest),
        compose=None if written.compose is None else folder / Path(written.compose).expanduser(),
    )


def toxic_of(name: str, written: ToxicFile) -> ToxicSpec:
    """Return what `[toxics.NAME]` says."""
    attributes = written.model_dump(exclude={"link", "type", "stream"}, exclude_none=True)
    return ToxicSpec(name=name, link=written.link, type=written.type, stream=written.stream, attributes=attributes)


def client_of(written: ClientFile, *, own_python: bool | None) -> ClientSpec:
    """Return what `[client]` says."""
    return ClientSpec(
        command=with_python(written.command, own_python=own_python),
        env=dict(written.env),
        ready=None if written.ready_when is None else _ready(written.ready_when, own_python=own_python),
        grace_s=written.grace_s,
    )


def _ready(written: ReadyFile, *, own_python: bool | None) -> ReadyWhen:
    return ReadyWhen(
        port=written.command is None and written.log is None,
        command=None if written.command is None else with_python(written.command, own_python=own_python),
        log=written.log,
        limit_s=written.limit_s,
    )
