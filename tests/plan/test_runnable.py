"""What cannot be run is said before it starts; whose bound is not kept, by stream."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import penstock
from penstock.analysis.check import check_query
from penstock.explain.reason_words import each_told
from penstock.plan.endless_promises import endless_promises
from penstock.plan.plan_reasons import PlanObstacle
from penstock.plan.planner import make_plan
from penstock.plan.runnable import (
    asks_for_plan,
    may_have_budget,
    obstacles,
    obstacles_of_blocks,
    unkept,
    unkept_bounds,
)
from tests.measure import size
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts);"
STREAMS = STREAM.format("r") + STREAM.format("s")
BAND = "r.k = s.k AND s.ts - r.ts BETWEEN 0 AND 9"


@pytest.mark.parametrize(
    ("select", "says"),
    [
        (f"r.n FROM r, s WHERE {BAND}", None),
        (f"/*+ SHED(INPUT) */ r.n FROM r, s WHERE {BAND}", "give one too"),
        (f"/*+ SHED(INPUT), BUDGET(9 ROWS) */ r.n FROM r, s WHERE {BAND}", None),
    ],
)
def test_obstacles(select: str, says: str | None) -> None:
    (query,) = penstock.parse(f"{STREAMS} SELECT {select};").queries
    found = each_told(obstacles(query))
    assert len(found) == (says is not None)
    assert says is None or says in found[0]


def test_a_name_of_the_engines_own_is_refused() -> None:
    (query,) = penstock.parse(f"CREATE STREAM u (__PS_k BIGINT, n BIGINT); {STREAMS} SELECT u.n FROM u;").queries
    assert [text for text in each_told(obstacles(query)) if "__PS_k" in text]


@pytest.mark.parametrize("join", ["LEFT JOIN s ON {}", "FULL JOIN s ON {}", ", s WHERE {}"])
def test_a_budget_could_be_held_under_any_join(join: str) -> None:
    (query,) = penstock.parse(f"{STREAMS} SELECT r.n FROM r {join.format(BAND)};").queries
    assert may_have_budget(query)


def test_every_bound_of_a_band_is_kept_and_what_is_unbounded_has_none() -> None:
    plan = plan_of(f"{STREAMS} SELECT r.n FROM r, s WHERE {BAND};")
    assert unkept_bounds(plan) == ()
    open_ = plan_of("CREATE STREAM r (k BIGINT); CREATE STREAM s (k BIGINT); SELECT r.k FROM r, s WHERE r.k = s.k;")
    assert [unkept(open_, source) for source in open_.sources] == [None, None]


def test_under_a_budget_no_other_bound_is_asked_for() -> None:
    plan = plan_of(f"{STREAMS} SELECT /*+ BUDGET(9 ROWS) */ r.n FROM r, s WHERE {BAND};")
    assert unkept_bounds(plan) == ()


def test_a_recovering_query_forgets_no_distinct_row() -> None:
    recovering = STREAMS.replace("ORDERED BY ts", "ORDERED BY ts ON VIOLATION RECOVER")
    plan = plan_of(f"{recovering} SELECT DISTINCT r.ts FROM r, s WHERE {BAND};")
    assert [why for why in each_told(unkept_bounds(plan)) if "RECOVER" in why]


GOLDEN = sorted((Path(__file__).parents[1] / "golden/check").glob("*.sql"))


def test_where_no_plan_is_asked_for_it_has_nothing_to_say() -> None:
    unasked = 0
    for case in GOLDEN:
        for query in penstock.parse(case.read_text(encoding="utf-8")).queries:
            verdict = check_query(query)
            if verdict.verdict == "bounded" and not obstacles(query) and not asks_for_plan(query, verdict):
                unasked += 1
                plan = make_plan(query, verdict)
                assert not unkept_bounds(plan), case.name
                assert not endless_promises(plan), case.name
    assert unasked > 5


def _drawn(draw: random.Random) -> str:
    """Inner joins of two to four streams, closed by clocks, counted rows and windows or by nothing."""
    names = "abcd"[: draw.randint(2, 4)]
    streams = []
    for name in names:
        declared = ["k BIGINT, m BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts"]
        declared += [text for text in ("ORDERED BY ts WITHIN 2", "ORDERED BY k", "ORDERED BY n") if draw.random() < 0.5]
        for other in names.replace(name, ""):
            kinds = (
                f"FOLLOWS {other} (k) ON (k) WITHIN 3 ROWS",
                f"FOLLOWS {other} (k, m) ON (k, m) WITHIN 4",
                f"COOCCURS (k) AND {other} (k) WINDOW [0, 5]",
                f"FOREIGN KEY (k) REFERENCES {other} (k)",
            )
            declared += [draw.choice(kinds)] if draw.random() < 0.3 else []
        streams.append(f"CREATE STREAM {name} ({', '.join(declared)});")
    met = []
    for place in range(1, len(names)):
        one, other = names[draw.randrange(place)], names[place]
        near = (f"{other}.ts - {one}.ts BETWEEN 0 AND 5", f"{other}.n < {one}.n", f"{other}.n = {one}.ts", "")
        met += [f"{one}.k = {other}.k", *filter(None, (draw.choice(near),))]
    windows = [draw.choice(("", "", "", " [ROWS 4]", " [RANGE 6]")) for _ in names]
    sources = ", ".join(f"{name}{window}" for name, window in zip(names, windows, strict=True))
    return f"{' '.join(streams)} SELECT a.k FROM {sources} WHERE {' AND '.join(met)};"


@pytest.mark.measure
def test_nor_has_it_of_any_inner_join_that_clocks_and_counted_rows_bound() -> None:
    draw, unasked = random.Random("unasked"), 0
    for _ in range(size(200, 5_000)):
        text = _drawn(draw)
        (query,) = penstock.parse(text).queries
        verdict = check_query(query)
        if verdict.verdict == "bounded" and not asks_for_plan(query, verdict):
            unasked += 1
            plan = make_plan(query, verdict)
            assert not unkept_bounds(plan), text
            assert not endless_promises(plan), text
    assert unasked > size(20, 500)


STREAMS_OF_BLOCKS = """
CREATE STREAM a (k BIGINT, t BIGINT, EVENT TIME t, ORDERED BY t);
CREATE STREAM b (k BIGINT, t BIGINT, EVENT TIME t, ORDERED BY t);
"""


@pytest.mark.parametrize(
    ("view", "kind"),
    [
        ("v AS SELECT k, count(*) AS n FROM a GROUP BY k", PlanObstacle.RUNNING_GROUPS),
        ("v AS SELECT DISTINCT k, t FROM a", None),
    ],
)
def test_what_a_block_below_another_cannot_do(view: str, kind: PlanObstacle | None) -> None:
    select = "SELECT v.k, b.t FROM v JOIN b ON v.k = b.k"
    (query,) = penstock.parse(f"{STREAMS_OF_BLOCKS} CREATE VIEW {view}; {select};").queries
    found = obstacles_of_blocks(query, check_query(query))
    assert [reason.kind for reason in found] == ([] if kind is None else [kind])


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ("ORDERED BY ts WITHIN AUTO", ()),
        ("ORDERED BY n WITHIN 3 ROWS", ()),
        ("ORDERED BY n WITHIN AUTO", (PlanObstacle.K_LEARNED_OVER_PARTS,)),
        ("ARRIVES BY n", (PlanObstacle.ARRIVALS_OVER_PARTS,)),
    ],
)
def test_what_is_not_done_over_parts_yet_is_refused(declared: str, says: tuple[PlanObstacle, ...]) -> None:
    stream = "CREATE STREAM {} (k BIGINT, p INT, ts BIGINT, n BIGINT, EVENT TIME ts, {});"
    script = stream.format("r", f"PARTS BY p, {declared}") + stream.format("s", declared)
    (query,) = penstock.parse(f"{script} SELECT r.n FROM r [ROWS 9], s [ROWS 5] WHERE r.k = s.k;").queries
    assert tuple(reason.kind for reason in obstacles(query)) == says
