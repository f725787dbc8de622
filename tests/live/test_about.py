"""What stays the same of a query: every state of the metrics has its bound and what it waits for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.errors import DataError
from penstock.live.about import read_about, write_about
from tests.live.samples import described


def test_every_stream_has_its_bound_and_why_its_rows_stay() -> None:
    found = described()
    states = {state["name"]: state for state in found["states"]}
    assert set(states) == {"a", "b"}
    assert states["a"]["bound"] == "a row is kept until b.ts has passed a.ts + 1 MINUTE"
    assert "b.ts has passed a.ts + 1 MINUTE" in states["a"]["waits"][0]
    assert found["says"].endswith("rows are kept until no result can need them")
    assert found["graphs"][0]["svg"].startswith("<svg")
    assert json.loads(json.dumps(found)) == found


def test_states_of_blocks_have_the_names_of_the_metrics() -> None:
    below = "(SELECT DISTINCT k, ts FROM a)"
    found = described(
        "CREATE STREAM a (k BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts, CHECK (ts IS NOT NULL));\n"
        f"SELECT DISTINCT x.k, x.ts FROM {below} AS x JOIN {below} AS y ON x.k = y.k AND x.ts = y.ts;"
    )
    assert any("." in state["name"] for state in found["states"])
    assert [graph["block"] for graph in found["graphs"]][-1] == ""


def test_it_is_written_beside_the_metrics_and_read_again(tmp_path: Path) -> None:
    metrics = tmp_path / "batches.jsonl"
    assert read_about(metrics) == []
    write_about(metrics, {"query_1": described()})
    assert read_about(metrics) == [described()]
    (tmp_path / "batches.jsonl.about").write_text("{")
    with pytest.raises(DataError, match="cannot read"):
        read_about(metrics)
