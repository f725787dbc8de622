"""Plans are inert data: the same after JSON, made for every query, and they say what the packets query should do."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings

import penstock
from penstock.analysis.check import check_query
from penstock.analysis.facts.differences import Limit
from penstock.explain.closing_text import when_closed
from penstock.explain.reason_words import each_told, told
from penstock.plan.closer_plans import CloserKind
from penstock.plan.parts import PurgeTree
from penstock.plan.plan import Plan
from penstock.plan.planner import make_plan
from penstock.plan.runnable import obstacles, unkept_bounds
from tests.measure import allowed_seconds, size
from tests.runtime.workloads import Workload, workloads

PACKETS = """
CREATE STREAM c (pid BIGINT, size INT, junk STRING, ts TIMESTAMP, EVENT TIME ts,
  ORDERED BY ts WITHIN 3 SECONDS, PRIMARY KEY (pid));
CREATE STREAM b (pid BIGINT, size INT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, PRIMARY KEY (pid),
  FOLLOWS c (pid) ON (pid) WITHIN 0 ROWS, COOCCURS (pid) AND c (pid) WINDOW [-2 SECONDS, 0]);
CREATE STREAM o (pid BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS, PRIMARY KEY (pid),
  FOLLOWS b (pid) ON (pid) WITHIN 0 ROWS, COOCCURS (pid) AND b (pid) WINDOW [-2 SECONDS, 0]);
SELECT c.pid, b.size FROM c [RANGE 60 SECONDS], b [RANGE 60 SECONDS], o [RANGE 60 SECONDS]
WHERE c.pid = b.pid AND b.pid = o.pid AND c.size > 10;
"""


def planned(script: str) -> Plan:
    (query,) = penstock.parse(script).queries
    return make_plan(query, check_query(query))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(workloads(most_sources=4))
def test_a_plan_is_the_same_after_json(workload: Workload) -> None:
    plan = make_plan(workload.query, check_query(workload.query))
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.to_json() == make_plan(workload.query, check_query(workload.query)).to_json()


def purge_trees(plan: Plan) -> tuple[PurgeTree, ...]:
    block = plan.tree.root.block
    assert block is not None
    return block.purge_trees


def test_json_that_is_no_plan_is_refused() -> None:
    data = planned(PACKETS).to_dict()
    with pytest.raises(ValueError, match="should have exactly the keys"):
        Plan.from_dict({**data, "more": 1})
    data["distinct"] = "yes"
    with pytest.raises(ValueError, match=r"Plan\.distinct should be bool"):
        Plan.from_dict(json.loads(json.dumps(data)))


def test_a_plan_of_before_batches_could_be_instants_is_read() -> None:
    data = planned(PACKETS).to_dict()
    del data["by_batch"]
    assert Plan.from_dict(data) == planned(PACKETS)


def test_only_needed_columns_are_kept_and_filters_are_left_to_spark() -> None:
    c, b, o = planned(PACKETS).sources
    assert (c.kept, b.kept, o.kept) == (("pid", "ts"), ("pid", "size", "ts"), ("pid", "ts"))
    assert [column.name for column in c.read] == ["pid", "size", "ts"]
    assert c.filters == ("c.size > 10",)


def test_the_packets_plan_closes_in_every_direction_that_it_should() -> None:
    plan = planned(PACKETS)
    kinds = {(c.source, c.target): set[CloserKind]() for c in plan.closers}
    for closer in plan.closers:
        kinds[closer.source, closer.target].add(closer.kind)
    assert kinds["b", "c"] == {CloserKind.BAND, CloserKind.FOLLOWS, CloserKind.KEY}
    assert kinds["c", "b"] == {CloserKind.BAND, CloserKind.KEY}
    # c and o are tied through b: their keys are equal, and so are their bands chained.
    (band,) = (c for c in plan.closers_between("c", "o") if c.kind is CloserKind.BAND)
    assert band.excess is not None
    assert band.excess.tightest.ticks == 4_000_000
    assert all(tree.certain for tree in purge_trees(plan))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT c.pid FROM c LEFT JOIN b ON c.pid = b.pid",
        "SELECT c.pid FROM c WHERE EXISTS (SELECT 1 FROM b WHERE b.pid = c.pid)",
        "SELECT c.pid, count(*) AS n FROM c, b WHERE c.pid = b.pid GROUP BY c.pid",
        "SELECT DISTINCT c.pid FROM c",
    ],
)
def test_every_query_has_a_plan_to_show(query: str) -> None:
    plan = planned(PACKETS[: PACKETS.index("SELECT")] + query + ";")
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.inner is not ("LEFT" in query or "EXISTS" in query)


def test_bounds_are_chained_and_the_tightest_kept_and_widening_reaches_every_chain() -> None:
    plan = planned(
        """
        CREATE STREAM a (k BIGINT, n BIGINT, EVENT TIME n, COOCCURS (k) AND b (k) WINDOW [*, 2]);
        CREATE STREAM b (k BIGINT, n BIGINT, EVENT TIME n);
        CREATE STREAM c (k BIGINT, n BIGINT, EVENT TIME n, ORDERED BY n);
        SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND c.n - b.n < 3 AND c.n - a.n <= 9;
        """
    )
    (closer,) = plan.closers_between("a", "c")
    declared = "COOCCURS (k) AND b (k) WINDOW [*, 2] ON a"
    assert closer.constraints == (declared,)
    assert closer.excess is not None
    assert [(a.ticks, a.strict, a.declared) for a in closer.excess.allowances] == [
        (4, False, (declared,)),
        (9, False, ()),
    ]
    assert closer.excess.limit({declared: 3}) == Limit(7)
    assert closer.excess.limit({declared: 10}) == Limit(9)


def test_a_bound_between_dates_is_the_same_in_the_chain_and_in_the_rules() -> None:
    dated = "k BIGINT, d DATE, EVENT TIME d, ORDERED BY d"
    script = (
        f"CREATE STREAM a ({dated}); CREATE STREAM b ({dated}); "
        "SELECT a.k FROM a, b WHERE a.k = b.k AND b.d < a.d + INTERVAL 3 DAYS AND b.d >= a.d;"
    )
    plan = planned(script)
    # No two dates are between two and three days apart.
    graph = penstock.check(penstock.parse(script)).graph
    assert graph is not None
    assert told(graph.reach("a").edges[0].wait) == "b.d has passed a.d + 2 DAYS"
    (closer,) = plan.closers_between("a", "b")
    assert when_closed(plan, closer) == "b.d has passed a.d + 2 DAYS"


def test_a_chain_of_two_declarations_closes_under_an_outer_join_too() -> None:
    timed = "k BIGINT, n BIGINT, EVENT TIME n, ORDERED BY n"
    plan = planned(
        f"CREATE STREAM a ({timed}, COOCCURS (k) AND b (k) WINDOW [0, 2]); "
        f"CREATE STREAM b ({timed}, COOCCURS (k) AND c (k) WINDOW [0, 3]); CREATE STREAM c ({timed}); "
        "SELECT a.k FROM a JOIN b ON a.k = b.k LEFT JOIN c ON c.k = b.k;"
    )
    (closer,) = (c for c in plan.closers_between("a", "c") if c.excess is not None)
    assert closer.excess is not None
    assert len(closer.constraints) == 2
    assert closer.excess.limit() == Limit(5)
    assert closer.excess.limit({closer.constraints[0]: 4}) == Limit(9)


@pytest.mark.measure
def test_a_chain_of_streams_with_bands_is_checked_and_planned_in_time() -> None:
    many = size(40, 200)
    streams = [f"CREATE STREAM s{n} (k BIGINT, n BIGINT, EVENT TIME n, ORDERED BY n);" for n in range(many)]
    tied = [f"s{n}.k = s{n - 1}.k AND s{n}.n - s{n - 1}.n BETWEEN 0 AND 5" for n in range(1, many)]
    sources = ", ".join(f"s{n}" for n in range(many))
    start = time.process_time()
    plan = planned(f"{' '.join(streams)} SELECT s0.k FROM {sources} WHERE {' AND '.join(tied)};")
    assert time.process_time() - start < allowed_seconds(size(1, 20))
    (closer,) = (c for c in plan.closers_between("s0", f"s{many - 1}") if not c.is_exact)
    assert closer.excess is not None
    assert closer.excess.limit() == Limit(5 * (many - 1))


def test_rows_are_counted_by_arrival_where_all_streams_declare_it_and_something_counts() -> None:
    declared = "k BIGINT, seq BIGINT, ARRIVES BY seq"
    streams = f"CREATE STREAM s ({declared}); CREATE STREAM t ({declared}, FOLLOWS s (k) ON (k));"
    plan = planned(f"{streams} SELECT s.k FROM s, t WHERE s.k = t.k;")
    assert plan.in_arrival_order
    assert [when_closed(plan, c) for c in plan.closers] == ["s was read past it"]
    assert [c.because for c in plan.closers] == [("FOLLOWS s (k) ON (k) ON t",)]
    assert planned(f"{streams} SELECT s.k FROM s [ROWS 5], t WHERE s.k = t.k;").in_arrival_order
    assert not planned(f"{streams} SELECT s.k FROM s [ROWS 5], s AS s2 WHERE s.k = s2.k;").in_arrival_order
    streams = streams.replace(", FOLLOWS s (k) ON (k)", "")
    assert not planned(f"{streams} SELECT s.k FROM s, t WHERE s.k = t.k;").in_arrival_order
    streams = streams.replace("seq BIGINT, ARRIVES BY seq);", "seq BIGINT);", 1)
    assert not planned(f"{streams} SELECT s.k FROM s [ROWS 5], t WHERE s.k = t.k;").in_arrival_order


@pytest.mark.parametrize(
    ("one", "other", "comparable"),
    [
        ("INT", "BIGINT", True),
        ("TIMESTAMP", "TIMESTAMP", True),
        ("TIMESTAMP", "BIGINT", False),
        ("STRING", "STRING", False),
        ("DECIMAL(18,2)", "DECIMAL(18,2)", True),
        ("DECIMAL(18,2)", "DECIMAL(18,3)", False),
        ("DECIMAL(20,0)", "DECIMAL(20,0)", False),
    ],
)
def test_places_are_compared_only_where_the_arrival_columns_have_numbers(
    one: str, other: str, comparable: bool
) -> None:
    streams = "".join(f"CREATE STREAM {n} (k BIGINT, q {t}, ARRIVES BY q);" for n, t in (("s", one), ("t", other)))
    (query,) = penstock.parse(f"{streams} SELECT s.k FROM s [ROWS 5], t WHERE s.k = t.k;").queries
    types = " and ".join(dict.fromkeys((one, other)))
    wrong = (f"rows cannot be counted across streams that arrive by {types}",)
    assert each_told(obstacles(query)) == (() if comparable else wrong)


@pytest.mark.parametrize("limit", ["CHECK (n < 100)", "CHECK (n BETWEEN 1 AND 9)"])
def test_a_clock_with_a_largest_value_closes_what_it_passes_but_not_for_certain(limit: str) -> None:
    declared = "k BIGINT, n BIGINT, EVENT TIME n, ORDERED BY n"
    streams = f"CREATE STREAM s ({declared}); CREATE STREAM t ({declared}, {limit});"
    plan = planned(f"{streams} SELECT s.k FROM s, t WHERE s.k = t.k AND t.n - s.n BETWEEN 0 AND 5;")
    assert {(c.source, c.target): c.certain for c in plan.closers} == {("s", "t"): False, ("t", "s"): True}
    assert {tree.root: tree.certain for tree in purge_trees(plan)} == {"s": False, "t": True}
    assert [source.state.verdict for source in plan.sources] == ["undecided", "bounded"]


TIMED = "k BIGINT, x BIGINT, ts TIMESTAMP, EVENT TIME ts, CHECK (ts IS NOT NULL)"
TAKEN = f"CREATE STREAM s ({TIMED}, ORDERED BY ts); CREATE STREAM t ({TIMED}, ORDERED BY ts);"
LEARNED = TAKEN.replace("ORDERED BY ts)", "ORDERED BY ts WITHIN AUTO)")
JOINED = "FROM s [RANGE 5 SECONDS], t [RANGE 5 SECONDS] WHERE s.k = t.k"


@pytest.mark.parametrize(
    ("script", "lacks"),
    [
        (f"{TAKEN} SELECT s.k {JOINED};", []),
        (f"{TAKEN} SELECT DISTINCT s.k, s.ts {JOINED};", []),
        (f"{TAKEN} SELECT DISTINCT ts FROM s;", []),
        (f"{LEARNED} SELECT s.k {JOINED};", []),
        (f"{LEARNED} SELECT DISTINCT ts, k FROM s;", []),
        (
            "CREATE STREAM s (f BOOLEAN); CREATE STREAM t (f BOOLEAN); SELECT s.f FROM s, t WHERE s.f = t.f;",
            [],
        ),
        (
            f"{TAKEN} SELECT s.k FROM s, t WHERE s.k = t.k AND s.k < 3 AND t.k > 5;",
            [],
        ),
        (
            f"{TAKEN} SELECT DISTINCT s.k, s.ts FROM s [ROWS 5], t [ROWS 5] WHERE s.k = t.k;",
            [],
        ),
    ],
)
def test_bounds_that_the_engine_does_not_keep_are_named(script: str, lacks: list[str]) -> None:
    plan = planned(script)
    assert plan.verdict == "bounded"
    found = each_told(unkept_bounds(plan))
    assert len(found) == len(lacks)
    assert all(text.startswith(lack) for text, lack in zip(found, lacks, strict=True))
