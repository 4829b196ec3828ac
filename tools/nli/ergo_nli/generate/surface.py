"""Surface forms shared by the generators: components, environments, teams, lead-ins, tails."""

from __future__ import annotations

import random
import re

from ..rows import CONTRADICTION, ENTAILMENT

AREAS = """billing checkout search payment ingest reporting notification inventory shipping profile login catalogue pricing
audit export import messaging scheduling analytics mail upload media review support order fraud ledger invoice booking tenant
admin partner mobile webhook identity session archive telemetry document translation wallet roster survey consent""".split()
KINDS = """service API worker gateway job module pipeline database backend frontend app server client library queue dashboard
SDK CLI cluster plugin scheduler indexer exporter renderer""".split()
NAMED = """the gateway|the API|the scheduler|the web app|the mobile app|the backend|the frontend|the crawler|the CLI|the SDK|the
core library|the proxy|the load balancer|the data warehouse|the parser|the renderer|the public site|the intranet|the sync
engine|the plugin host|the storage layer|the message bus|Atlas|Orion|Hermes|Juniper|our product|the desktop client|the `core`
crate|`auth-server`|the `api` package|`importer`|the `web` workspace|the installer|the editor|the compiler"""
NAMED = [" ".join(n.split()) for n in NAMED.split("|")]
WHOLE = ["the project", "this repository", "the whole company", "our code base", "the organisation", "the platform"]
PLACES = """production|staging|development|the test environment|CI|the sandbox|the demo environment|local development|QA|the EU
region|the US region|eu-west-1|us-east-1|the Berlin office|the Tokyo office|Windows|Linux|macOS|Android|iOS|the free plan|the
enterprise plan|tenant A|tenant B|version 1|version 2|debug builds|release builds|unit tests|integration tests|internal
users|external partners|new projects|legacy projects|the public API|the internal API|scripts|libraries|the old cluster|the new
cluster|generated code|example code|hotfixes|documentation"""
PLACES = [" ".join(p.split()) for p in PLACES.split("|")]
PEOPLE = """the platform team|the data team|the product team|the security team|the mobile team|the SRE team|the infrastructure
team|the design team|the payments team|the QA team|the support team|the ML team|maintainers|contributors|reviewers|
contractors|interns|release managers|AI agents|administrators"""
PEOPLE = [" ".join(p.split()) for p in PEOPLE.split("|")]
MONTHS = "January February March April May June July August September October November December".split()
LEADS = ["We decided: ", "Decision: ", "Rule: ", "Policy: ", "Team rule: ", "As agreed, ", "From now on, ", "We agreed that ",
         "Note that ", "Remember: ", "IMPORTANT: ", "Convention: "]
TAILS = [" This keeps things simple.", " because it is easier to maintain", " to save cost", " as the team agreed",
         " for performance reasons", " since customers asked for it", ", as decided in the last review",
         " so that new people find their way", " to make reviews easier", ", in order to reduce the load",
         " because the old way caused outages", " as it is the standard in the industry"]


def capital(text: str) -> str:
    """First letter in upper case."""
    return text[:1].upper() + text[1:]


def lower(text: str) -> str:
    """First letter in lower case, unless it begins a name, an acronym or code."""
    return text if re.match(r"[A-Z][A-Z0-9]|[A-Z][a-z]+[A-Z]|`|I\b", text) else text[:1].lower() + text[1:]


class Surface:
    """Random choices about how a claim is put into words."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def pick(self, options: list) -> object:
        return self.rng.choice(options)

    def component(self) -> str:
        if self.chance(0.35):
            return self.pick(NAMED)
        return f"the {self.pick(AREAS)} {self.pick(KINDS)}"

    def subject(self) -> str:
        return self.pick(WHOLE) if self.chance(0.15) else self.component()

    def two_components(self) -> tuple[str, str]:
        """Two components that differ, most often in one word only."""
        r = self.rng.random()
        if r < 0.4:
            area, (one, two) = self.pick(AREAS), self.rng.sample(KINDS, 2)
            return f"the {area} {one}", f"the {area} {two}"
        if r < 0.8:
            kind, (one, two) = self.pick(KINDS), self.rng.sample(AREAS, 2)
            return f"the {one} {kind}", f"the {two} {kind}"
        one = two = self.component()
        while two == one:
            two = self.component()
        return one, two

    def fill(self, template: str, component: str) -> str:
        """Puts the component into the slot; one of the sentence's own subject forms."""
        return capital(template.replace("{s}", component))

    def scoped(self, text: str, place: str) -> str:
        """The claim, limited to a place."""
        body = text.rstrip(".")
        return self.pick([
            f"In {place}, {lower(text)}",
            f"{body} in {place}.",
            f"For {place}, {lower(text)}",
            f"For {place}: {lower(text)}",
            f"{body} (only for {place}).",
            f"When it comes to {place}, {lower(text)}",
        ])

    def for_people(self, text: str, people: str) -> str:
        return self.pick([f"For {people}: {lower(text)}", f"For {people}, {lower(text)}", f"{text.rstrip('.')} (applies to {people})."])

    def windows(self) -> tuple[str, str]:
        """Two spans of time without overlap, earlier first."""
        year, month = self.rng.randint(2022, 2029), self.rng.randint(0, 9)
        one, two = f"{MONTHS[month]} {year}", f"{MONTHS[month + 2]} {year}"
        return self.pick([(f"until {one}", f"from {two} on"), (f"before {one}", f"after {two}"), (f"in {year}", f"in {year + 1}"),
                          (f"during {one}", f"during {two}"), (f"up to version {month + 1}", f"as of version {month + 3}")])

    def timed(self, text: str, when: str) -> str:
        return f"{capital(when)}, {lower(text)}" if self.chance(0.6) else f"{text.rstrip('.')} {when}."

    def said(self, text: str) -> str:
        """The claim as somebody may note it: sometimes with a lead-in or a reason."""
        if self.chance(0.15):
            lead = self.pick(LEADS)
            text = lead + (text if lead.endswith(": ") else lower(text))
        if self.chance(0.1):
            tail = self.pick(TAILS)
            text = text + tail if tail.endswith(".") else text.rstrip(".") + tail + "."
        return text

    def row(self, a: str, b: str, y: int, src: str, same: bool | None = None) -> dict:
        """A row with small noise (full stops) in a random order where the label allows it.

        ``same`` says whether both speak of the same decision; contradictions and paraphrases do, of others it is unknown unless given."""
        a, b = (t.rstrip(".") if self.chance(0.15) else t for t in (a, b))
        if self.chance(0.5):
            a, b = b, a
        if same is None and y in (CONTRADICTION, ENTAILMENT):
            same = True
        return {"a": a, "b": b, "y": y, "src": src} | ({} if same is None else {"same": same})
