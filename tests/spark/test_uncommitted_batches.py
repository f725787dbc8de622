"""A batch whose state a killed run has written, but not committed, is done again by a run with other settings.

Spark leaves the version of a store that it finds, so that later batches change what another run has written: it must be
the same, entry by entry, wherever the entries lie.
"""

from __future__ import annotations

import pytest

from tests.spark.conftest import Bench
from tests.spark.killed_queries import KINDS, STREAMS, Ended, write_files
from tests.spark.test_checkpoint import gone, last_of


@pytest.mark.parametrize(
    ("before", "after", "done", "sink_knows"),
    [
        (1, 65536, 3, False),
        pytest.param(1, 65536, 3, True, marks=pytest.mark.thorough),
        pytest.param(65536, 1, 3, False, marks=pytest.mark.thorough),
        pytest.param(1, 65536, 1, False, marks=pytest.mark.thorough),
    ],
)
def test_a_run_with_other_settings_goes_on_and_so_does_the_next(
    bench: Bench, before: int, after: int, done: int, sink_knows: bool
) -> None:
    script, check = STREAMS + KINDS["counts"][0], KINDS["counts"][1]
    files = 0
    for more, segments in ((done, before), (4, after), (4, after)):
        write_files(bench, more, files)
        files += more
        conf = {"penstock.segments": str(segments), "penstock.cells": "2"}
        ran = bench.run(script, unbounded=False, conf=conf)
        assert ran.code == 0, ran.err
        if files == done:
            # As if it had been killed after the tasks of its last batch, before or after its sink knew of it.
            gone(last_of(bench.folder / "checkpoint" / "counts" / "spark" / "commits"))
            if not sink_knows:
                gone(last_of(bench.folder / "out" / "counts" / "_spark_metadata"))
    check(Ended(bench, ran, files))
