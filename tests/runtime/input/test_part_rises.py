"""How columns rise part by part, against loops over each part by itself with the headers of streams without parts."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.runtime.input.batch import numbered
from penstock.runtime.input.headers import header_of, read_header, spell
from penstock.runtime.input.part_rises import Parting, PartRises
from penstock.runtime.input.wire_columns import PART, PART_ROW
from tests.runtime.driving import plan_of

SCRIPT = (
    "CREATE STREAM s (k BIGINT, p STRING, v {kind}{parts}, ORDERED BY v WITHIN 2 ROWS, {more});"
    "CREATE STREAM t (k BIGINT); SELECT s.v FROM s, t WHERE s.k = t.k;"
)
KINDS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "BIGINT": (pa.int64(), lambda v: v),
    "STRING": (pa.string(), lambda v: f"{v + 50:04d}"),
}


def data(rows: list[tuple[Any, Any]], kind: str) -> Any:
    typed, make = KINDS[kind]
    values = [None if v is None else make(v) for _, v in rows]
    columns = {"k": pa.array([1] * len(rows), pa.int64()), "p": pa.array([p for p, _ in rows], pa.string())}
    return pa.table({**columns, "v": pa.array(values, typed)})


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_part_rises_as_a_stream_of_its_own(kind: str) -> None:
    more = "EVENT TIME v, ORDERED BY v WITHIN 3" if kind == "BIGINT" else "PRIMARY KEY (k)"
    whole = plan_of(SCRIPT.format(kind=kind, parts="", more=more))
    parted = plan_of(SCRIPT.format(kind=kind, parts=", PARTS BY p", more=more))
    for seed in range(150):
        draw = Random(seed)
        names = [None, "a", "b", "c"][: draw.randint(1, 4)]
        rows = [(draw.choice(names), draw.choice([None, *range(12)])) for _ in range(draw.randint(1, 30))]
        indexed, _ = numbered(parted, "s", data(rows, kind))
        header = header_of(parted, "s", 0, indexed)
        assert read_header("s", 0, spell(header)) == header
        parts = header.parts
        assert parts is not None
        assert [parts.names[n] for n in indexed.column(PART).to_pylist()] == [p for p, _ in rows]
        late: dict[str, dict[int, int]] = {}
        for number, name in enumerate(parts.names):
            places = [place for place, (part, _) in enumerate(rows) if part == name]
            assert [indexed.column(PART_ROW).to_pylist()[place] for place in places] == list(range(len(places)))
            own, _ = numbered(whole, "s", data([rows[place] for place in places], kind))
            alone = header_of(whole, "s", 0, own)
            assert parts.rows[number] == alone.rows
            assert parts.tops.get("v", [None] * 9)[number] == alone.maxima.get("v")
            if "v" in alone.climbs:
                assert parts.climbs["v"][number] == alone.climbs["v"], seed
            for constraint, found in alone.late.items():
                pairs = zip(found.index, found.needed, strict=True)
                late.setdefault(constraint, {}).update((places[row], needed) for row, needed in pairs)
        told = {c: dict(zip(found.index, found.needed, strict=True)) for c, found in header.late.items()}
        assert told == late, seed
        assert all(list(found.index) == sorted(found.index) for found in header.late.values())


def test_numbers_that_lie_too_far_apart_are_told_by_their_ranks() -> None:
    most = 2**62
    parting = Parting.of(np.array([0, 1, 0, 1], np.int64))
    rises = PartRises.of(pa.array([-most, most, most, -most], pa.int64()), parting)
    assert rises is not None
    assert rises.tops() == (most, most)
    (promise,) = (
        p
        for p in plan_of(SCRIPT.format(kind="BIGINT", parts="", more="EVENT TIME v, ORDERED BY v WITHIN 3")).promises
        if p.high is not None
    )
    needed = rises.needed(promise)
    assert needed is not None
    assert needed.tolist() == [0, 0, 0, 2**63 - 1]


def test_a_piece_without_rows_has_no_parts() -> None:
    plan = plan_of(SCRIPT.format(kind="BIGINT", parts=", PARTS BY p", more="PRIMARY KEY (k)"))
    header = header_of(plan, "s", 0, numbered(plan, "s", data([], "BIGINT"))[0])
    assert header.parts is not None
    assert header.parts.names == ()
