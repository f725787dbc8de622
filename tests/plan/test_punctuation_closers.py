"""Punctuations as closers: for one stream that carries all their values, or for several together."""

from __future__ import annotations

import pytest

from penstock.plan.closer_plans import CloserKind
from tests.runtime.driving import plan_of

ROWS = "k BIGINT, m BIGINT, kind BIGINT"
STREAMS = f"CREATE STREAM a ({ROWS}{{}}); CREATE STREAM b ({ROWS}); CREATE STREAM c ({ROWS});"


@pytest.mark.parametrize(
    ("on", "select", "columns"),
    [
        ("k", "a, b WHERE a.k = b.k AND a.m = b.m", [("k",)]),
        ("k, m", "a, b WHERE a.k = b.k AND a.m = b.m", [("k", "m")]),
        ("k, m", "a, b WHERE a.k = b.k", []),
        ("kind", "a, b WHERE a.kind = b.kind", [("kind",)]),
    ],
)
def test_a_stream_that_names_every_column_is_closed_by_them(
    on: str, select: str, columns: list[tuple[str, ...]]
) -> None:
    plan = plan_of(f"{STREAMS.format(f', PUNCTUATED ON ({on}) WHEN kind = 1')} SELECT a.k FROM {select};")
    found = [c for c in plan.closers if c.kind is CloserKind.PUNCTUATION]
    assert [(c.source, c.target, c.columns) for c in found] == [("b", "a", names) for names in columns]
    # A WHEN that reads the column closes only the values that it lets through.
    assert all(c.certain == (on != "kind") for c in found)


def test_rows_that_are_punctuations_are_no_data_whether_they_are_of_use_or_not() -> None:
    plan = plan_of(f"{STREAMS.format(', PUNCTUATED ON (m) WHEN kind = 1')} SELECT a.k FROM a, b WHERE a.k = b.k;")
    assert [(rows.stream, rows.when) for rows in plan.punctuations] == [("a", "kind = 1")]
    assert [useless.alias for useless in plan.useless] == ["a"]


def test_several_streams_may_carry_the_values_between_them() -> None:
    more = ", PUNCTUATED ON (k, m) WHEN kind = 1"
    tied = "a, b, c WHERE a.k = b.k AND a.m = c.m AND b.kind = c.kind"
    plan = plan_of(
        f"{STREAMS.format(more)} SELECT a.k FROM {tied};".replace(
            f"STREAM b ({ROWS})", f"STREAM b ({ROWS}, ORDERED BY kind)"
        ).replace(f"STREAM c ({ROWS})", f"STREAM c ({ROWS}, ORDERED BY kind)")
    )
    (joint,) = plan.joint_closers
    assert (joint.target, joint.target_columns) == ("a", ("k", "m"))
    assert [[ref.alias for ref in refs] for refs in joint.partners] == [["b"], ["c"]]
