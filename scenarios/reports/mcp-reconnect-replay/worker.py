"""A back-office agent whose tools are those of an MCP server; a connection that is lost is made anew.

Settings, all from the environment:
    DESK_MCP   address of the server
    REPLAY     all | safe: which calls are made again over the new connection
"""

import asyncio
import os
import sys

import httpx2
from mcp import Client

TICKET = {"partner_id": "4471", "kind": "change-of-address", "title": "Aurelia Trade Finance has moved"}


class OutcomeUnknown(Exception):
    """A call was sent, the connection ended, and nobody has heard what became of it."""


class ToolHost:
    """Calls tools of a server, over a connection for each call.

    Args:
        url: Address of the server.
        replays_all: Make any call again over a new connection; else only those of tools that change nothing.
    """

    def __init__(self, url: str, *, replays_all: bool) -> None:
        self._url = url
        self._replays_all = replays_all
        self._safe: set[str] = set()

    async def call(self, tool: str, arguments: dict) -> dict:
        """Call a tool and return what it answers."""
        try:
            return await self._call_once(tool, arguments)
        except ExceptionGroup as group:
            # The transport of mcp 2 ends with its connection, and takes everything inside of `async with` along.
            if group.split(httpx2.TransportError)[1] is not None:
                raise
            print(f"{tool}: {group.exceptions[0]}", file=sys.stderr)
            if not (self._replays_all or tool in self._safe):
                raise OutcomeUnknown(tool) from group
        return await self._call_once(tool, arguments)

    async def _call_once(self, tool: str, arguments: dict) -> dict:
        async with Client(self._url) as client:
            for offered in (await client.list_tools()).tools:
                said = offered.annotations
                if said is not None and (said.read_only_hint or said.idempotent_hint):
                    self._safe.add(offered.name)
            answer = await client.call_tool(tool, arguments)
        if answer.is_error:
            raise RuntimeError(f"{tool}: {answer.content}")
        return answer.structured_content


async def file_ticket(host: ToolHost) -> str:
    try:
        return (await host.call("create", TICKET))["id"]
    except OutcomeUnknown:
        filed = await host.call("find", {name: TICKET[name] for name in ("partner_id", "kind")})
        if filed["items"]:
            return filed["items"][0]["id"]
        return (await host.call("create", TICKET))["id"]


async def main() -> None:
    host = ToolHost(os.environ["DESK_MCP"], replays_all=os.environ.get("REPLAY") == "all")
    print(f"filed as {await file_ticket(host)}")


if __name__ == "__main__":
    asyncio.run(main())
