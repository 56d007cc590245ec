"""The image of a worker: it is there, or it is built, before anything starts."""

from __future__ import annotations

import hashlib

from ackgap.errors import EnvironmentLacks, ScenarioInvalid
from ackgap.execute.containers.docker import Api, connect, error_text
from ackgap.execute.workspace import content_digest, copied_files
from ackgap.scenario.container import ContainerSpec
from ackgap.target.wire.redaction import tail_of

__all__ = ["identity_of", "image_of", "prepare_image"]

_SAID = 600


def image_of(spec: ContainerSpec) -> str:
    """Return the name of a worker's image; one that is built is named by what it is built from."""
    if spec.build is None:
        return spec.image
    digest = hashlib.blake2b(digest_size=8)
    for name, path in copied_files(spec.build):
        digest.update(name.encode() + b"\0" + content_digest(path))
    return f"ackgap-build:{digest.hexdigest()}"


def identity_of(spec: ContainerSpec) -> str:
    """Return what tells a worker's image from others of its name; empty where the engine has none of that name.

    Raises:
        EnvironmentLacks: No engine answers.
    """
    import docker

    if spec.build is not None:
        return image_of(spec)
    api = connect()
    try:
        return str(api.inspect_image(image_of(spec))["Id"]).removeprefix("sha256:")[:12]
    except docker.errors.APIError:
        return ""
    finally:
        api.close()


def prepare_image(api: Api, spec: ContainerSpec) -> None:
    """Build a worker's image, or see that it is there. Nothing is pulled: that is the user's to decide.

    Raises:
        EnvironmentLacks: There is no such image.
        ScenarioInvalid: It cannot be built, or its name is none that an engine takes.
    """
    import docker

    name = image_of(spec)
    try:
        api.inspect_image(name)
        return
    except docker.errors.ImageNotFound:
        pass
    except docker.errors.APIError as error:
        raise ScenarioInvalid(
            f"the Docker engine takes {name!r} for no name of an image: {error_text(error)}",
            where="worker.image",
            next_step="write it as `docker images` does: lower case, and no blanks, such as 'python:3.12-slim'",
        ) from error
    if spec.build is None:
        raise EnvironmentLacks(
            f"the Docker engine has no image {name!r}",
            where="worker.image",
            next_step=f"docker pull {name}, or build it; ackgap pulls nothing by itself",
        )
    said: list[str] = []
    try:
        for line in api.build(path=str(spec.build), tag=name, rm=True, forcerm=True, decode=True):
            said.append(str(line.get("stream") or line.get("error") or ""))
            if "error" in line:
                raise ScenarioInvalid(
                    f"the image cannot be built: {tail_of(''.join(said).strip(), _SAID)}",
                    where=f"worker.build, {spec.build}",
                    next_step=f"docker build {spec.build}; the image after FROM has to be on this machine",
                )
    except (docker.errors.APIError, docker.errors.BuildError, TypeError) as error:
        raise ScenarioInvalid(
            f"the image cannot be built: {error_text(error)}",
            where=f"worker.build, {spec.build}",
            next_step=f"docker build {spec.build}; the image after FROM has to be on this machine",
        ) from error
