"""Budgets on Spark: kept to the row after every batch, on many cells, through a restart; and what is lost is told."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.errors import DataError
from penstock.runtime.budget.archive import Archived
from penstock.spark.archive_files import read_archived, write_archived
from penstock.spark.told import too_small
from penstock.spark.worker_files import WorkerFolder
from tests.runtime.driving import plan_of
from tests.spark.conftest import Bench

KN = pa.schema([("k", pa.int64()), ("n", pa.int64())])
STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, n BIGINT) "
    f"USING parquet OPTIONS (path '{{data}}/{name}', maxFilesPerTrigger '1');\n"
    for name in "rst"
)
SINK = "CREATE SINK out USING parquet OPTIONS (path '{out}');\n"
THREE = (
    STREAMS + SINK + "INSERT INTO out SELECT /*+ BUDGET(600 ROWS) */ r.n AS rn, s.n AS sn, t.n AS tn "
    "FROM r, s, t WHERE r.k = s.k AND s.k = t.k;"
)
FILES, ROWS, KEYS = 5, 400, 400


def skewed(seed: int) -> Any:
    """Keys of a stream: some of them frequent, the same ones on every stream."""
    weights = 1 / np.arange(1, KEYS + 1) ** 0.6
    return np.random.default_rng(seed).choice(KEYS, FILES * ROWS, p=weights / weights.sum())


def exact(keys: dict[str, Any]) -> int:
    counts = [Counter(keys[name].tolist()) for name in "rst"]
    return sum(counts[0][k] * counts[1][k] * counts[2][k] for k in counts[0])


def offline_prob(keys: dict[str, Any], memory: int) -> int:
    """PROB of SHED for three streams, one row at a time, with the frequencies of the whole streams known beforehand."""
    counts = {name: Counter(keys[name].tolist()) for name in "rst"}
    stored = {name: Counter[int]() for name in "rst"}
    heap: list[tuple[int, int, str, int]] = []
    found = 0
    for step in range(FILES * ROWS):
        for name in "rst":
            key = int(keys[name][step])
            others = [other for other in "rst" if other != name]
            found += stored[others[0]][key] * stored[others[1]][key]
            stored[name][key] += 1
            heapq.heappush(heap, (counts[others[0]][key] * counts[others[1]][key], step, name, key))
            if len(heap) > memory:
                _, _, gone, lost = heapq.heappop(heap)
                stored[gone][lost] -= 1
    return found


@pytest.fixture
def streams(bench: Bench) -> dict[str, Any]:
    keys = {name: skewed(number) for number, name in enumerate("rst")}
    for name, values in keys.items():
        for file in range(FILES):
            first = file * ROWS
            part = [{"k": int(values[n]), "n": n} for n in range(first, first + ROWS)]
            bench.write(name, part, KN)
    return keys


@pytest.mark.thorough
def test_a_three_way_join_over_ten_times_its_budget_keeps_it_to_the_row_and_beats_offline_prob(
    bench: Bench, streams: dict[str, Any]
) -> None:
    ran = bench.run(THREE)
    assert ran.code == 0, ran.err
    assert len(ran.batches) == FILES
    for line in ran.batches:
        assert sum(line["state_rows"].values()) + line["promise_rows"] <= 600
    # The budget is in use, not merely kept: two cells round down by less than a row each.
    assert sum(ran.batches[-1]["state_rows"].values()) >= 598
    assert sum(line["evicted"] for line in ran.batches) == 3 * FILES * ROWS - sum(
        ran.batches[-1]["state_rows"].values()
    )
    rows = list(bench.sink())
    assert max(bench.sink().values()) == 1
    assert all(streams["r"][r] == streams["s"][s] == streams["t"][t] for r, s, t in rows)
    due = exact(streams)
    truth = len(rows) / due
    assert ran.batches[-1]["recall"] == pytest.approx(truth, abs=0.05)
    assert abs(ran.batches[-1]["recall"] - truth) <= 2 * ran.batches[-1]["recall_error"] + 1e-9
    assert len(rows) >= offline_prob(streams, 600)


@pytest.mark.thorough
def test_what_the_archive_gives_later_completes_the_answer_and_a_restart_changes_nothing(
    bench: Bench, streams: dict[str, Any]
) -> None:
    archive = bench.folder / "archive"
    script = THREE.replace("BUDGET(600 ROWS)", f"BUDGET(600 ROWS), ARCHIVE('{archive}')")
    kept_back = sorted((bench.folder / "data" / "t").iterdir())[3:]
    aside = bench.folder / "aside"
    aside.mkdir()
    for path in kept_back:
        path.rename(aside / path.name)
    first = bench.run(script)
    assert first.code == 0, first.err
    for path in kept_back:
        (aside / path.name).rename(path)
    second = bench.run(script)
    assert second.code == 0, second.err
    for line in second.batches:
        assert sum(line["state_rows"].values()) + line["promise_rows"] <= 600
    quiet = bench.run(script, conf={"penstock.archive": "join"})
    assert quiet.code == 0, quiet.err
    tables = [pq.read_table(file) for file in (archive / "answers").rglob("*.parquet")]
    late = Counter(tuple(row.values()) for table in tables for row in table.to_pylist())
    assert late
    together = bench.sink() + late
    assert max(together.values()) == 1
    assert together.total() == exact(streams)
    again = bench.run(script, conf={"penstock.archive": "join"})
    assert "nothing was archived" in again.out


def test_an_archive_is_of_one_run_and_a_replayed_batch_changes_nothing(tmp_path: Path) -> None:
    plan = plan_of(STREAMS + "SELECT /*+ BUDGET(1 ROWS), ARCHIVE('a') */ r.n FROM r, s WHERE r.k = s.k;")
    rows = pa.table({"k": [1], "n": [2], "__ps_arrival": [0], "__ps_batch": [3]})
    place = WorkerFolder(str(tmp_path))
    for _ in range(2):
        write_archived(place, plan, 0, 3, Archived({"r": rows}))
    (read,) = read_archived(plan, place, "cell-00000", 3)
    assert read.rows["r"].to_pylist() == rows.to_pylist()
    assert read_archived(plan, place, "cell-00000", 2) == []
    with pytest.raises(DataError, match="holds rows of another run"):
        write_archived(place, plan, 0, 0, Archived({"r": rows}))


TWO = "INSERT INTO out SELECT /*+ {hints} */ r.n AS rn, s.n AS sn FROM r, s WHERE r.k = s.k;"


@pytest.mark.thorough
def test_explain_draws_the_curve_from_the_scripts_own_files(bench: Bench, streams: dict[str, Any]) -> None:
    script = bench.script(STREAMS + SINK + TWO.replace("{hints}", "BUDGET(60 ROWS)"))
    shown = CliRunner().invoke(app, ["explain", str(script), "--curve", "300", "--json"])
    assert shown.exit_code == 0, shown.stderr
    (curve,) = json.loads(shown.stdout)["curves"]
    assert curve["rows"] == 600
    own = next(point for point in curve["points"] if point["budget"] == 60)
    assert 0 < own["recall"] <= own["best"] <= 1
    first = {name: Counter(streams[name][:300].tolist()) for name in "rs"}
    assert sum(first["r"][k] * first["s"][k] for k in first["r"]) > 0


@pytest.mark.thorough
def test_a_cell_that_takes_longer_than_its_turn_sheds_rows_and_accounts_for_them(
    bench: Bench, streams: dict[str, Any]
) -> None:
    script = STREAMS + SINK + TWO.replace("{hints}", "BUDGET(100000 ROWS), SHED(INPUT)")
    without = bench.run(script)
    assert without.code == 2
    assert "penstock.trigger" in without.err
    ran = bench.run(script, conf={"penstock.trigger": "0.004"})
    assert ran.code == 0, ran.err
    counts = [Counter(streams[name].tolist()) for name in "rs"]
    due = sum(counts[0][k] * counts[1][k] for k in counts[0])
    assert sum(line["evicted"] for line in ran.batches) > 0
    # How much is shed is a matter of how fast the machine is, and so is how well the rest can be known.
    truth, last = bench.sink().total() / due, ran.batches[-1]
    assert abs(last["recall"] - truth) <= max(0.05, 2 * last["recall_error"])
    assert max(bench.sink().values()) == 1


@pytest.mark.parametrize(
    ("budget", "needed", "enough"),
    [("40 ROWS", 40, None), ("40 ROWS", 41, "41 ROWS"), ("8 KB", 6_553, None), ("8 KB", 10_000, "13 KB")],
)
def test_a_budget_below_what_one_batch_needs_is_answered_with_one_that_would_hold_it(
    budget: str, needed: int, enough: str | None
) -> None:
    told = too_small(plan_of(f"{STREAMS} SELECT /*+ BUDGET({budget}) */ r.n FROM r, s WHERE r.k = s.k;"), needed)
    assert (told is None) == (enough is None)
    assert enough is None or f"BUDGET({enough}) would hold it" in str(told)


def test_distinct_has_as_much_of_a_budget_as_the_rows_of_the_join() -> None:
    plan = plan_of(f"{STREAMS} SELECT /*+ BUDGET(40 ROWS) */ DISTINCT r.n FROM r, s WHERE r.k = s.k;")
    assert too_small(plan, 20) is None
    assert "BUDGET(42 ROWS) would hold it" in str(too_small(plan, 21))


SEVERAL = """
CREATE STREAM r (k BIGINT, n BIGINT, v BIGINT, EVENT TIME n, ORDERED BY n)
  USING parquet OPTIONS (path '{data}/r', maxFilesPerTrigger '1');
CREATE STREAM s (k BIGINT, n BIGINT, v BIGINT, EVENT TIME n, ORDERED BY n)
  USING parquet OPTIONS (path '{data}/s', maxFilesPerTrigger '1');
CREATE SINK plain USING parquet OPTIONS (path '{out}/plain');
CREATE SINK worth USING parquet OPTIONS (path '{out}/worth');
CREATE SINK once USING parquet OPTIONS (path '{out}/once');
CREATE SINK tumbling USING parquet OPTIONS (path '{out}/tumbling');
CREATE SINK missing USING parquet OPTIONS (path '{out}/missing');
CREATE SINK either USING parquet OPTIONS (path '{out}/either');
INSERT INTO plain SELECT /*+ BUDGET(40 ROWS) */ r.n AS rn, s.n AS sn, r.v * s.v AS v FROM r, s WHERE r.k = s.k;
INSERT INTO worth SELECT /*+ BUDGET(40 ROWS), VALUE(r.v * s.v) */ r.n AS rn, s.n AS sn, r.v * s.v AS v
  FROM r, s WHERE r.k = s.k;
INSERT INTO once SELECT /*+ BUDGET(60 ROWS) */ DISTINCT r.k, s.v FROM r, s WHERE r.k = s.k;
INSERT INTO tumbling SELECT /*+ BUDGET(60 ROWS) */ window(r.n, 50).start AS since, r.k, count(*) AS results
  FROM r [RANGE 100], s [RANGE 100] WHERE r.k = s.k GROUP BY window(r.n, 50), r.k;
INSERT INTO missing SELECT /*+ BUDGET(40 ROWS) */ r.n FROM r WHERE NOT EXISTS
  (SELECT 1 FROM s WHERE s.k = r.k AND r.n - s.n BETWEEN 0 AND 100);
INSERT INTO either SELECT /*+ BUDGET(3 KB) */ r.n AS rn, s.n AS sn
  FROM r FULL JOIN s ON s.k = r.k AND r.n - s.n BETWEEN 0 AND 100;
"""


@pytest.mark.thorough
def test_bytes_values_distinct_groups_and_missing_rows_under_budgets(bench: Bench) -> None:
    """Each is held after every batch; what is given is of the exact answer; values are kept in preference."""
    random = np.random.default_rng(9)
    rows = {
        name: [
            {"k": int(k), "n": n, "v": int(v)}
            for n, (k, v) in enumerate(zip(random.integers(0, 60, 300), random.choice([1, 50], 300), strict=True))
        ]
        for name in "rs"
    }
    schema = pa.schema([("k", pa.int64()), ("n", pa.int64()), ("v", pa.int64())])
    for first in range(0, 300, 100):
        for name in "rs":
            bench.write(name, rows[name][first : first + 100], schema)
    ran = bench.run(SEVERAL)
    assert ran.code == 0, ran.err
    pairs = [(a, b) for a in rows["r"] for b in rows["s"] if a["k"] == b["k"]]
    limits = {"plain": 40, "worth": 40, "once": 60, "tumbling": 60, "missing": 40}
    for line in ran.batches:
        if line["query"] == "either":
            assert line["state_bytes"] <= 3 << 10
        else:
            assert sum(line["state_rows"].values()) + line["promise_rows"] <= limits[line["query"]]
    last = {line["query"]: line for line in ran.batches}
    plain, worth = (sum(row[2] * count for row, count in bench.sink(name).items()) for name in ("plain", "worth"))
    assert worth > 1.1 * plain, "of which a third is of the first batch, which is joined whole"
    once = bench.sink("once")
    assert set(once) <= {(a["k"], b["v"]) for a, b in pairs}
    assert once.total() == len(once) == 30, "as many as there is room for"
    near = Counter((a["n"] // 50 * 50, a["k"]) for a, b in pairs if abs(a["n"] - b["n"]) < 100)
    tumbling = bench.sink("tumbling")
    assert tumbling
    assert max(tumbling.values()) == 1
    assert all(count <= near[since, k] for since, k, count in tumbling)
    before = [(a["n"], b["n"]) for a, b in pairs if 0 <= a["n"] - b["n"] <= 100]
    alone = [set(range(300)) - {pair[side] for pair in before} for side in (0, 1)]
    missing, either = bench.sink("missing"), bench.sink("either")
    assert missing <= Counter((n,) for n in alone[0])
    assert missing.total() > 0.9 * len(alone[0]), "keys of evicted rows are remembered, so few are lost"
    assert either <= Counter([*before, *((n, None) for n in alone[0]), *((None, n) for n in alone[1])])
    due = len(before) + sum(n < 299 for n in alone[0]) + sum(n < 199 for n in alone[1])
    assert 0 < either.total() < due, "the last rows of either wait for the other"
    assert last["either"]["recall"] == pytest.approx(
        either.total() / due, abs=max(0.05, last["either"]["recall_error"])
    )
    assert last["missing"]["recall"] == pytest.approx(missing.total() / len(alone[0]), abs=0.05)
    # BUDGET(40 ROWS) cannot hold a batch of 200 rows, and run says what could.
    assert "plain: BUDGET(40 ROWS) is less than one batch needs" in ran.err
    assert "BUDGET(200 ROWS) would hold it" in ran.err


TREE = (
    "".join(
        f"CREATE STREAM {name} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts WITHIN 0) "
        f"USING parquet OPTIONS (path '{{data}}/{name}', maxFilesPerTrigger '1');\n"
        for name in "rst"
    )
    + SINK
    + "INSERT INTO out SELECT /*+ BUDGET(60 ROWS) */ r.n AS rn, s.n AS sn, t.n AS tn FROM r "
    "LEFT JOIN s ON r.k = s.k AND s.ts - r.ts BETWEEN 0 AND 40 "
    "FULL JOIN t ON t.k = r.k AND t.ts - r.ts BETWEEN 0 AND 40;"
)


@pytest.mark.thorough
def test_under_a_tree_of_outer_joins_a_budget_is_held_and_nothing_wrong_is_given(bench: Bench) -> None:
    random = np.random.default_rng(5)
    streams = {name: random.integers(0, 60, 300) for name in "rst"}
    schema = pa.schema([("k", pa.int64()), ("ts", pa.int64()), ("n", pa.int64())])
    for start in range(0, 300, 60):
        for name, keys in streams.items():
            bench.write(name, [{"k": int(keys[n]), "ts": n, "n": n} for n in range(start, start + 60)], schema)
    ran = bench.run(TREE, conf={"penstock.cells": "2"})
    assert ran.code == 0, ran.err
    assert all(sum(batch["state_rows"].values()) <= 60 for batch in ran.batches)
    assert sum(batch["evicted"] for batch in ran.batches) > 0
    r, s, t = (streams[name] for name in "rst")
    left: list[tuple[int, int | None]] = []
    rows: list[tuple[int | None, ...]] = []
    for n in range(300):
        met = [m for m in range(n, min(300, n + 41)) if s[m] == r[n]]
        left += [(n, m) for m in met] or [(n, None)]
    for n, m in left:
        met = [o for o in range(n, min(300, n + 41)) if t[o] == r[n]]
        rows += [(n, m, o) for o in met] or [(n, m, None)]
    whole = Counter(rows)
    met_by = {row[2] for row in whole}
    whole += Counter((None, None, o) for o in range(300) if o not in met_by)
    found = bench.sink()
    assert found
    assert not found - whole
