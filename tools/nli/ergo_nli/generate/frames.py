"""Rows from frames: numbers with units, limits, choices of a tool, versions, styles, opposed properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..rows import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_CONTRADICTION
from .deeds import deeds
from .surface import MONTHS, PEOPLE, PLACES, Surface, capital
from .vocabulary import (
    ABOUT_TOOL,
    CHOICES,
    COUNTED,
    OPPOSED,
    PERIODS,
    QUALITIES,
    QUANTITIES,
    RIGHTS,
    STYLES,
    TASKS,
    THINGS,
    VERSIONED,
    WORDS,
)

DURATIONS = [5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1200, 1800, 2700, 3600, 7200, 10800, 14400, 21600, 43200,
             86400, 172800, 259200, 604800, 1209600, 2592000, 7776000]
SIZES = [1, 2, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 256, 512, 1024, 2048, 4096, 8192, 16384]
COUNTS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 25, 30, 32, 40, 48, 50, 60, 64, 72, 80, 90, 100, 120, 128, 150, 200, 250,
          256, 300, 400, 500, 512, 1000, 1500, 2000, 5000, 10000, 50000]
PERCENTS = [1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 75, 80, 85, 90, 95, 99]
PORTS = [21, 25, 443, 1883, 3000, 3306, 4000, 4200, 5173, 5601, 6379, 7070, 8000, 8001, 8443, 8888, 9000, 9092, 9200, 15672]
SCALES = {"time": DURATIONS, "size": SIZES, "percent": PERCENTS, "port": PORTS}


def spoken(s: Surface, n: int) -> str:
    """A whole number in one of its written forms."""
    if n in WORDS and s.chance(0.45):
        return WORDS[n]
    return f"{n:,}" if n >= 1000 and s.chance(0.5) else str(n)


def duration(s: Surface, seconds: int) -> str:
    """One of the usual ways to write a duration."""
    forms = []
    for unit, short, size, most in (("second", "s", 1, 300), ("minute", "min", 60, 300), ("hour", "h", 3600, 72),
                                    ("day", "days", 86400, 100), ("week", "weeks", 604800, 5)):
        count, rest = divmod(seconds, size)
        if rest == 0 and 1 <= count <= most:
            forms.append(f"{spoken(s, count)} {unit}{'s' if count != 1 else ''}")
            if unit in ("second", "minute", "hour"):
                forms.append(f"{count} {short}")
    single = {1800: "half an hour", 3600: "an hour", 86400: "a day", 604800: "a week", 60: "a minute"}
    if seconds in single:
        forms.append(single[seconds])
    return s.pick(forms)


def written(s: Surface, kind: str, v: int) -> str:
    if kind == "time":
        return duration(s, v)
    if kind == "size":
        forms = [f"{v} MB", f"{v} megabytes", f"{v}MB"]
        return s.pick(forms + [f"{v // 1024} GB", f"{v // 1024} gigabytes"] if v % 1024 == 0 else forms)
    if kind == "percent":
        return s.pick([f"{v} %", f"{v}%", f"{v} percent"])
    if kind == "port":
        return str(v)
    return f"{spoken(s, v)} {kind if v != 1 else kind.removesuffix('s')}" if s.chance(0.65) else spoken(s, v)


def other_value(s: Surface, kind: str, v: int) -> int:
    """Another value of the scale, near it half of the time."""
    scale = SCALES.get(kind, COUNTS)
    at = scale.index(v)
    near = scale[max(0, at - 3) : at + 4] if s.chance(0.5) else scale
    return s.pick([x for x in near if x != v])


def exact(s: Surface, p: str, c: str, x: str) -> str:
    return capital(s.pick([
        f"the {p} of {c} is {x}.", f"the {p} of {c} must be {x}.", f"{c} has a {p} of {x}.", f"set the {p} of {c} to {x}.",
        f"{c} uses a {p} of {x}.", f"the {p} for {c} is set to {x}.", f"{x} is the {p} of {c}.", f"for {c}, the {p} is {x}.",
        f"{c} runs with a {p} of {x}.", f"we set the {p} of {c} to {x}.", f"configure {c} with a {p} of {x}.",
        f"the {p} of {c} defaults to {x}.", f"the {p} in {c} should be {x}.", f"we decided on a {p} of {x} for {c}."]))


def at_most(s: Surface, p: str, c: str, x: str) -> str:
    return capital(s.pick([
        f"the {p} of {c} must not exceed {x}.", f"the {p} of {c} is at most {x}.", f"{c} may have a {p} of up to {x}.",
        f"{x} is the upper limit for the {p} of {c}.", f"never raise the {p} of {c} above {x}.",
        f"the {p} of {c} is capped at {x}.", f"a {p} beyond {x} is not allowed in {c}."]))


def at_least(s: Surface, p: str, c: str, x: str) -> str:
    return capital(s.pick([
        f"the {p} of {c} must be at least {x}.", f"the {p} of {c} is never less than {x}.", f"{x} is the minimum {p} of {c}.",
        f"never set the {p} of {c} below {x}.", f"{c} needs a {p} of {x} or more."]))


def numbers(s: Surface) -> dict:
    p, kind = s.pick(QUANTITIES)
    c = s.subject()
    v = s.pick(SCALES.get(kind, COUNTS))
    w = other_value(s, kind, v)
    x, y = written(s, kind, v), written(s, kind, w)
    low, high = written(s, kind, min(v, w)), written(s, kind, max(v, w))
    r = s.rng.random()
    if r < 0.3:
        return s.row(s.said(exact(s, p, c, x)), s.said(exact(s, p, c, y)), CONTRADICTION, "number.value")
    if r < 0.42 and kind != "port":
        a, b = s.pick([(at_most(s, p, c, low), exact(s, p, c, high)), (at_least(s, p, c, high), exact(s, p, c, low)),
                       (at_most(s, p, c, low), at_least(s, p, c, high))])
        return s.row(s.said(a), s.said(b), CONTRADICTION, "number.limit")
    if r < 0.54 and kind != "port":
        a, b = s.pick([(at_most(s, p, c, high), exact(s, p, c, low)), (at_least(s, p, c, low), exact(s, p, c, high))])
        return s.row(s.said(a), s.said(b), NOT_CONTRADICTION, "number.within-limit")
    if r < 0.68:
        form = s.pick([exact, at_most, at_least]) if kind != "port" else exact
        return s.row(s.said(form(s, p, c, x)), s.said(form(s, p, c, written(s, kind, v))), ENTAILMENT, "number.same")
    if r < 0.8:
        here, there = s.two_components()
        return s.row(exact(s, p, here, x), exact(s, p, there, y), NEUTRAL, "number.other-component")
    if r < 0.92:
        q, kind2 = s.pick([k for k in QUANTITIES if k[0] != p])
        return s.row(exact(s, p, c, x), exact(s, q, c, written(s, kind2, s.pick(SCALES.get(kind2, COUNTS)))), NEUTRAL, "number.other-quantity")
    here, there = s.rng.sample(PLACES, 2)
    return s.row(s.scoped(exact(s, p, c, x), here), s.scoped(exact(s, p, c, y), there), NEUTRAL, "number.other-place")


def inventory(s: Surface) -> dict:
    """Counts of things: "the cluster has three nodes"."""
    whole, part = s.pick(COUNTED)
    whole = whole if s.chance(0.5) else f"{whole} of {s.component()}"
    v = s.pick(COUNTS[1:24])
    w = other_value(s, "count", v)

    def say(n: int, thing: str = part) -> str:
        many = f"{spoken(s, n)} {thing}"
        return capital(s.pick([f"{whole} has {many}.", f"there are {many} in {whole}.", f"{whole} consists of {many}.",
                               f"{whole} is made of {many}.", f"{whole} comes with {many}.", f"we run {whole} with {many}."]))

    r = s.rng.random()
    if r < 0.45:
        return s.row(s.said(say(v)), s.said(say(w)), CONTRADICTION, "count.value")
    if r < 0.65:
        return s.row(say(v), say(v), ENTAILMENT, "count.same")
    thing = s.pick([p for _, p in COUNTED if p != part])
    return s.row(say(v), say(w, thing), NEUTRAL, "count.other-thing")


def has_choice(s: Surface, role: str, c: str, v: str) -> str:
    return capital(s.pick([
        f"{c} uses {v} as its {role}.", f"the {role} of {c} is {v}.", f"{v} is the {role} of {c}.",
        f"we use {v} as the {role} of {c}.", f"for {c}, the {role} is {v}.", f"the {role} of {c} must be {v}.",
        f"we will adopt {v} as the {role} for {c}.", f"we chose {v} as the {role} of {c}.", f"{c} has {v} as {role}.",
        f"use {v} as the {role} for {c}.", f"{c} relies on {v} as {role}."]))


def lacks_choice(s: Surface, role: str, c: str, v: str) -> str:
    return capital(s.pick([
        f"{c} does not use {v} as its {role}.", f"{v} must not be the {role} of {c}.", f"{v} is no longer the {role} of {c}.",
        f"do not use {v} as the {role} for {c}.", f"we have dropped {v} as the {role} of {c}.",
        f"we decided against {v} as the {role} for {c}.", f"we moved {c} away from {v} as {role}.",
        f"{v} was ruled out as the {role} of {c}.", f"anything but {v} may be the {role} of {c}."]))


def choices(s: Surface) -> dict:
    role = s.pick(list(CHOICES))
    v, w = s.rng.sample(CHOICES[role], 2)
    c = s.subject()
    r = s.rng.random()
    if r < 0.24:
        return s.row(s.said(has_choice(s, role, c, v)), s.said(has_choice(s, role, c, w)), CONTRADICTION, "choice.other-value")
    if r < 0.36:
        return s.row(s.said(has_choice(s, role, c, v)), s.said(lacks_choice(s, role, c, v)), CONTRADICTION, "choice.denied")
    if r < 0.43:
        return s.row(s.said(has_choice(s, role, c, v)), s.said(lacks_choice(s, role, c, w)), NOT_CONTRADICTION, "choice.other-denied")
    if r < 0.53:
        return s.row(s.said(has_choice(s, role, c, v)), s.said(has_choice(s, role, c, v)), ENTAILMENT, "choice.same")
    if r < 0.66:
        here, there = s.two_components()
        b = has_choice(s, role, there, w) if s.chance(0.7) else lacks_choice(s, role, there, v)
        return s.row(s.said(has_choice(s, role, here, v)), s.said(b), NEUTRAL, "choice.other-component")
    if r < 0.78:
        other = s.pick([k for k in CHOICES if k != role])
        return s.row(s.said(has_choice(s, role, c, v)), s.said(has_choice(s, other, c, s.pick(CHOICES[other]))), NEUTRAL, "choice.other-role")
    if r < 0.86:
        here, there = s.rng.sample(PLACES, 2)
        return s.row(s.scoped(has_choice(s, role, c, v), here), s.scoped(has_choice(s, role, c, w), there), NEUTRAL, "choice.other-place")
    if r < 0.9:
        early, late = s.windows()
        return s.row(s.timed(has_choice(s, role, c, v), early), s.timed(has_choice(s, role, c, w), late), NEUTRAL, "choice.other-time")
    support = capital(s.pick([f"{c} supports {v}.", f"{c} works with {v}."]))
    if r < 0.95:
        more = s.pick([f"{c} also supports {w}.", f"{c} supports {w} as well.", f"{c} can be used with {w} too."])
        return s.row(support, capital(more), NEUTRAL, "choice.added")
    only = s.pick([f"{c} supports only {w}.", f"{c} works with {w} and nothing else.", f"{w} is the only {role} that {c} supports."])
    return s.row(support, capital(only), CONTRADICTION, "choice.only")


def _are(thing: str) -> str:
    return "are" if thing.endswith("s") and not thing.endswith(("ss", "us")) else "is"


def done_with(s: Surface, t: str, x: str) -> str:
    return capital(s.pick([
        f"use {x} for {t}.", f"we will use {x} for {t}.", f"{t} {_are(t)} done with {x}.", f"{x} is used for {t}.",
        f"for {t}, we rely on {x}.", f"we have decided to use {x} for {t}.", f"{t} {_are(t)} handled by {x}.",
        f"{x} is our choice for {t}.", f"we adopt {x} as the standard for {t}.", f"{x} takes care of {t}.",
        f"stick to {x} when it comes to {t}.", f"all {t} must go through {x}."]))


def replaced(s: Surface, t: str, x: str, y: str) -> str:
    """Says that y does it, not x."""
    return capital(s.pick([
        f"use {y} for {t}, not {x}.", f"{t} {_are(t)} done with {y}; {x} is not used.", f"{x} must not be used for {t}.",
        f"{t} moved from {x} to {y}.", f"we dropped {x}; {t} {_are(t)} handled by {y}.", f"{y} is the only tool allowed for {t}.",
        f"{x} has been ruled out for {t}.", f"{t} {_are(t)} handled by {y} and no longer by {x}.",
        f"we replaced {x} with {y} for {t}.", f"{t} {_are(t)} done by hand, without {x}.", f"stop using {x} for {t}.",
        f"instead of {x} we use {y} for {t}.", f"{t} must be done without {x}.", f"we do not use {x} for {t}.",
        f"choose {y} over {x} for {t}.", f"{x} was removed; {y} took over {t}."]))


def tools(s: Surface) -> dict:
    task = s.pick(list(TASKS))
    x, y = s.rng.sample(TASKS[task], 2)
    t = f"{task} in {s.component()}" if s.chance(0.3) else task
    r = s.rng.random()
    if r < 0.32:
        return s.row(s.said(done_with(s, t, x)), s.said(replaced(s, t, x, y)), CONTRADICTION, "tool.replaced")
    if r < 0.42:
        return s.row(s.said(done_with(s, t, x)), s.said(done_with(s, t, y)), CONTRADICTION, "tool.other")
    if r < 0.53:
        return s.row(s.said(done_with(s, t, x)), s.said(done_with(s, t, x)), ENTAILMENT, "tool.same")
    if r < 0.75:
        about = s.pick(ABOUT_TOOL).format(x=s.pick([x, x, y]))
        return s.row(s.said(done_with(s, t, x)), s.said(about), NEUTRAL, "tool.about")
    if r < 0.9:
        other = s.pick([k for k in TASKS if k != task])
        z, q = s.rng.sample(TASKS[other], 2)
        b = s.pick([done_with(s, other, z), replaced(s, other, z, q), replaced(s, other, x, z)])
        return s.row(s.said(done_with(s, t, x)), s.said(b), NEUTRAL, "tool.other-task")
    here, there = s.two_components()
    b = s.pick([replaced, lambda s, t, _, y: done_with(s, t, y)])(s, f"{task} in {there}", x, y)
    return s.row(s.said(done_with(s, f"{task} in {here}", x)), s.said(b), NEUTRAL, "tool.other-component")


def moves(s: Surface) -> dict:
    """A tool in use against its end, told without naming the task again."""
    task = s.pick(list(TASKS))
    x, y = s.rng.sample(TASKS[task], 2)
    other = s.pick([k for k in TASKS if k != task])
    z, q = s.rng.sample(TASKS[other], 2)

    def gone(x: str, y: str) -> str:
        return capital(s.pick([
            f"we are moving from {x} to {y}.", f"{y} replaces {x}.", f"{x} gives way to {y}.", f"migrate from {x} to {y}.",
            f"the contract with {x} ends in {s.pick(MONTHS)}; {y} takes over.", f"{x} is being phased out.", f"{x} will be switched off.",
            f"drop {x} in favour of {y}.", f"{x} is no longer in use here.", f"nobody uses {x} any more; we are on {y} now.",
            f"we have said goodbye to {x}.", f"the migration away from {x} is complete.", f"{x} has been removed from the stack.",
            f"swap {x} for {y}.", f"replace {x} with {y}.", f"{y} instead of {x}.", f"retire {x}.", f"{x} was a mistake: go back to {y}."]))

    def kept(x: str) -> str:
        return capital(s.pick([
            f"{x} is upgraded to the next major version.", f"we host {x} ourselves.", f"run {x} on two nodes.", f"configure {x} in one place.",
            f"the contract with {x} is renewed.", f"new colleagues get access to {x}.", f"use the latest version of {x}.",
            f"extend {x} with our own plugin.", f"use {x} with its default settings.",
            f"costs of {x} are watched by the team.", f"{x} stores its data in a private bucket.", f"write down how to use {x}."]))

    use = done_with(s, task, x) if s.chance(0.6) else capital(s.pick([f"use {x}.", f"use {x} for {task}", f"adopt {x}.", f"{x} for {task}"]))
    r = s.rng.random()
    if r < 0.45:
        return s.row(s.said(use), s.said(gone(x, y)), CONTRADICTION, "move.gone")
    if r < 0.55:
        return s.row(s.said(use), s.said(gone(y, x)), NOT_CONTRADICTION, "move.towards")
    if r < 0.8:
        return s.row(s.said(use), s.said(kept(x)), NEUTRAL, "move.kept")
    return s.row(s.said(use), s.said(s.pick([gone, lambda a, _: kept(a)])(z, q)), NEUTRAL, "move.other")


def versions(s: Surface) -> dict:
    tool, c = s.pick(VERSIONED), s.subject()
    v, w = s.rng.sample([f"{a}.{b}" for a in range(1, 14) for b in (0, 1, 2, 5, 9)] + [str(n) for n in range(2, 25)], 2)

    def say(c: str, tool: str, v: str) -> str:
        return capital(s.pick([f"{c} runs on {tool} {v}.", f"{c} uses {tool} {v}.", f"{tool} {v} is used in {c}.",
                               f"{c} is pinned to {tool} {v}.", f"the {tool} version of {c} is {v}.", f"build {c} with {tool} {v}."]))

    r = s.rng.random()
    if r < 0.38:
        return s.row(s.said(say(c, tool, v)), s.said(say(c, tool, w)), CONTRADICTION, "version.other")
    if r < 0.5:
        no = capital(s.pick([f"{c} no longer runs on {tool} {v}.", f"{tool} {v} is not supported by {c}.", f"we dropped {tool} {v} from {c}."]))
        return s.row(say(c, tool, v), no, CONTRADICTION, "version.denied")
    if r < 0.62:
        return s.row(say(c, tool, v), say(c, tool, v), ENTAILMENT, "version.same")
    if r < 0.82:
        here, there = s.two_components()
        return s.row(say(here, tool, v), say(there, tool, w), NEUTRAL, "version.other-component")
    return s.row(say(c, tool, v), say(c, s.pick([t for t in VERSIONED if t != tool]), w), NEUTRAL, "version.other-tool")


def styles(s: Surface) -> dict | None:
    thing, other = s.rng.sample(THINGS, 2)
    x, y = s.rng.sample(STYLES, 2)

    def yes(t: str, x: str) -> str:
        return capital(s.pick([f"use {x} for {t}.", f"{t} use {x}.", f"{t} are written in {x}.", f"name {t} in {x}.",
                               f"for {t} the convention is {x}.", f"prefer {x} for {t}.", f"{t} must be in {x}."]))

    def no(t: str, x: str) -> str:
        return capital(s.pick([f"do not use {x} for {t}.", f"{t} must not use {x}.", f"{t} never use {x}.", f"{x} is not allowed for {t}."]))

    r = s.rng.random()
    if r < 0.25:
        return s.row(yes(thing, x), yes(thing, y), CONTRADICTION, "style.other")
    if r < 0.38:
        return s.row(yes(thing, x), no(thing, x), CONTRADICTION, "style.denied")
    if r < 0.5:
        return s.row(yes(thing, x), yes(thing, x), ENTAILMENT, "style.same")
    return s.row(yes(thing, x), s.pick([yes(other, y), no(other, x), yes(other, x), no(thing, y)]), NEUTRAL, "style.other-thing")


def properties(s: Surface) -> dict:
    thing, other = s.rng.sample(THINGS, 2)
    x, y = s.pick(OPPOSED) if s.chance(0.5) else s.pick(OPPOSED)[::-1]

    def yes(t: str, x: str) -> str:
        return capital(s.pick([f"keep {t} {x}.", f"{t} must be {x}.", f"{t} should be {x}.", f"{t} are {x}.",
                               f"we want {t} to be {x}.", f"make sure {t} are {x}.", f"{t} have to be {x}.", f"all {t} are {x}."]))

    def no(t: str, x: str, y: str) -> str:
        return s.pick([yes(t, y), yes(t, y), capital(f"{t} must not be {x}."), capital(f"{t} need not be {x}."),
                       capital(f"{t} should be {y} rather than {x}."), capital(f"{t} are {y}, not {x}."),
                       capital(f"never make {t} {x}."), capital(f"{t} may be {y}.")])

    r = s.rng.random()
    if r < 0.38:
        return s.row(s.said(yes(thing, x)), s.said(no(thing, x, y)), CONTRADICTION, "property.opposed")
    if r < 0.5:
        return s.row(s.said(yes(thing, x)), s.said(yes(thing, x)), ENTAILMENT, "property.same")
    if r < 0.72:
        return s.row(s.said(yes(thing, x)), s.said(no(other, x, y)), NEUTRAL, "property.other-thing")
    if r < 0.9:
        p, q = s.pick([o for o in OPPOSED if x not in o])
        return s.row(s.said(yes(thing, x)), s.said(no(thing, p, q)), NEUTRAL, "property.other-property")
    here, there = s.rng.sample(PEOPLE, 2)
    return s.row(s.for_people(yes(thing, x), here), s.for_people(yes(thing, y), there), NEUTRAL, "property.other-people")


def periods(s: Surface) -> dict:
    """What holds between two dates, against a claim about a date within or outside."""
    during, instead = s.pick(PERIODS)
    c, year, first = s.component(), s.rng.randint(2023, 2029), s.rng.randint(0, 8)
    last = first + s.rng.randint(1, 2)
    span = s.pick([f"from 1 {MONTHS[first]} to 28 {MONTHS[last]} {year}", f"between {MONTHS[first]} and {MONTHS[last]} {year}",
                   f"from {MONTHS[first]} until the end of {MONTHS[last]} {year}"])
    month = s.rng.randint(first, last)
    within = s.pick([f"on {s.rng.randint(2, 27)} {MONTHS[month]} {year}", f"in {MONTHS[last]} {year}", f"in {MONTHS[month]} {year}"])
    outside = s.pick([f"in {MONTHS[min(11, last + 1 + s.rng.randint(0, 2))]} {year}", f"in {MONTHS[month]} {year + 1}", f"on 3 {MONTHS[last + 1]} {year}"])
    rule, other = during.format(c=c), instead.format(c=c)
    r = s.rng.random()
    if r < 0.5:
        return s.row(s.timed(capital(f"{rule}."), span), s.timed(capital(f"{other}."), within), CONTRADICTION, "period.within")
    if r < 0.9:
        return s.row(s.timed(capital(f"{rule}."), span), s.timed(capital(f"{other}."), outside), NEUTRAL, "period.outside")
    return s.row(s.timed(capital(f"{rule}."), span), s.timed(capital(f"{rule}."), span), ENTAILMENT, "period.same")


def rights(s: Surface) -> dict:
    """Who may do what: only, also, nobody, everybody."""
    act, other_act = (a.format(c=s.component()) for a in s.rng.sample(RIGHTS, 2))
    one, two = s.rng.sample(PEOPLE, 2)

    def may(who: str, what: str) -> str:
        return capital(s.pick([f"{who} may {what}.", f"{who} can {what}.", f"{who} are allowed to {what}.", f"let {who} {what}."]))

    def may_not(who: str, what: str) -> str:
        return capital(s.pick([f"{who} must not {what}.", f"{who} may not {what}.", f"{who} are not allowed to {what}.", f"{who} cannot {what}."]))

    def only(who: str, what: str) -> str:
        return capital(s.pick([f"only {who} may {what}.", f"nobody but {who} may {what}.", f"{who} alone may {what}.",
                               f"the right to {what} is reserved for {who}."]))

    everybody = capital(s.pick([f"everyone may {act}.", f"anybody can {act}.", f"all members may {act}."]))
    nobody = capital(s.pick([f"nobody may {act}.", f"no one is allowed to {act}."]))
    r = s.rng.random()
    if r < 0.45:
        a, b = s.pick([(only(one, act), may(two, act)), (only(one, act), everybody), (may(one, act), may_not(one, act)),
                       (nobody, may(one, act)), (everybody, may_not(one, act)), (only(one, act), only(two, act))])
        return s.row(s.said(a), s.said(b), CONTRADICTION, "right.contradiction")
    if r < 0.6:
        a, b = s.pick([(only(one, act), only(one, act)), (may(one, act), may(one, act)), (may_not(one, act), may_not(one, act))])
        return s.row(a, b, ENTAILMENT, "right.same")
    a, b = s.pick([(only(one, act), may_not(two, act)), (may(one, act), may_not(two, act)), (may(one, act), may_not(one, other_act)),
                   (only(one, act), only(two, other_act)), (only(one, act), may(two, other_act)), (may(one, act), may(two, act))])
    return s.row(s.said(a), s.said(b), NOT_CONTRADICTION if a.startswith(("Only", "Nobody")) else NEUTRAL, "right.beside")


def quantities_of(s: Surface) -> dict:
    """All, none, some, only one: over services and their properties."""
    good, bad = s.pick(QUALITIES)
    c = s.component()
    every = capital(s.pick([f"all services are {good}.", f"every service is {good}.", f"each of our services is {good}.",
                            f"services are {good} without exception."]))
    broken = capital(s.pick([f"some services are {bad}.", f"{c} is {bad}.", f"no service is {good}.", f"a few services remain {bad}.",
                             f"services are {bad}.", f"{c} is exempt: it is {bad}."]))
    p, q = s.pick([x for x in QUALITIES if x[0] != good])
    r = s.rng.random()
    if r < 0.45:
        return s.row(s.said(every), s.said(broken), CONTRADICTION, "quantifier.contradiction")
    if r < 0.6:
        b = capital(s.pick([f"{c} is {good}.", f"no service is {bad}.", f"there is no service that is {bad}."]))
        return s.row(every, b, NOT_CONTRADICTION, "quantifier.same")
    b = capital(s.pick([f"some services are {q}.", f"{c} is {q}.", f"no service is {p}.", f"all databases are {bad}.", f"the laptops are {bad}."]))
    return s.row(s.said(every), s.said(b), NEUTRAL, "quantifier.beside")


def lists(s: Surface) -> dict:
    """Enumerations of what is supported, used, allowed."""
    role = s.pick([k for k, v in CHOICES.items() if len(v) > 3 and k not in ("owner", "release day")])
    a, b, x = s.rng.sample(CHOICES[role], 3)
    c, d = s.two_components()

    def both(c: str) -> str:
        return capital(s.pick([f"{c} supports {a} and {b}.", f"{c} works with {a} as well as {b}.", f"{a} and {b} are supported by {c}.",
                               f"{c} can be used with {a} or {b}.", f"the allowed values of {role} in {c} are {a} and {b}."]))

    less = capital(s.pick([f"{c} supports {a} only.", f"{a} is the only {role} that {c} supports.", f"{c} does not support {b}.",
                           f"support for {b} was removed from {c}.", f"{c} works with {a} and nothing else."]))
    r = s.rng.random()
    if r < 0.45:
        return s.row(s.said(both(c)), s.said(less), CONTRADICTION, "list.contradiction")
    if r < 0.65:
        return s.row(both(c), both(c), ENTAILMENT, "list.same")
    more = capital(s.pick([f"{c} does not support {x}.", f"{x} is not supported by {c}.", f"{c} will support {x} next year."]))
    return s.row(s.said(both(c)), s.pick([more, both(d), less.replace(capital(c), capital(d)).replace(c, d)]), NEUTRAL, "list.beside")


FRAMES: list[tuple[Callable[[Surface], dict | None], int]] = [
    (numbers, 24), (inventory, 6), (choices, 24), (tools, 24), (moves, 20), (versions, 8), (styles, 8), (properties, 18),
    (periods, 6), (rights, 12), (quantities_of, 4), (lists, 8), (deeds, 40),
]
"""Each frame with its share of the rows."""


def rows(s: Surface, count: int) -> Iterator[dict]:
    makers, shares = zip(*FRAMES)
    for make in s.rng.choices(makers, shares, k=count):
        row = make(s)
        if row and row["a"] != row["b"]:
            yield row
