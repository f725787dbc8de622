"""`penstock bench standing`: what stands is in no result, so that both bands have one answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.shapes.shapes import SHAPES
from benchmarks.standing.data import NEAR, SECOND, generated
from benchmarks.standing.main import FULL, MEASURED, QUICK, Stood, as_text, main, script

import penstock
from penstock.analysis.check import check_query


def test_a_partner_comes_soon_or_never() -> None:
    rows = generated(("orders", "payments"), QUICK)
    ordered = {row["id"]: row["ts"] for row in rows["orders"].select(["id", "ts"]).to_pylist()}
    payments = rows["payments"].select(["order_id", "ts"]).to_pylist()
    late = [(p["ts"] - ordered[p["order_id"]]).total_seconds() for p in payments if p["order_id"] in ordered]
    assert 0.6 < len(late) / len(payments) < 0.8
    assert 0 <= min(late) <= max(late) <= NEAR
    at = rows["payments"].column("at").to_pylist()
    assert at == sorted(at)
    assert FULL.edges(2)[1] * FULL.rate(2) == pytest.approx(FULL.many, rel=0.01)
    assert QUICK.edges(2)[-1] * SECOND > max(at) - SECOND


@pytest.mark.parametrize("name", MEASURED)
def test_every_band_is_bounded_and_may_be_told_from_the_others(name: str) -> None:
    text = script(SHAPES[name], Path("/data"), Path("/out"), 77)
    (query,) = penstock.parse(text).queries
    assert check_query(query).verdict == "bounded"
    assert "77 SECONDS" in text
    assert "1 HOUR" not in text


def test_what_costs_more_than_the_aim_is_shown_as_short() -> None:
    few = Stood("inner", 20, 1.0, 7)
    shown = as_text(QUICK, [(few, Stood("inner", 2_000, 1.25, 7)), (few, Stood("inner", 2_000, 1.5, 7))])
    assert shown[-2].split() == ["inner", "20", "1.00", "2,000", "1.25", "1.25", "1.3"]
    assert shown[-1].split()[-3:] == ["1.50", "1.3", "SHORT"]


@pytest.mark.thorough
def test_both_bands_have_one_answer(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    assert main(["--quick", "--only", "left", "--json", str(figures)]) == 0
    ((few, many),) = json.loads(figures.read_text(encoding="utf-8"))
    assert many["rows"] > 3 * few["rows"]
