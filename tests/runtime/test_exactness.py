"""The account of what stands against an answer: exact until something does, and never exact again."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pytest

from penstock.explain.exactness_words import exactness_told, inexact_because
from penstock.runtime.exactness import Exactness
from penstock.testing import Run
from tests.runtime.driving import plan_of

STREAMS = """CREATE STREAM s (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts ON VIOLATION {policy});
CREATE STREAM t (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);
SELECT s.k FROM s, t WHERE s.k = t.k AND t.ts = s.ts;"""
ORDERED = "ORDERED BY ts ON s"


def line(batch: int, **counts: Any) -> dict[str, Any]:
    return {"batch": batch, "violations": {}, "lost": 0, "evicted": 0, **counts}


def plan(policy: str = "ADAPT") -> Any:
    return plan_of(STREAMS.replace("{policy}", policy))


def test_an_answer_is_exact_until_something_stands_against_it_and_then_for_ever_not() -> None:
    known = Exactness().then(plan(), line(0)).then(plan(), line(1))
    assert exactness_told(known) == "exact"
    broken = known.then(plan(), line(2, violations={ORDERED: 3}, lost=1)).then(plan(), line(3))
    assert not broken.is_exact
    assert exactness_told(broken) == (
        "INEXACT: 3 rows broke ORDERED BY ts ON s, 1 result known to be lost (how many in all is not known), "
        "answers may be wrong since batch 2"
    )
    assert broken.then(plan(), line(4, violations={ORDERED: 2})).broken == {ORDERED: 5}


@pytest.mark.parametrize(
    ("policy", "exact"), [("ADAPT", False), ("TRUST", False), ("QUARANTINE", True), ("RECOVER", True)]
)
def test_what_is_kept_out_or_recovered_leaves_it_exact(policy: str, exact: bool) -> None:
    assert Exactness().then(plan(policy), line(0, violations={ORDERED: 1})).is_exact is exact


@pytest.mark.parametrize("count", ["lost", "evicted", "contradicted"])
def test_each_count_that_stands_against_it(count: str) -> None:
    known = Exactness().then(plan(), line(7, **{count: 2}))
    assert known.since == 7
    assert any("2" in why for why in inexact_because(known))


def test_batches_that_nobody_saw_are_not_known() -> None:
    seen = Exactness().then(plan(), line(3))
    assert seen.unseen_upto(3) == seen
    lacking = seen.unseen_upto(5)
    assert (lacking.unknown, lacking.since, lacking.through) == (2, 4, 5)
    assert "2 batches" in exactness_told(lacking)


def test_it_survives_as_plain_numbers() -> None:
    known = Exactness().then(plan(), line(2, violations={ORDERED: 3}))
    assert Exactness(**asdict(known)) == known


def test_a_step_of_a_run_says_it_too() -> None:
    run = Run(STREAMS.replace("{policy}", "ADAPT"))
    first = run.step({"s": pa.table({"k": [1], "ts": [9]})})
    assert (first.metrics["exact"], first.metrics["inexact_because"]) == (True, [])
    late = run.step({"s": pa.table({"k": [1], "ts": [5]})})
    assert late.metrics["exact"] is False
    assert late.metrics["inexact_because"][0] == "1 row broke ORDERED BY ts ON s"
    assert run.step({}).metrics["exact"] is False


KEYED = """CREATE STREAM c (x BIGINT, FOREIGN KEY (x) REFERENCES p (x)); CREATE STREAM p (x BIGINT, PRIMARY KEY (x));
SELECT c.x FROM c, p WHERE c.x = p.x;"""


def test_a_key_that_came_twice_lost_results_that_nobody_counts_and_the_line_says_so() -> None:
    run = Run(KEYED)
    seven = pa.table({"x": [7]})
    assert run.step({"c": seven, "p": seven}).rows.num_rows == 1
    again = run.step({"p": seven})
    assert (again.rows.num_rows, again.metrics["lost"], again.metrics["exact"]) == (0, 0, False)
    assert again.metrics["inexact_because"] == [
        "1 row broke PRIMARY KEY (x) ON p",
        "0 results known to be lost (how many in all is not known)",
    ]


def test_where_what_was_let_go_is_remembered_the_count_is_the_count() -> None:
    learned = STREAMS.replace("{policy}", "ADAPT").replace("ORDERED BY ts ON", "ORDERED BY ts WITHIN AUTO ON")
    broken = Exactness().then(plan_of(learned), line(2, violations={"ORDERED BY ts WITHIN AUTO ON s": 1}, lost=2))
    assert list(inexact_because(broken))[1] == "2 results known to be lost"


def test_files_that_vanished_stand_against_it_from_their_batch_on() -> None:
    known = Exactness().then(plan(), line(0)).without_files(1, []).without_files(2, ["a", "b"]).without_files(4, ["c"])
    assert Exactness(**asdict(known)) == known
    assert exactness_told(known) == (
        "INEXACT: 3 files gone or empty before the batch was done that was to read them (a), "
        "answers may be wrong since batch 2"
    )


@pytest.mark.parametrize(
    ("select", "lost"),
    [
        ("c.x FROM c, p WHERE c.x = p.x", 2),
        ("c.x, p.x AS y FROM c LEFT JOIN p ON c.x = p.x", 2),
        ("p.x FROM p WHERE EXISTS (SELECT 1 FROM c WHERE c.x = p.x)", 0),
    ],
)
def test_under_monitor_what_a_key_let_go_is_remembered_and_what_it_lost_is_counted(select: str, lost: int) -> None:
    run = Run(KEYED.replace("c.x FROM c, p WHERE c.x = p.x", f"/*+ MONITOR(2, 1, 100) */ {select}"))
    run.step({"c": pa.table({"x": [7, 7]}), "p": pa.table({"x": [7]})})
    again = run.step({"p": pa.table({"x": [7]})})
    assert (again.metrics["lost"], again.metrics["exact"]) == (lost, False)
    assert again.metrics["inexact_because"][1] == f"{lost} results known to be lost"
    # Of EXISTS the row of c that was set aside is an answer.
    assert again.rows.num_rows == (1 if lost == 0 else 0)


def rows(*given: tuple[int, int, int]) -> dict[str, Any]:
    return {"s": pa.table({name: [row[at] for row in given] for at, name in enumerate(("k", "v", "ts"))})}


KEPT_OUT = "CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts, {declared});\n"


def test_a_check_keeps_a_row_out_of_every_block_that_reads_its_stream() -> None:
    declared = KEPT_OUT.format(declared="CHECK (v > 0) ON VIOLATION QUARANTINE, CHECK (ts IS NOT NULL)")
    groups = "SELECT k, window(ts, 5).end AS upto, count(*) AS n FROM s GROUP BY k, window(ts, 5)"
    run = Run(f"{declared}SELECT s.v, g.n FROM s JOIN ({groups}) AS g ON g.k = s.k AND g.upto - s.ts BETWEEN 0 AND 9;")
    run.step(rows((1, 5, 1), (1, -1, 2), (1, 7, 3)))
    step = run.end()
    assert step.rows.to_pylist() == [{"v": 5, "n": 2}, {"v": 7, "n": 2}]
    assert step.metrics["exact"]


def test_a_row_kept_out_of_one_place_alone_makes_an_answer_inexact() -> None:
    declared = KEPT_OUT.format(declared="PRIMARY KEY (k) ON VIOLATION QUARANTINE")
    run = Run(f"{declared}SELECT x.v, y.v AS w FROM s AS x JOIN s AS y ON x.k = y.v AND y.ts - x.ts BETWEEN 0 AND 5;")
    run.step(rows((1, 1, 1)))
    step = run.step(rows((1, 1, 2)))
    assert step.metrics["violations"] == {"PRIMARY KEY (k) ON s": 1}
    assert not step.metrics["exact"]
