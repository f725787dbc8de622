"""The examples about what is missing, run on the data that `examples/missing_rows.py` makes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from tests.measure import size
from tests.spark.conftest import Bench
from tests.spark.oracle import Bag, canonical

EXAMPLES = Path(__file__).parents[2] / "examples"
SINKS = {
    "unanswered_dns": ("unanswered",),
    "syn_without_fin": ("unfinished",),
    "auctions_without_bids": ("sold_or_not",),
    "impressions_without_clicks": ("unclicked",),
    "answered_but_not_closed": ("half_open",),
    "requests_without_responses": ("unanswered_requests", "unanswered_syns"),
}


def _maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("missing_rows", EXAMPLES / "missing_rows.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_examples_find_what_is_missing(bench: Bench) -> None:
    expected = _maker().write(bench.folder)
    assert set(expected) == {sink for sinks in SINKS.values() for sink in sinks}
    for example, sinks in list(SINKS.items())[: size(3, len(SINKS))]:
        text = (EXAMPLES / f"{example}.sql").read_text(encoding="utf-8")
        script = text.replace("'data/", "'{data}/").replace("'out/", "'{out}/")
        ran = bench.run(script, unbounded=False, checkpoint=f"checkpoint_{example}")
        assert ran.code == 0, ran.err
        for sink in sinks:
            assert bench.sink(sink) == Bag(canonical(row) for row in expected[sink]), sink
            assert len(expected[sink]) > 15
