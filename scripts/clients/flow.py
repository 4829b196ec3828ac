"""The official Python client against `ergo mcp`: lists the tools, and runs remember, conflict, supersede, why, and the verdicts on doubtful writes."""

import asyncio
import json
import os
import subprocess
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

OLD = "Use PostgreSQL for the billing database."
NEW = "Do not use PostgreSQL for the billing database."
FIRST = "The weekly report goes to the finance team first"
SECOND = "The weekly report goes to the finance team as a draft"


async def call(session, name, **arguments):
    result = await session.call_tool(name, arguments)
    data = result.model_dump(by_alias=True)
    assert not data.get("isError"), data
    text = json.loads(result.content[0].text)
    assert text == data["structuredContent"], "text and structure differ"
    return text


async def main(program):
    server = StdioServerParameters(command=program, args=["mcp", "--scope", "test/python"], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        # The client's classes name their fields in one way or the other, by its version.
        version = getattr(hello, "protocolVersion", None) or hello.protocol_version
        tools = (await session.list_tools()).tools
        assert len(tools) == 12, [tool.name for tool in tools]
        stored = await call(session, "ergo_remember", statement=OLD, reason="We know it.")
        assert stored["result"] == "stored", stored
        refused = await call(session, "ergo_remember", statement=NEW, reason="Cost.")
        assert refused["result"] == "conflict", refused
        targets = next(way["targets"] for way in refused["ways_to_continue"] if way["way"] == "supersede")
        replaced = await call(session, "ergo_supersede", targets=targets, statement=NEW, reason="The contract changed.")
        assert replaced["superseded"] == [stored["claim_id"]], replaced
        why = await call(session, "ergo_why", question="Which database for billing?")
        assert why["replaced"][0]["replaced_because"] == "The contract changed.", why
        taken = await call(session, "ergo_ingest", path="README.md")
        assert taken["chunks"] > 0, taken
        page = (await session.read_resource("ergo://snapshot")).contents[0].text
        assert NEW in page and OLD not in page, page
        print(f"Python client: protocol {version}, {len(tools)} tools, remember, conflict, supersede, why, ingest, snapshot")


async def doubts(program):
    """A doubtful write, each of the four verdicts, an end without an answer, and a client that lends its model."""
    home = os.environ["ERGO_HOME"] + "-doubts"
    os.makedirs(home, mode=0o700)
    with open(os.path.join(home, "config.toml"), "w") as config:
        # By words alone, the gate has these two in doubt on every machine.
        config.write('[daemon]\ntcp = false\n[models]\nnli = "none"\nembedder = "none"\n')
    env = dict(os.environ, ERGO_HOME=home)

    def ergo(*args):
        return subprocess.run([program, *args], env=env, check=True, capture_output=True, text=True).stdout

    def server(scope):
        return StdioServerParameters(command=program, args=["mcp", "--scope", f"test/{scope}"], env=env)

    async def asked(session):
        old = (await call(session, "ergo_remember", statement=FIRST, reason="They plan by it."))["claim_id"]
        question = await call(session, "ergo_remember", statement=SECOND, reason="They asked for it.")
        return old, question

    try:
        for verdict, result in [("compatible", "stored"), ("same", "stored"), ("replaces", "stored"), ("contradicts", "conflict")]:
            async with stdio_client(server(verdict)) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                old, question = await asked(session)
                assert question["result"] == "consider" and question["doubts"][0]["id"] == old, question
                answer = dict(token=question["token"], verdicts={old: verdict}, because="Read both.")
                done = await call(session, "ergo_judge", **answer)
                assert done["result"] == result, done
                assert done.get("duplicate", False) == (verdict == "same"), done
                assert done.get("superseded", []) == ([old] if verdict == "replaces" else []), done
                cards = await call(session, "ergo_conflicts")
                assert cards["total"] == (1 if verdict == "contradicts" else 0), cards
            log = json.loads(ergo("log", "--json", "--scope", f"test/{verdict}"))["items"]
            assert any(event["kind"] == f"judgement.{verdict}" for event in log), log

        async def lend(_context, params):
            pair = json.loads(params.messages[0].content.text.splitlines()[0])
            assert (pair["newer"]["statement"], pair["older"]["statement"]) == (SECOND, FIRST), pair
            text = '[{"pair": 1, "verdict": "replaces", "because": "a later decision"}]'
            return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text=text), model="lent")

        async with stdio_client(server("lent")) as (read, write), ClientSession(read, write, sampling_callback=lend) as session:
            await session.initialize()
            old, done = await asked(session)
            assert (done["result"], done.get("superseded")) == ("stored", [old]), done

        async with stdio_client(server("unanswered")) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            _, question = await asked(session)
            assert question["result"] == "consider", question
        log = json.loads(ergo("log", "--json", "--scope", "test/unanswered"))["items"]
        assert any(event["kind"] == "local.held" for event in log), log
        print("Python client: consider, compatible, same, replaces, contradicts, sampling, unanswered")
    finally:
        subprocess.run([program, "daemon", "stop"], env=env, check=False, capture_output=True)


asyncio.run(main(sys.argv[1]))
asyncio.run(doubts(sys.argv[1]))
