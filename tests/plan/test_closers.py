"""The closings of the analysis as the plan carries them; what can never be met is closed from the first."""

from __future__ import annotations

import pyarrow as pa
import pytest

import penstock
from penstock.explain.closing_text import when_closed
from penstock.explain.reason_words import each_told
from penstock.plan.closer_plans import CloserKind
from penstock.testing import Run
from tests.runtime.driving import plan_of

STREAMS = "CREATE STREAM a (j BIGINT); CREATE STREAM d (j BIGINT);"
NEVER = "a.j = d.j AND a.j < d.j"


@pytest.mark.parametrize(
    ("select", "given"),
    [
        (f"a.j, d.j AS dj FROM a LEFT JOIN d ON {NEVER}", [(1, None)]),
        (f"a.j, d.j AS dj FROM a FULL JOIN d ON {NEVER}", [(1, None), (None, 2)]),
        (f"a.j FROM a WHERE NOT EXISTS (SELECT 1 FROM d WHERE {NEVER})", [(1,)]),
        (f"a.j FROM a WHERE EXISTS (SELECT 1 FROM d WHERE {NEVER})", []),
        ("a.j FROM a LEFT JOIN d ON a.j = d.j AND d.j > 3 AND d.j < 2", [(1,)]),
    ],
)
def test_a_join_that_never_matches_is_bounded_and_runs(select: str, given: list[tuple[int | None, ...]]) -> None:
    script = penstock.parse(f"{STREAMS} SELECT {select};")
    verdict = penstock.check(script)
    assert verdict.verdict == "bounded"
    assert each_told(verdict.notices) == ()
    run = Run(script)
    for _ in range(3):
        step = run.step({"a": pa.table({"j": [1]}), "d": pa.table({"j": [2]})})
        assert [tuple(row.values()) for row in step.rows.to_pylist()] == given
        assert step.metrics["state_rows"] == {"a": 0, "d": 0}
        run.restart()


def test_what_never_matches_is_a_closer_of_outer_joins_alone() -> None:
    plan = plan_of(f"{STREAMS} SELECT a.j FROM a LEFT JOIN d ON {NEVER};")
    (closer,) = plan.closers_between("a", "d")
    assert (closer.kind, closer.certain) == (CloserKind.NEVER, True)
    assert when_closed(plan, closer) == "it was read, for no row of d ever matches it"
    assert plan_of(f"{STREAMS} SELECT a.j FROM a, d WHERE {NEVER};").closers == ()
