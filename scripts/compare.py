"""Measures memory servers side by side, over MCP: what a write costs, whether a contradiction is noticed, what a question finds.

    python3 scripts/compare.py ergo=target/release/ergo memory=FOLDER basic-memory=FOLDER

`memory` is a folder where `npm install @modelcontextprotocol/server-memory` was run, `basic-memory` a virtual environment with
`pip install basic-memory`. Each server gets an empty home, no `ERGO_*` variable of the caller's, and the same statements in the same order,
one at a time. `--claims` is the number of statements written for the times (default 200). docs/comparison.md shows the result.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

# Decisions, each with its reason, what somebody writes later, and a question in other words. The later statement cannot hold beside the first.
PAIRS = [
    ("Sessions are stored in Redis.", "Postgres was too slow for them.", "Sessions are not stored in Redis.", "where do we keep sessions?"),
    ("The API answers in JSON only.", "Two formats doubled the tests.", "The API answers in XML only.", "which format does the API answer in?"),
    ("Deploys run only on green CI.", "A red deploy cost us a Friday.", "Deploys run on red CI.", "may we deploy when the build is red?"),
    ("Uploads are limited to 10 MB.", "Larger ones filled the disk.", "Uploads are limited to 50 MB.", "how large may an upload be?"),
    ("Use PostgreSQL for the billing database.", "The team knows it.", "Do not use PostgreSQL for the billing database.", "which database does billing use?"),
    ("Passwords must be hashed with argon2.", "An audit asked for it.", "Passwords must be hashed with bcrypt.", "how are passwords hashed?"),
    ("Feature flags are removed within 30 days.", "Old flags hid a bug.", "Feature flags are removed within 180 days.", "when do we remove feature flags?"),
    ("The mobile app must work offline.", "Drivers lose signal.", "The mobile app must not work offline.", "does the app need a connection?"),
    ("Never log email addresses.", "The privacy review forbids it.", "Log email addresses.", "may an address appear in the log?"),
    ("Errors are reported to Sentry.", "Support reads them there.", "Errors are never reported to Sentry.", "where do errors go?"),
    ("Prefer composition over inheritance in the UI.", "Deep trees were hard to test.", "Prefer inheritance over composition in the UI.", "how do we share code between UI parts?"),
    ("Dates are stored in UTC.", "Summer time broke the reports.", "Dates are stored in local time.", "which time zone do we store?"),
    ("Retries are limited to 3.", "More of them overloaded the partner.", "Retries are limited to 8.", "how often do we retry?"),
    ("All services are written in Go.", "One toolchain is enough.", "New services are written in Rust.", "which language for a new service?"),
    ("Reviews need two approvals.", "One person missed a leak.", "Reviews need one approval.", "how many people approve a change?"),
    ("The main branch is always deployable.", "Hotfixes start there.", "The main branch may be broken for days.", "can we release main at any time?"),
    ("Customer data stays in the EU.", "The contract says so.", "Customer data is replicated to the US.", "where may customer data live?"),
    ("Background jobs must be idempotent.", "The queue delivers twice.", "Background jobs need not be idempotent.", "can a job run twice?"),
    ("Secrets are read from Vault.", "Files leaked into an image.", "Secrets are read from files in the image.", "where do secrets come from?"),
    ("Use tabs for indentation.", "Screen readers cope better.", "Use spaces for indentation.", "tabs or spaces?"),
]
# Two statements about neighbouring things that both hold: a server that objects to these raises false alarms.
HARMLESS = [
    ("Bun runs the tests.", "Node runs the server."),
    ("The login rate limit is 5 a minute.", "The search rate limit is 60 a minute."),
    ("Staging uses SQLite.", "Production uses MySQL."),
    ("Invoices are sent on the first day of the month.", "Reminders are sent on the tenth day of the month."),
    ("The admin pages are rendered on the server.", "The shop pages are rendered in the browser."),
    ("Images are stored in S3.", "Videos are stored in a CDN."),
    ("Unit tests may use fakes.", "Load tests must use the real queue."),
    ("The iOS app supports version 16 and newer.", "The Android app supports version 10 and newer."),
    ("Emails are sent by Postmark.", "Text messages are sent by Twilio."),
    ("Designers review the landing page.", "Lawyers review the terms of service."),
]
SUBJECTS = "search billing login export import checkout profile report mail cache queue gateway".split()
WORDS = "timeouts retries headers labels colours fonts indexes backups metrics alerts quotas limits".split()


def statements(number):
    """Related statements of one project, no two of which are about the same thing."""
    for at in range(number):
        subject, word = SUBJECTS[at % len(SUBJECTS)], WORDS[at // len(SUBJECTS) % len(WORDS)]
        yield f"The {subject} service of group {at} documents its {word} in chapter {at % 97}."


def environment(own):
    """The caller's variables without `ERGO_*`, which may name another daemon, and a server's own ones."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("ERGO_")}, **own}


class Server:
    """A memory server behind MCP over stdin and stdout. As a context, it ends with the block, also after an error."""

    def __init__(self, command, env):
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, env=environment(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.next = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def open(self):
        client = {"name": "compare", "version": "1"}
        self.call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.start = time.perf_counter() - self.started
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def call(self, method, **params):
        self.next += 1
        self.send({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"the server ended during {method}")
            answer = json.loads(line)
            if answer.get("id") == self.next and "method" not in answer:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def tool(self, name, **arguments):
        """Calls a tool; returns its text."""
        result = self.call("tools/call", name=name, arguments=arguments)
        return "\n".join(part.get("text", "") for part in result["content"])

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it ended before
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Ergo(Server):
    title = "ergo"

    def __init__(self, where, home):
        self.program, self.env = os.path.abspath(where), {"ERGO_HOME": home}
        with open(os.path.join(home, "config.toml"), "w") as config:
            config.write("[daemon]\ntcp = false\n")
        super().__init__([self.program, "mcp", "--scope", "compare/shop"], self.env)

    def write(self, statement, reason):
        answer = self.tool("ergo_remember", statement=statement, reason=reason)
        data = json.loads(answer)
        if data["result"] == "consider":
            # The harness answers no question: the write is stored as if nobody had answered.
            self.tool("ergo_judge", token=data["token"], unanswered=True)
        return answer

    def says(self, answer):
        data = json.loads(answer)
        if data["result"] == "conflict":
            return "refused"
        if data["result"] == "consider":
            return "asked"
        return "warned" if data.get("warnings") or data.get("doubts") else ""

    def ask(self, question):
        answer = json.loads(self.tool("ergo_why", question=question))
        first = answer.get("answer") or {}
        return json.dumps([first.get("statement"), first.get("reason")])

    def close(self):
        super().close()
        subprocess.run([self.program, "daemon", "stop"], env=environment(self.env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Memory(Server):
    title = "MCP memory server"

    def __init__(self, where, home):
        path = os.path.join(where, "node_modules/@modelcontextprotocol/server-memory/dist/index.js")
        super().__init__(["node", path], {"MEMORY_FILE_PATH": os.path.join(home, "memory.jsonl")})
        self.number = 0

    def write(self, statement, reason):
        self.number += 1
        observations = [statement] + ([f"because: {reason}"] if reason else [])
        entity = {"name": f"decision {self.number}", "entityType": "decision", "observations": observations}
        return self.tool("create_entities", entities=[entity])

    def ask(self, question):
        # It looks for the query as a part of the text, so a question is asked word by word, the longest first, as an agent would retry.
        for word in sorted(question.strip("?").split(), key=len, reverse=True)[:3]:
            found = json.loads(self.tool("search_nodes", query=word))["entities"]
            if found:
                return json.dumps(found[0]["observations"])
        return ""

    def says(self, answer):
        return ""


class BasicMemory(Server):
    title = "basic-memory"

    def __init__(self, where, home):
        env = {
            "HOME": home, "BASIC_MEMORY_HOME": os.path.join(home, "notes"), "BASIC_MEMORY_CONFIG_DIR": os.path.join(home, "config"),
            # Its model for semantic search would be downloaded; without it the search is by words.
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false", "BASIC_MEMORY_AUTO_UPDATE": "false",
        }
        super().__init__([os.path.join(where, "bin/basic-memory"), "mcp"], env)
        self.number = 0

    def write(self, statement, reason):
        self.number += 1
        content = f"- [decision] {statement}\n" + (f"- [reason] {reason}\n" if reason else "")
        return self.tool("write_note", title=f"Decision {self.number}", directory="decisions", content=content)

    def says(self, answer):
        return "error" if "error" in answer.lower() else ""

    def ask(self, question):
        words = [word for word in question.strip("?").split() if len(word) > 3]
        for query in [" ".join(words), " OR ".join(words)]:
            text = self.tool("search_notes", query=query, page_size=1, output_format="json")
            found = json.loads(text)
            found = found.get("results", found.get("result", {}).get("results", []) if isinstance(found.get("result"), dict) else [])
            if found:
                return json.dumps(found[0])
        return ""


KINDS = {"ergo": Ergo, "memory": Memory, "basic-memory": BasicMemory}


def quantile(times, percent):
    """The quantile by nearest rank, as `ergo-bench` computes it."""
    return sorted(times)[math.ceil(len(times) * percent / 100) - 1]


def milliseconds(times):
    return f"{quantile(times, 50) * 1000:.1f} / {quantile(times, 95) * 1000:.1f}"


def timed(function, *arguments):
    before = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - before, result


def measure(kind, where, claims):
    with tempfile.TemporaryDirectory() as home:
        with KINDS[kind](where, home) as server:
            server.open()
            size = len(json.dumps(server.call("tools/list")["tools"]))
            writes = [timed(server.write, text, "Agreed by the team.")[0] for text in statements(claims)]
            for old, reason, _, _ in PAIRS:
                server.write(old, reason)
            asked = [(timed(server.ask, question), old, reason) for old, reason, _, question in PAIRS]
            found = sum(old in answer for (_, answer), old, _ in asked)
            reasons = sum(old in answer and reason in answer for (_, answer), old, reason in asked)
            said = [server.says(server.write(new, "It is simpler.")) for _, _, new, _ in PAIRS]
            alarms = []
            for first, second in HARMLESS:
                server.write(first, "Agreed by the team.")
                alarms.append(server.says(server.write(second, "Agreed by the team.")))
            start = server.start
    count = lambda answers: ", ".join(f"{answers.count(word)} {word}" for word in ("refused", "asked", "warned", "error") if word in answers) or "0"
    rows = [
        ("start of the server, ms", f"{start * 1000:.0f}"),
        (f"write, p50 / p95 ms ({claims} statements)", milliseconds(writes)),
        ("question, p50 / p95 ms", milliseconds([time for (time, _), _, _ in asked])),
        (f"right decision first, of {len(PAIRS)} questions", str(found)),
        ("its reason in the answer", str(reasons)),
        (f"contradictions noticed, of {len(PAIRS)}", count(said)),
        (f"compatible statements flagged (false alarms), of {len(HARMLESS)}", count(alarms)),
        ("description of all tools, characters", str(size)),
    ]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="KIND=WHERE", help="ergo, memory or basic-memory, and where it is")
    parser.add_argument("--claims", type=int, default=200)
    args = parser.parse_args()
    columns = []
    for server in args.servers:
        kind, _, where = server.partition("=")
        if kind not in KINDS or not where:
            parser.error(f"unknown server “{server}” (expected KIND=WHERE with one of {', '.join(KINDS)})")
        columns.append((KINDS[kind].title, measure(kind, where, args.claims)))
    print("| | " + " | ".join(title for title, _ in columns) + " |")
    print("|---|" + "---:|" * len(columns))
    for at, (name, _) in enumerate(columns[0][1]):
        print(f"| {name} | " + " | ".join(rows[at][1] for _, rows in columns) + " |")


if __name__ == "__main__":
    main()
