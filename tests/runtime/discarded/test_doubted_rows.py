"""What is set aside and what is final; shadows count what they would have given, once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from penstock.runtime.discarded import doubted_rows
from penstock.testing import Run
from tests.runtime.driving import Driver

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts {1});"
NEAR = "r.k = s.k AND s.ts - r.ts BETWEEN 0 AND 5"
INNER = f"SELECT r.n, s.n AS m FROM r, s WHERE {NEAR};"
MONITORED = f"SELECT /*+ MONITOR(100, 1, 1000) */ {{}} FROM r LEFT JOIN s ON {NEAR};"


def rows_aside(driver: Driver) -> dict[str, int]:
    return {alias: piles.rows for alias, piles in driver.cell.doubted_rows.piles.items()}


def test_a_row_that_trusted_promises_close_is_not_set_aside() -> None:
    """s is recovered, r is not: a row of s leaves by what r promises, and is final."""
    driver = Driver(STREAM.format("r", "") + STREAM.format("s", "ON VIOLATION RECOVER") + INNER)
    driver.step(r=[(1, 10, 1)], s=[(1, 10, 2)])
    driver.step(r=[(2, 100, 1)], s=[(2, 100, 2)])
    assert rows_aside(driver) == {"r": 1, "s": 0}


def test_nothing_is_set_aside_where_nothing_is_in_doubt() -> None:
    driver = Driver(STREAM.format("r", "") + STREAM.format("s", "") + INNER)
    driver.step(r=[(1, 10, 1)], s=[(1, 10, 2)])
    driver.step(r=[(2, 100, 1)], s=[(2, 100, 2)])
    assert rows_aside(driver) == {"r": 0, "s": 0}
    assert (driver.cell.doubted_rows.nbytes, driver.cell.doubted_rows.shadows) == (0, 0)


def test_a_shadow_counts_the_match_that_is_lost_and_the_row_that_it_contradicts_once() -> None:
    driver = Driver(STREAM.format("r", "WITHIN 0") + STREAM.format("s", "WITHIN 0") + MONITORED.format("r.n, s.n AS m"))
    first = driver.step(r=[(1, 10, 1)], s=[(9, 100, 0)])
    assert first.rows.num_rows == 1
    assert driver.cell.doubted_rows.shadows == 1
    for number in range(2):
        late = driver.step(s=[(1, 12, 7)])
        assert late.rows.num_rows == 0
        assert (late.metrics.lost, late.metrics.contradicted) == (1, int(number == 0))
        driver.restart()


def test_a_late_row_finds_a_shadow_and_is_not_given_without_a_match() -> None:
    driver = Driver(STREAM.format("r", "WITHIN 0") + STREAM.format("s", "WITHIN 0") + MONITORED.format("r.n"))
    driver.step(r=[(9, 100, 0)], s=[(1, 11, 1), (9, 100, 0)])
    late = driver.step(r=[(1, 10, 5), (2, 10, 6)], s=[(8, 101, 0)])
    assert late.rows.column(0).to_pylist() == [6]
    assert late.metrics.lost == 1


TRUSTED = STREAM.format("r", "ON VIOLATION TRUST") + STREAM.format("s", "ON VIOLATION TRUST")


class AuditedRun(Run):
    audit = 1.0


def rows(*values: tuple[int, int, int]) -> Any:
    columns = {name: [value[place] for value in values] for place, name in enumerate(("k", "ts", "n"))}
    return pa.table({name: pa.array(own, pa.int64()) for name, own in columns.items()})


@pytest.mark.parametrize("run", [Run, AuditedRun])
def test_an_audit_finds_what_a_purge_has_lost(run: type[Run]) -> None:
    """Without it the row of s that comes too late is counted as a violation, but not what it would have met."""
    one = run(TRUSTED + INNER, cells=2)
    one.step({"r": rows((1, 10, 1)), "s": rows((1, 11, 2))})
    moved = one.step({"r": rows((2, 100, 1)), "s": rows((2, 100, 2))})
    assert moved.metrics["state_rows"] == {"r": 1, "s": 1}
    assert moved.metrics.get("audited") == (2 if run.audit else None)
    one.restart()
    late = one.step({"s": rows((1, 12, 3))})
    assert late.rows.num_rows == 0
    assert late.metrics["lost"] == int(run.audit)
    assert late.metrics["exact"] is False


def test_an_audit_of_kept_promises_finds_nothing_and_keeps_so_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubted_rows, "MOST_AUDITED", 20)
    plain, audited = Run(TRUSTED + INNER), AuditedRun(TRUSTED + INNER)
    for batch in range(40):
        given = {name: rows(*((batch % 3, 10 * batch + n, n) for n in range(5))) for name in "rs"}
        steps = [one.step(given) for one in (plain, audited)]
        assert steps[0].rows == steps[1].rows
        assert steps[1].metrics["lost"] == 0
        assert steps[0].metrics["state_rows"] == steps[1].metrics["state_rows"]
        assert steps[1].metrics["audited"] <= 2 * 20
    assert steps[1].metrics["audited"] > 0


def test_a_share_of_the_keys_is_audited_and_none_after_it_is_turned_off() -> None:
    one = AuditedRun(TRUSTED + INNER)
    one.top.plan = replace(one.top.plan, audit=0.5)
    one.top.restart()
    one.step({name: rows(*((k, 10, k) for k in range(200))) for name in "rs"})
    moved = one.step({name: rows((999, 1000, 0)) for name in "rs"})
    assert 130 < moved.metrics["audited"] < 270
    one.top.plan = replace(one.top.plan, audit=0.0)
    one.top.restart()
    off = one.step({"r": rows((998, 1001, 0))})
    assert "audited" not in off.metrics
    assert sum(piles.rows for cell in one.top.cells for piles in cell.doubted_rows.piles.values()) == 0


@pytest.mark.parametrize(
    ("select", "given", "lost", "contradicted"),
    [
        (f"SELECT r.n, s.n AS m FROM r LEFT JOIN s ON {NEAR};", 0, 1, 1),
        (f"SELECT r.n FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE {NEAR});", 0, 0, 1),
        (f"SELECT r.n FROM r WHERE EXISTS (SELECT 1 FROM s WHERE {NEAR});", 0, 1, 0),
    ],
)
def test_an_audit_of_an_outer_join_or_exists_finds_what_was_lost_and_what_was_wrong(
    select: str, given: int, lost: int, contradicted: int
) -> None:
    one = AuditedRun(TRUSTED + select)
    one.step({"r": rows((1, 10, 1))})
    one.step({"r": rows((2, 100, 1)), "s": rows((3, 100, 2))})
    one.restart()
    late = one.step({"s": rows((1, 12, 3))})
    assert late.rows.num_rows == given
    assert (late.metrics["lost"], late.metrics["contradicted"], late.metrics["exact"]) == (lost, contradicted, False)
