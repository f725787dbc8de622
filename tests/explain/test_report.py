"""Reports: of verdicts that no script gives yet, unbounded ones with a witness, built by hand; and that they agree."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pytest
from hypothesis import given, settings

import penstock
from penstock.analysis.check import check_query
from penstock.analysis.finding import (
    Bounded,
    Fix,
    Means,
    MemoryFinding,
    PurgeFinding,
    RewriteFinding,
    StateFinding,
    Strategy,
    Unbounded,
    Verdict,
    Witness,
)
from penstock.cli.outcome import UNBOUNDED, UNDECIDED, exit_code
from penstock.compile import plan_of
from penstock.explain.ink import Ink
from penstock.explain.page import page
from penstock.explain.plan_text import purge_lines, run_lines
from penstock.explain.report import check_report
from penstock.explain.verdict_json import check_object, plain_value, printed
from penstock.model.query import Query
from penstock.model.schemes import Follows, Ordered
from penstock.model.spans import Auto
from penstock.plan.planner import make_plan
from tests.analysis.test_fixes import open_queries

CLICKS = StateFinding(
    "clicks",
    "c",
    Unbounded(
        ("no declaration ever closes a value of impressions.ad",),
        (
            Fix((("clicks", Follows("impressions", ("ad",), ("ad",), Auto())),)),
            Fix((("impressions", Ordered("ad", Auto())), ("clicks", Ordered("ts", Auto())))),
        ),
    ),
)
VIEWS = StateFinding("views", "views", Bounded("the last 50000 rows", Means.WINDOW, ("[ROWS 50000] on views",), 50000))
WITNESS = Witness(
    "one row more is stored for each row of clicks",
    (
        ("clicks", (("ad", 1), ("ts", dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)))),
        ("clicks", (("ad", 2), ("ts", None))),
    ),
)
VERDICT = Verdict(
    "ads",
    "unbounded",
    Strategy.NONE,
    True,
    (CLICKS, VIEWS),
    MemoryFinding(False, ("C2: ad is not bounded",)),
    PurgeFinding(False, (("c", False), ("views", True))),
    RewriteFinding(False),
    WITNESS,
    ("a notice",),
)

REPORT = """\
✗ ads: UNBOUNDED - the state of c grows without limit

    stream      verdict      rows  bound
  ✗ c (clicks)  unbounded   grows  -
  ✓ views       bounded    50,000  the last 50000 rows

  why
    c      - no declaration ever closes a value of impressions.ad
    views  - [ROWS 50000] on views

  growing input
    one row more is stored for each row of clicks
      clicks: ad = 1, ts = 2024-01-01T12:00:00Z
      clicks: ad = 2, ts = NULL

  fix  one of these; `penstock check FILE --fix N` writes the N-th, 1 to 2
    1  CREATE STREAM impressions (… , ORDERED BY ad WITHIN AUTO)
       CREATE STREAM clicks      (… , ORDERED BY ts WITHIN AUTO)
    2  CREATE STREAM clicks (… , FOLLOWS impressions (ad) ON (ad) WITHIN AUTO)
    what is WITHIN AUTO is learned as the query runs: it is exact if the learned lateness holds
    or SELECT /*+ BUDGET(1 GB) */ …: the state stays within it, with the least loss

  note  a notice"""


def test_report_says_verdict_first_and_fix_last() -> None:
    assert "\n".join(check_report([VERDICT], Ink(), 2)) == REPORT


def test_witness_rows_are_shown_as_many_as_asked_for() -> None:
    for wanted, shown in ((None, 0), (1, 1), (2, 2), (9, 2)):
        assert sum("clicks: ad" in line for line in check_report([VERDICT], Ink(), wanted)) == shown


def test_json_of_a_witness_names_streams_in_order_of_arrival() -> None:
    query = json.loads(printed(check_object([VERDICT])))["queries"][0]
    assert query["witness"] == {
        "growth": "one row more is stored for each row of clicks",
        "rows": [["clicks", {"ad": 1, "ts": "2024-01-01T12:00:00Z"}], ["clicks", {"ad": 2, "ts": None}]],
    }
    assert query["analyses"]["purge"] == {"safe": False, "streams": {"c": False, "views": True}}
    shortened = json.loads(printed(check_object([VERDICT], 1)))["queries"][0]
    assert len(shortened["witness"]["rows"]) == 1


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Decimal("1.50"), "1.50"),
        (dt.date(2024, 2, 29), "2024-02-29"),
        (dt.datetime(2024, 1, 1, 1, 30, tzinfo=dt.timezone(dt.timedelta(hours=1))), "2024-01-01T00:30:00Z"),
        (b"\x00\xff", "00ff"),
        (float("nan"), "nan"),
        (0.5, 0.5),
        (True, True),
        (None, None),
    ],
)
def test_values_become_plain_json(value: object, plain: object) -> None:
    assert plain_value(value) == plain


def test_unbounded_weighs_more_than_undecided() -> None:
    undecided = Verdict(
        "other", "undecided", Strategy.NONE, True, (), MemoryFinding(None), PurgeFinding(None, ()), RewriteFinding(None)
    )
    assert exit_code([undecided, VERDICT]) == UNBOUNDED
    assert exit_code([undecided]) == UNDECIDED


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_keep_to_the_width_where_words_allow(width: int) -> None:
    lines = check_report([VERDICT], Ink(width=width), 2)
    # A heading is one line whatever the width; all that may be long is wrapped.
    assert max(len(line) for line in lines if not line.startswith("  fix")) <= width


@settings(max_examples=80, deadline=None)
@given(open_queries())
def test_explain_never_contradicts_check(of: Query) -> None:
    verdict = check_query(of)
    plan = make_plan(of, verdict)
    for source in plan.sources:
        lines = purge_lines(source, plan, verdict)
        assert ("nothing lets a stored row go" in lines) <= (source.state.verdict != "bounded")
        is_not_done = any("this version's engine does not do it yet" in line or "nothing yet" in line for line in lines)
        assert is_not_done <= bool(run_lines(of, plan))


@pytest.mark.parametrize(
    ("order", "band", "says"),
    [
        ("WITHIN 3 SECONDS", True, "BOUNDED - exact;"),
        ("WITHIN AUTO", True, "BOUNDED - exact if the learned lateness holds;"),
        ("WITHIN AUTO", False, "UNBOUNDED - the state"),
    ],
)
def test_what_rests_on_a_learned_lateness_says_so(order: str, band: bool, says: str) -> None:
    streams = [f"CREATE STREAM {n} (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts {order});" for n in "ab"]
    near = " AND b.ts - a.ts BETWEEN INTERVAL 0 SECONDS AND INTERVAL 5 SECONDS" if band else ""
    script = penstock.parse(f"{' '.join(streams)} SELECT a.k FROM a, b WHERE a.k = b.k{near};")
    verdict = penstock.check(script)
    assert f"query_1: {says}" in " ".join(" ".join(check_report([verdict], Ink())).split())
    shown = page("x", script, [verdict], [plan_of(script.queries[0], verdict)])
    assert ("Exact if the learned lateness holds" in shown) == ("learned" in says)
    assert json.loads(printed(check_object([verdict])))["queries"][0]["exact"]
