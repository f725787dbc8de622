"""`make soak`: kills, random cases and fuzzed scripts from fresh seeds, for as long as one likes.

Not part of the suite. Four things take turns until the time is over: random differential cases of the core (the tests
of the suite, with seeds of their own and more examples), random whole queries on Spark against DuckDB, scripts with
tokens and characters changed at random (each must be read, checked, or refused with an error of ours), and SIGKILLs of
runs of all kinds of query on real Spark. What fails is printed with the command that repeats it, and ends the soak
with exit code 1. The counts go into docs/endurance.md after every turn, where they add up over all runs.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import penstock
from penstock.compile import plan
from penstock.errors import InternalError, PenstockError
from tests.sql.typed_scripts import TypedWriter

ROOT = Path(__file__).resolve().parents[1]
LEDGER = ROOT / "docs" / "endurance.md"
CORE = (
    "tests/runtime/test_core_against_reference.py",
    "tests/runtime/test_outer.py",
    "tests/runtime/test_outer_arrival.py",
    "tests/runtime/test_aggregates.py",
    "tests/runtime/test_outer_aggregates.py",
    "tests/runtime/test_budget_outer.py",
    "tests/runtime/promise/test_items.py",
    "tests/runtime/input/test_arrival_order.py",
    "tests/runtime/test_hot_keys.py",
    "tests/runtime/test_broken_promises.py",
    "tests/runtime/test_broken_outer.py",
    "tests/runtime/test_never_silent.py",
    "tests/runtime/test_broken_checks.py",
    "tests/whole_queries/test_whole_queries.py",
    "tests/whole_queries/test_windows_and_budgets.py",
    "tests/whole_queries/test_streams_with_parts.py",
)
ON_SPARK = "tests/spark/test_whole_queries.py"
KILLS = "tests/spark/test_kills.py::test_killed_at_random_moments_and_restarted"
_EXAMPLES, _SPARK_EXAMPLES, _KILLS, _SCRIPT_SECONDS = 150, 8, 12, 60.0
_MUTATED = 0.7
"""The share of the scripts that are known ones with something changed."""
_ROW = re.compile(r"^\| (\d{4}-[^|]+)\| ([^|]+)\|((?: *[\d,]+ *\|){4}) ([^|]*)\|$")


@dataclass
class Counts:
    """What was done, and from which seeds."""

    minutes: int = 0
    cases: int = 0
    scripts: int = 0
    kills: int = 0
    seeds: list[str] = field(default_factory=list)


class Failed(Exception):
    """Something went wrong; the text says how to see it again."""


def tests(path: str, seed: int, marked: str, **settings: str) -> str:
    """Run tests of the suite at full size from a seed; gives what they print."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-rP", path, "-m", marked]
    command += ["-p", "tests.counting_cases", f"--hypothesis-seed={seed}"]
    environment = {**os.environ, "PENSTOCK_MEASURE": "full", "PENSTOCK_SEED": str(seed), **settings}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        chosen = [f"{name}={value}" for name, value in settings.items()]
        shown = " ".join([*chosen, f"PENSTOCK_SEED={seed}", "python", *map(repr, command[1:])])
        raise Failed(f"{ran.stdout[-4000:]}\nagain: PENSTOCK_MEASURE=full {shown}")
    return ran.stdout


def core(counts: Counts, seed: int) -> None:
    """Random queries and streams against the full history."""
    told = tests(CORE[seed % len(CORE)], seed, "not measure", PENSTOCK_EXAMPLES=str(_EXAMPLES))
    counts.cases += int(re.findall(r"(\d+) random cases", told)[-1])


def spark(counts: Counts, seed: int) -> None:
    """Random whole queries on Spark against DuckDB."""
    told = tests(ON_SPARK, seed, "not measure", PENSTOCK_EXAMPLES=str(_SPARK_EXAMPLES))
    counts.cases += int(re.findall(r"(\d+) random cases", told)[-1])


def kills(counts: Counts, seed: int) -> None:
    """A run of one kind of query or two, killed and started again."""
    told = tests(KILLS, seed, "measure", PENSTOCK_KILLS=str(_KILLS))
    counts.kills += int(re.findall(r"(\d+) kills", told)[-1])


def scripts(counts: Counts, seed: int) -> None:
    """Scripts of the examples and the golden cases with something changed, and random ones with all types."""
    rng = random.Random(seed)
    known = [path.read_text() for path in sorted([*ROOT.glob("examples/*.sql"), *ROOT.glob("tests/golden/*/*.sql")])]
    words = sorted({word for text in known for word in _tokens(text) if word.strip()})
    ends = time.monotonic() + _SCRIPT_SECONDS
    while time.monotonic() < ends:
        # As many that nearly all read well, with columns of all types.
        text = mutated(rng, rng.choice(known), words) if rng.random() < _MUTATED else TypedWriter(rng).script()
        try:
            script = penstock.parse(text)
            for query in script.queries:
                penstock.check(script, query.name)
                plan(script, query.name)
        except InternalError as error:
            raise Failed(f"{error}\n{text}\n{_again('scripts', seed)}") from error
        except PenstockError:
            pass
        except Exception as error:
            raise Failed(f"{type(error).__name__}: {error}\n{text}\n{_again('scripts', seed)}") from error
        counts.scripts += 1


def _again(name: str, seed: int) -> str:
    return f"again: python -m tests.soak --only {name} --seed {seed}"


def _tokens(text: str) -> list[str]:
    return re.findall(r"\w+|\s+|.", text, re.DOTALL)


def mutated(rng: random.Random, text: str, words: list[str]) -> str:
    """The text with one to four changes of its tokens or characters."""
    tokens = _tokens(text)
    for _ in range(rng.randint(1, 4)):
        place, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        match rng.randrange(6):
            case 0:
                tokens[place] = ""
            case 1:
                tokens[place] += " " + tokens[place]
            case 2:
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 3:
                tokens[place] = rng.choice(words)
            case 4:
                tokens[place] = rng.choice(("0", "-1", "NULL", "''", "`", "'", "(", ")", "*", "é", "\x00", "9" * 30))
            case _:
                tokens[place] = tokens[place][::-1]
    return "".join(tokens)


KINDS: dict[str, Callable[[Counts, int], None]] = {"core": core, "scripts": scripts, "spark": spark, "kills": kills}


def recorded(text: str) -> Iterator[tuple[int, int, int, int]]:
    """The counts of each run that a ledger lists: minutes, cases, scripts, kills."""
    for line in text.splitlines():
        if (found := _ROW.match(line)) is not None:
            minutes, cases, fuzzed, killed = (int(n.replace(",", "")) for n in found[3].strip(" |").split("|"))
            yield minutes, cases, fuzzed, killed


def with_row(text: str, counts: Counts, commit: str, when: datetime) -> str:
    """The ledger with one run more, and the sums of all."""
    row = (
        f"| {when:%Y-%m-%d %H:%M} | {commit} | {counts.minutes:,} | {counts.cases:,} | {counts.scripts:,} | "
        f"{counts.kills:,} | {' '.join(counts.seeds)} |"
    )
    body = "\n".join([text.partition("**All runs:**")[0].rstrip(), row])
    sums = [sum(column) for column in zip(*recorded(body), strict=True)]
    return (
        f"{body}\n\n**All runs:** {sums[0]:,} minutes, {sums[1]:,} differential cases, {sums[2]:,} scripts, "
        f"{sums[3]:,} kills.\n"
    )


def main() -> int:
    """Soak for the minutes that are asked for."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--only", choices=sorted(KINDS), action="append")
    parser.add_argument("--seed", type=int, help="one turn of each kind, from this seed: what a failure says to do")
    parser.add_argument("--record", action="store_true", help="write the counts into docs/endurance.md")
    asked = parser.parse_args()
    names = asked.only or list(KINDS)
    counts, began = Counts(), time.monotonic()
    ledger, when = LEDGER.read_text(), datetime.now(UTC)
    turns = 0
    while turns < len(names) if asked.seed is not None else time.monotonic() - began < asked.minutes * 60:
        name = names[turns % len(names)]
        seed = secrets.randbelow(1 << 32) if asked.seed is None else asked.seed
        try:
            KINDS[name](counts, seed)
        except Failed as failure:
            print(failure, _again(name, seed), sep="\n", file=sys.stderr)
            return 1
        counts.seeds.append(f"{name}:{seed}")
        counts.minutes = round((time.monotonic() - began) / 60)
        turns += 1
        print(f"{name} {seed}: {counts.cases:,} cases, {counts.scripts:,} scripts, {counts.kills:,} kills", flush=True)
        if asked.record:
            # After each turn: a soak that is stopped has done what it has done.
            LEDGER.write_text(with_row(ledger, counts, _commit(), when))
    return 0


def _commit() -> str:
    told = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    return told.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
