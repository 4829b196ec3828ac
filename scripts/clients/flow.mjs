// The official TypeScript client against `ergo mcp`: lists the tools, and runs remember, conflict, supersede, why.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const OLD = "Use PostgreSQL for the billing database.";
const NEW = "Do not use PostgreSQL for the billing database.";

const client = new Client({ name: "typescript", version: "1" });
const args = ["mcp", "--scope", "test/typescript"];
await client.connect(new StdioClientTransport({ command: process.argv[2], args, env: process.env }));
const { tools } = await client.listTools();
assert.equal(tools.length, 12);

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, JSON.stringify(result));
  const text = JSON.parse(result.content[0].text);
  assert.deepEqual(text, result.structuredContent);
  return text;
}

const stored = await call("ergo_remember", { statement: OLD, reason: "We know it." });
assert.equal(stored.result, "stored");
const refused = await call("ergo_remember", { statement: NEW, reason: "Cost." });
assert.equal(refused.result, "conflict");
const { targets } = refused.ways_to_continue.find((way) => way.way === "supersede");
const replaced = await call("ergo_supersede", { targets, statement: NEW, reason: "The contract changed." });
assert.deepEqual(replaced.superseded, [stored.claim_id]);
const why = await call("ergo_why", { question: "Which database for billing?" });
assert.equal(why.replaced[0].replaced_because, "The contract changed.");
const resources = await client.listResources();
assert.ok(resources.resources.length >= 1);
await client.close();
console.log(`TypeScript client: ${tools.length} tools, remember, conflict, supersede, why`);
