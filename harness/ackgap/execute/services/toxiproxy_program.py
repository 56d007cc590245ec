"""Where the program of Toxiproxy is: on PATH, kept from before, built with Go, or taken out of a Docker image."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from ackgap.errors import EnvironmentLacks
from ackgap.files import alone, cache_directory

__all__ = ["MODULE", "find_toxiproxy", "obtain_toxiproxy"]

MODULE = "github.com/Shopify/toxiproxy/v2/cmd/server@latest"
_PROGRAM = "toxiproxy-server"
_IMAGES = ("ghcr.io/shopify/toxiproxy", "shopify/toxiproxy")
_IN_IMAGE = ("/toxiproxy", "/go/bin/toxiproxy", "/bin/toxiproxy-server", "/usr/local/bin/toxiproxy-server")
_HOW = f"install Toxiproxy, or Go (ackgap then builds it, once: go install {MODULE}), or pull {_IMAGES[0]}"
_BUILD_LIMIT_S = 600.0
_GO_HOMES = ("/usr/local/go/bin/go", "/usr/lib/go/bin/go", "/opt/homebrew/bin/go")


def find_toxiproxy() -> str:
    """Return the path of the server: that on PATH, else the one that ackgap has built or taken before.

    Raises:
        EnvironmentLacks: There is none yet.
    """
    with contextlib.suppress(EnvironmentLacks):
        kept = _kept()
        if os.access(kept, os.X_OK):
            return shutil.which(_PROGRAM) or str(kept)
    if found := shutil.which(_PROGRAM):
        return found
    raise EnvironmentLacks(
        f"Toxiproxy is not here: there is no `{_PROGRAM}` on PATH",
        where="[toxics]",
        next_step="nothing: ackgap builds it with Go, once it is needed" if _go() is not None else _HOW,
    )


def obtain_toxiproxy() -> str:
    """Return the path of the server; where there is none yet, build it with Go or take it out of a Docker image.

    That is done once, and kept in ackgap's cache.

    Raises:
        EnvironmentLacks: None of that is possible; says what was tried.
    """
    try:
        return find_toxiproxy()
    except EnvironmentLacks as lacking:
        problem = lacking
    tried = []
    kept = _kept()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with alone(kept.with_name("lock")):
        if not os.access(kept, os.X_OK):  # while waiting, another run may have made it
            for way in (_build, _take_from_image):
                if not (why_not := way(kept)):
                    break
                tried.append(why_not)
    if os.access(kept, os.X_OK):
        return str(kept)
    raise EnvironmentLacks(f"{problem.what}; {'; '.join(tried)}", where=problem.where, next_step=_HOW)


def _kept() -> Path:
    return cache_directory() / "toxiproxy" / _PROGRAM


def _go() -> str | None:
    return shutil.which("go") or next((path for path in _GO_HOMES if os.access(path, os.X_OK)), None)


def _build(kept: Path) -> str:
    """Build it with Go; return why that was not possible, empty where it was."""
    go = _go()
    if go is None:
        return "Go is not here either, to build it"
    print(f"building Toxiproxy, once: go install {MODULE}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as directory:
        env = {**os.environ, "GOBIN": directory, "CGO_ENABLED": "0"}
        try:
            done = subprocess.run(
                [go, "install", MODULE],
                cwd=directory,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_BUILD_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"`go install` could not build it: {error}"
        made = Path(directory) / "server"
        if done.returncode != 0 or not made.exists():
            said = (done.stderr or done.stdout).strip().splitlines()
            return f"`go install` could not build it: {said[-1][:300] if said else f'status {done.returncode}'}"
        made.replace(kept)
    return ""


def _take_from_image(kept: Path) -> str:
    """Take it out of an image that Docker has; return why that was not possible, empty where it was.

    It is linked statically, so that it runs outside of its container, in the network of a slot.
    """
    import psutil

    from ackgap.execute.containers.docker import connect, error_text, labels_of

    try:
        api = connect()
    except EnvironmentLacks as error:
        return error.what
    try:
        image = next((found[0]["Id"] for name in _IMAGES if (found := api.images(name=name))), None)
        if image is None:
            return f"Docker has no image {' or '.join(_IMAGES)}"
        # Made and never started; who is killed in between has it removed as all that a dead run leaves.
        labels = labels_of(f"toxiproxy-{os.getpid()}", owner=f"{os.getpid()}:{psutil.Process().create_time()}")
        container = api.create_container(image, command=[_PROGRAM], labels=dict(labels))["Id"]
        try:
            return (
                ""
                if _copy_out(api, container, kept)
                else f"the image {_IMAGES[0]} has no program where it is looked for"
            )
        finally:
            api.remove_container(container, force=True)
    except Exception as error:  # of the package, which brings no types along
        return f"it could not be taken out of an image: {error_text(error)}"
    finally:
        api.close()


def _copy_out(api: Any, container: str, kept: Path) -> bool:
    """Copy the program out of a container; return whether there was one."""
    for path in _IN_IMAGE:
        with contextlib.suppress(Exception):  # it is not there
            pieces, _ = api.get_archive(container, path)
            with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as archive:
                file = archive.extractfile(Path(path).name)
                if file is not None:
                    part = kept.with_name("part")
                    part.write_bytes(file.read())
                    part.chmod(0o755)
                    part.replace(kept)
                    return True
    return False
