"""Each result of a batch once, in the pass of its last fresh source: against all combinations, however rows are cut."""

from __future__ import annotations

from collections import Counter
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.match.delta_join import delta_join, passes
from penstock.runtime.state.synopsis import ALL, OLD
from tests.runtime.driving import Driver
from tests.runtime.stored import stored

SCRIPT = (
    "CREATE STREAM a (k BIGINT, ts BIGINT, n BIGINT); CREATE STREAM b (k BIGINT, ts BIGINT, n BIGINT);"
    "CREATE STREAM c (k BIGINT, ts BIGINT, n BIGINT);"
    "SELECT a.n, b.n AS m, c.n AS o FROM a, b, c WHERE a.k = b.k AND b.ts = c.ts;"
)
BATCH = st.dictionaries(st.sampled_from("abc"), st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=4))


@settings(max_examples=60, deadline=None)
@given(st.lists(BATCH, min_size=1, max_size=3))
def test_every_combination_comes_once_when_it_is_complete(batches: list[dict[str, list[tuple[int, int]]]]) -> None:
    driver = Driver(SCRIPT)
    seen: dict[str, list[tuple[int, int, int]]] = {name: [] for name in "abc"}
    number, given_so_far = 0, Counter[tuple[int, int, int]]()
    for batch in batches:
        rows = {name: [(k, ts, number := number + 1) for k, ts in batch.get(name, [])] for name in "abc"}
        fed: dict[str, list[tuple[int | None, ...]]] = {name: [*found] for name, found in rows.items()}
        result = driver.step(**fed)
        given_so_far += Counter(zip(*(c.to_pylist() for c in result.rows.columns), strict=True))
        for name, found in rows.items():
            seen[name] += found
        combined = product(*seen.values())
        assert given_so_far == Counter((a[2], b[2], c[2]) for a, b, c in combined if a[0] == b[0] and b[1] == c[1])


def test_no_pass_starts_where_a_stream_has_no_rows_or_nothing_is_fresh() -> None:
    some: dict[str, list[int]] = {"k": [1]}
    none: dict[str, list[int]] = {"k": []}
    assert list(passes(("a", "b"), {"a": stored(none, some), "b": stored(none)})) == []
    assert list(passes(("a", "b"), {"a": stored(some), "b": stored(some)})) == []


def test_the_largest_batch_probes_and_meets_all_of_the_others() -> None:
    synopses = {"a": stored({"k": [1]}, {"k": [1, 1, 1]}), "b": stored({"k": [1]}, {"k": [2]})}
    assert list(passes(("a", "b"), synopses)) == [("b", {"a": OLD}), ("a", {"b": ALL})]


def test_without_rows_there_is_no_result() -> None:
    driver = Driver(SCRIPT)
    cell = driver.cell
    assert delta_join(driver.plan, cell.matcher, cell.clock, None, ()) == []
