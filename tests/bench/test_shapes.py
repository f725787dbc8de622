"""`penstock bench shapes`: the streams of the shapes, what is left out and judged, and one shape beside Spark's own."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.json as pj
import pyarrow.parquet as pq
import pytest
from benchmarks.packets.memory import Watched
from benchmarks.packets.report import END, cells_of, figures_in, machine, write_docs
from benchmarks.packets.runs import BatchFigures
from benchmarks.shapes.data import COLUMNS, Size, generated, write
from benchmarks.shapes.main import FULL, MARK, as_text, main, short, with_others
from benchmarks.shapes.main import SMALL as SMALL_BATCHES
from benchmarks.shapes.measures import DEFAULT, PENSTOCK, ROCKSDB, Run, beside
from benchmarks.shapes.shapes import SHAPES

import penstock
from penstock.analysis.check import check_query

SMALL = Size(3_000, 3)


def _run(system: str, seconds: float, *, shape: str = "inner", right: bool = True) -> Run:
    size = 40 if system == PENSTOCK else 400
    batches = tuple(BatchFigures(rows, took, 5, 0, size) for rows, took in ((9, 99.0), (1_000, seconds), (2, 99.0)))
    return Run(shape, system, batches, Watched(1.0, ()), 7, 300 if system == PENSTOCK else 3_000, right)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_shape_is_bounded_by_watermarks_alone(shape: object) -> None:
    (query,) = penstock.parse(SHAPES[shape.name].script(Path("/data"), Path("/out"), SMALL)).queries  # type: ignore[attr-defined]
    assert check_query(query).verdict == "bounded"


def test_files_hold_the_rows_in_the_order_of_arrival_and_a_last_row_that_settles_them(tmp_path: Path) -> None:
    streams = ("orders", "payments", "visits")
    write(tmp_path / "parquet", streams, SMALL, "parquet")
    write(tmp_path / "json", streams, SMALL, "json")
    for name, rows in generated(streams, SMALL).items():
        files = sorted((tmp_path / "parquet" / name).iterdir())
        assert len(files) == 2 * (SMALL.batches + 1)
        tables = [pq.read_table(file) for file in files]
        assert all(table.column_names == list(COLUMNS[name]) for table in tables)
        written = [row for table in tables[:-2] for row in table.to_pylist()]
        assert written == rows.drop_columns(["at"]).to_pylist()
        latest = max(row["ts"] for row in written)
        assert all((table.column("ts")[0].as_py() - latest).total_seconds() > 9 * 3600 for table in tables[-2:])
        lines = [pj.read_json(file) for file in sorted((tmp_path / "json" / name).iterdir())]
        keys = [row for table in lines[:-2] for row in table.column(0).to_pylist()]
        assert keys == [row[next(iter(row))] for row in written]


def test_the_first_and_the_last_batch_are_left_out() -> None:
    assert (_run(PENSTOCK, 2.0).rate, _run(PENSTOCK, 2.0).typical) == (500.0, 2.0)


def test_what_falls_short_is_shown_as_falling_short() -> None:
    ours, default, rocksdb = _run(PENSTOCK, 1.0), _run(DEFAULT, 3.9), _run(ROCKSDB, 12.5)
    assert beside(SHAPES["inner"], ours, default) == (3.9, 4)
    assert beside(SHAPES["inner"], ours, rocksdb) == (12.5, 12)
    shown = as_text([(SMALL, [ours, default, rocksdb])])
    assert ["SHORT  " in line for line in shown[-3:]] == [False, True, False]
    assert [line.endswith("1/10.0") for line in shown[-3:]] == [False, True, True], "of the checkpoint's bytes"
    assert short([(SMALL, [ours, default, rocksdb])]) == ["inner"]
    assert short([(SMALL, [ours, rocksdb])]) == []
    quick = _run(PENSTOCK, 0.5, shape="latency"), _run(DEFAULT, 0.8, shape="latency")
    assert short([(SMALL, quick)]) == ["latency"]


def test_another_answer_is_shown() -> None:
    shown = as_text([(SMALL, [_run(PENSTOCK, 1.0), _run(DEFAULT, 5.0, right=False)])])
    assert "ANOTHER" in shown[-1]


def test_a_shape_that_is_run_again_takes_the_place_of_what_stood_there(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MARK}\n```\n```\n{END}\nafter\n")
    first = [(FULL, [_run(PENSTOCK, 1.0), _run(DEFAULT, 5.0)]), (SMALL_BATCHES, [_run(PENSTOCK, 1.0, shape="latency")])]
    write_docs(page, with_others(first, page), MARK)
    assert as_text(first) == figures_in(page, MARK)
    again = [(FULL, [_run(PENSTOCK, 1.0), _run(DEFAULT, 3.0)]), (FULL, [_run(PENSTOCK, 2.0, shape="left")])]
    merged = with_others(again, page)
    assert merged[:2] == [f"inner, left: {FULL}", f"latency: {SMALL_BATCHES}"]
    assert [cells_of(line)[0] for line in merged[4:]] == ["shape", "inner", "inner", "left", "latency"]
    assert "3.00  4 SHORT" in merged[6]
    # Of another size, or of another day, nothing stays.
    assert with_others([(SMALL, [_run(PENSTOCK, 1.0)])], page) == as_text([(SMALL, [_run(PENSTOCK, 1.0)])])
    write_docs(page, [line.replace(machine(), "another machine") for line in as_text(first)], MARK)
    assert with_others(again, page) == as_text(again)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["windowed", "hypercube", "not-exists", "json"])
def test_a_shape_gives_what_sparks_own_plan_gives(shape: str, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    size = ["--rows", "30000", "--batches", "3"]
    assert main(["--quick", "--only", shape, *size, "--json", str(figures)]) == 0
    ours, default = json.loads(figures.read_text(encoding="utf-8"))["runs"]
    assert ours["right"]
    assert default["right"]
    assert len(ours["batches"]) == len(default["batches"]) == 4
