"""Implication beside an independent search for counter-models (`tiny_models.py`), on random sets of constraints."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import pytest

from penstock.analysis.implication.implied import decide
from penstock.compile import parse
from penstock.explain.reason_words import each_told
from penstock.model.schemes import Scheme
from penstock.sql import parse_constraint
from tests.analysis.tiny_models import TinyRow, keeps, masks, models
from tests.measure import FULL, size

STREAM = "CREATE STREAM {} (a INT, b INT, ts BIGINT, EVENT TIME ts{});"
ROW = re.compile(r"(\w): a = (-?\d+), b = (-?\d+), ts = (-?[\d/]+)(?:, and again every (\d+) (after|before) that)?$")

WINDOWS = ("", "WINDOW [0, 0]", "WINDOW [-1, 0]", "WINDOW [0, 1]", "WINDOW [1, *]", "WINDOW [*, 0]", "WINDOW [-1, 1]")
STRIDES = ("WINDOW [1, 3]", "WINDOW [-3, -2]", "WINDOW [-2, 2]")


def _pool() -> list[str]:
    found = [f"PRIMARY KEY ({c}) ON {s}" for s in "rs" for c in ("a", "b", "a, b")]
    found += [
        f"STREAM KEY ({c}) SPANS {t} {w} ON {s}"
        for s, t in ("rs", "sr", "rr")
        for c in ("a", "b")
        for w in (*WINDOWS[:5], *STRIDES)
    ]
    found += [
        f"COOCCURS ({c}) AND {t} ({c}) {w} ON {s}"
        for s, t in ("rs", "sr", "rr")
        for c in ("a", "a, b")
        for w in WINDOWS[1:]
    ]
    found += [f"COOCCURS (a) AND s (b) {w} ON r" for w in WINDOWS[1:4]]
    found += [
        f"FOREIGN KEY ({c}) REFERENCES {t} ({d}) {w} ON {s}"
        for s, t in ("rs", "sr", "rr")
        for c, d in (("a, b", "a, b"), ("b, a", "a, b"))
        for w in (*WINDOWS, *STRIDES)
    ]
    return found


POOL = _pool()


def _scheme(text: str) -> tuple[str, Scheme]:
    script = parse(STREAM.format("r", "") + STREAM.format("s", ""))
    stream, scheme = parse_constraint(text, script)
    return stream.name, scheme


def _rows(because: tuple[str, ...], again: int) -> tuple[list[TinyRow], int]:
    """The counter-model as it was printed, endless rows `again` times; and how many of its rows come first."""
    once: list[TinyRow] = []
    repeated: list[TinyRow] = []
    for line in because[1:]:
        found = ROW.match(line)
        assert found, line
        stream, a, b, ts, every, way = found.groups()
        once.append(TinyRow(stream, int(a), int(b), Fraction(ts)))
        if every:
            sign = 1 if way == "after" else -1
            repeated += [TinyRow(stream, int(a), int(b), Fraction(ts) + sign * n * int(every)) for n in range(1, again)]
    return once + repeated, len(once)


@pytest.mark.measure
def test_a_search_of_tiny_models_agrees() -> None:
    chosen = random.Random(7)
    schemes = [_scheme(text) for text in POOL]
    kept = masks(schemes, models("rs", latest=2, most=size(2, 3)))
    answers = {True: 0, False: 0, None: 0}
    endless = 0
    for _ in range(size(150, 2000)):
        declared = chosen.sample(range(len(POOL)), chosen.randint(1, 5))
        goal = chosen.randrange(len(POOL))
        bits = sum(1 << n for n in declared)
        tiny = any(mask & bits == bits and not mask >> goal & 1 for mask in kept)
        parts = {"r": "", "s": ""}
        for n in declared:
            text, _, stream = POOL[n].rpartition(" ON ")
            parts[stream] += f", {text}"
        script = parse("".join(STREAM.format(name, part) for name, part in parts.items()))
        answer = decide(script, *parse_constraint(POOL[goal], script))
        case = ([POOL[n] for n in declared], POOL[goal], answer)
        answers[answer.implied] += 1
        if tiny:
            assert answer.implied is False, case
        if answer.implied is False:
            rows, settled = _rows(each_told(answer.because), again=6)
            endless += len(rows) > settled
            assert all(keeps(rows, *schemes[n], settled=settled) for n in declared), case
            assert not keeps(rows, *schemes[goal], settled=settled), case
    print(answers, "endless:", endless, "full" if FULL else "small")
    assert answers[None] == 0
    assert answers[True] > size(12, 160)
    assert endless > 0
