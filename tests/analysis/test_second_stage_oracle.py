"""The oracle for DISTINCT and GROUP BY bounded by time: a value that its clock has passed does not come again.

The queries and histories are those of test_purge_oracle.py, asked for the distinct event times of `a`. Where the
verdict says that such a row is kept until the clock of `a` has passed it, a value v is picked, the clock of `a` passes
v, and for every row of `a` with it the streams move on as its own bound says. From then on no continuation that keeps
the declarations may add or take back a result with `a.n = v`, by the naive evaluator: the memory of v is not needed
any more.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.analysis.closings.closing_graph import ClosingGraph
from penstock.analysis.facts.together import Facts
from penstock.analysis.finding import Bounded, Means
from penstock.explain.reason_words import told
from penstock.model.clauses import Output
from penstock.model.query import Query
from tests.analysis.build import findings, ref
from tests.analysis.reference import Arrival, Evaluator, keeps_promises
from tests.analysis.test_purge_oracle import World, queries


def _with_time(world: World, history: list[Arrival], value: int) -> Counter[object]:
    answer = Evaluator(world.query, history).answer()
    found: Counter[object] = Counter()
    for combined, times in answer.items():
        row = dict(combined)["a"]
        if row is not None and row.value("n") == value:
            found[combined] = times
    return found


@settings(max_examples=40)
@given(queries(), st.integers(0, 2**32))
def test_an_event_time_that_was_passed_gives_no_new_result(joined: Query, seed: int) -> None:
    of = joined.with_block(replace(joined.block, outputs=(Output("n", ref("a.n")),), distinct=True))
    finding = findings(of)["(distinct)"]
    assume(
        isinstance(finding, Bounded)
        and finding.means is Means.PURGE
        and "until the clock of a has passed it" in told(finding.bound)
    )
    world = World(of, seed)
    for _ in range(world.random.randrange(2, 7)):
        world.add(world.any_row(range(6)))
    own = [a for a in world.history if a.stream == "a"]
    assume(own)
    value = world.random.choice(own).value("n")
    assert value is not None
    reach = ClosingGraph(Facts(of)).reach("a")
    assume(world.pass_value(of.by_alias["a"].stream, "n", value + 1))
    for row in own:
        assume(row.value("n") != value or world.move_on(row, "a", reach))
    before = _with_time(world, world.history, value)
    for _ in range(40):
        future = [world.any_row(range(-1, 14)) for _ in range(world.random.choice((1, 2)))]
        future = [world.like(a, own[0]) if world.random.random() < 0.7 else a for a in future]
        history = [*world.history, *future]
        if keeps_promises(world.streams, history):
            assert _with_time(world, history, value) == before
