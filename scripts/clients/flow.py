"""The official Python client against `ergo mcp`: lists the tools, and runs remember, conflict, supersede, why."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

OLD = "Use PostgreSQL for the billing database."
NEW = "Do not use PostgreSQL for the billing database."


async def main(program):
    server = StdioServerParameters(command=program, args=["mcp", "--scope", "test/python"], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        # The client's classes name their fields in one way or the other, by its version.
        version = getattr(hello, "protocolVersion", None) or hello.protocol_version
        tools = (await session.list_tools()).tools
        assert len(tools) == 12, [tool.name for tool in tools]

        async def call(name, **arguments):
            result = await session.call_tool(name, arguments)
            data = result.model_dump(by_alias=True)
            assert not data.get("isError"), data
            text = json.loads(result.content[0].text)
            assert text == data["structuredContent"], "text and structure differ"
            return text

        stored = await call("ergo_remember", statement=OLD, reason="We know it.")
        assert stored["result"] == "stored", stored
        refused = await call("ergo_remember", statement=NEW, reason="Cost.")
        assert refused["result"] == "conflict", refused
        targets = next(way["targets"] for way in refused["ways_on"] if way["way"] == "supersede")
        replaced = await call("ergo_supersede", targets=targets, statement=NEW, reason="The contract changed.")
        assert replaced["superseded"] == [stored["claim_id"]], replaced
        why = await call("ergo_why", question="Which database for billing?")
        assert why["replaced"][0]["replaced_because"] == "The contract changed.", why
        taken = await call("ergo_ingest", path="README.md")
        assert taken["pieces"] > 0, taken
        page = (await session.read_resource("ergo://snapshot")).contents[0].text
        assert NEW in page and OLD not in page, page
        print(f"Python client: protocol {version}, {len(tools)} tools, remember, conflict, supersede, why, ingest, snapshot")


asyncio.run(main(sys.argv[1]))
