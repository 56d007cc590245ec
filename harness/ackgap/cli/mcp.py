"""`ackgap mcp`: a target's tools over standard input and output, for agents that start their MCP servers themselves."""

from __future__ import annotations

import argparse
import os
import sys

from ackgap.errors import UsageInvalid
from ackgap.worker.mcp_bridge import Bridge, address_of

__all__ = ["mcp"]


def mcp(options: argparse.Namespace) -> int:
    """Serve until standard input is closed, and return 0.

    Raises:
        UsageInvalid: There is no address.
    """
    try:
        url = address_of(options.address, os.environ)
    except LookupError as error:
        raise UsageInvalid(
            f"{error.args[0]}.",
            where="URL",
            next_step="Give what {NAME.mcp} of a scenario stands for, or what `ackgap serve` shows, with /mcp behind.",
        ) from None
    Bridge(url, sys.stdin.buffer, sys.stdout.buffer).serve()
    return 0
