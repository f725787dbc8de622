"""What is watched: the declarations that close something, and whatever has an answer to being broken."""

from __future__ import annotations

import pytest

from penstock.model.schemes import Policy
from penstock.plan.promise_plans import PromiseKind
from tests.runtime.driving import plan_of

STREAM = "CREATE STREAM {0} (k BIGINT, ts BIGINT, n BIGINT, EVENT TIME ts, ORDERED BY ts{1});"
SELECT = "SELECT a.n FROM a, b WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 9;"


@pytest.mark.parametrize(
    ("declared", "kind", "rows"),
    [
        (", PRIMARY KEY (k)", PromiseKind.PRIMARY_KEY, None),
        (", CLUSTERED BY k WITHIN 3 ROWS", PromiseKind.CLUSTERED, 3),
        (", FOLLOWS b (k) ON (k) WITHIN 4 ROWS", PromiseKind.FOLLOWS_ROWS, 4),
        (", FOLLOWS b (k) ON (k) WITHIN 4", PromiseKind.FOLLOWS_TIME, None),
        (", COOCCURS (k) AND b (k) WINDOW [0, 4]", PromiseKind.COOCCURS, None),
        (", ARRIVES BY n", PromiseKind.ARRIVES, 0),
    ],
)
def test_a_declaration_becomes_a_promise_of_its_kind(declared: str, kind: PromiseKind, rows: int | None) -> None:
    plan = plan_of(STREAM.format("a", declared) + STREAM.format("b", "") + SELECT)
    (promise,) = (p for p in plan.promises if p.kind is kind)
    assert (promise.alias, promise.rows, promise.policy) == ("a", rows, Policy.ADAPT)


def test_the_clocks_of_a_band_are_watched_with_their_policy() -> None:
    failing = STREAM.format("a", " ON VIOLATION FAIL").replace("ORDERED BY ts ON", "ORDERED BY ts WITHIN 2 ON")
    plan = plan_of(failing + STREAM.format("b", "") + SELECT)
    found = {p.alias: (p.kind, p.policy) for p in plan.promises}
    assert found["a"] == (PromiseKind.ORDERED_TIME, Policy.FAIL)
    assert found["b"] == (PromiseKind.ORDERED_ROWS, Policy.ADAPT)


def test_a_stream_of_which_nothing_is_asked_is_not_watched() -> None:
    plan = plan_of("CREATE STREAM a (k BIGINT, CLUSTERED BY k WITHIN 3 ROWS); SELECT k FROM a;")
    assert plan.promises == ()
