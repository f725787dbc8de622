"""`Query.holding`, against running the query.

The oracle: relations of a few rows over {0, 1, NULL}, the tree of FROM evaluated as SQL says, row by row, in
three-valued logic. Wherever the tuples of some streams stand together in a result, every stream that `holding` calls
present must be there, and every predicate that it claims must be true there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product
from random import Random

from hypothesis import event, given, settings
from hypothesis import strategies as st

from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, Comparison, NoneOf, NullTest, Op, Predicate
from penstock.model.query import Query
from penstock.model.relation import Existence, FromTree, Join, JoinKind, Leaf, leaves
from tests.analysis.build import condition, constant, query, ref, source, stream, where
from tests.measure import size

Value = int | None
Tuple = dict[str, Value]
Row = dict[str, Tuple | None]
"""The tuple of each alias; None where an outer join found no match."""

COLUMNS = ("k", "v")


# The oracle


def _cell(row: Row, column: ColumnRef) -> Value:
    found = row.get(column.alias)
    return None if found is None else found[column.column]


def _is_true(predicate: Predicate, row: Row) -> bool:
    """True, and neither false nor unknown."""
    match predicate:
        case NullTest(column=column, is_null=is_null):
            return (_cell(row, column) is None) is is_null
        case NoneOf(column=column, constants=constants):
            return _cell(row, column) not in {None, *(c.value for c in constants)}
        case Comparison():
            left, right = _cell(row, predicate.left), _cell(row, predicate.right)
        case Bound(constant=constant):
            left, right = _cell(row, predicate.column), int(str(constant.value))
        case _:
            raise AssertionError(predicate)
    if left is None or right is None:
        return False
    return {
        Op.EQ: left == right,
        Op.LT: left < right,
        Op.LE: left <= right,
        Op.GT: left > right,
        Op.GE: left >= right,
    }[predicate.op]


def _rows(tree: FromTree, data: dict[str, list[Tuple]]) -> list[Row]:
    if isinstance(tree, Leaf):
        return [{tree.alias: one} for one in data[tree.alias]]
    left, right = _rows(tree.left, data), _rows(tree.right, data)
    pairs = [(i, j) for i, j in product(range(len(left)), range(len(right)))]
    matched = [(i, j) for i, j in pairs if all(_is_true(p, left[i] | right[j]) for p in tree.on)]
    found = [left[i] | right[j] for i, j in matched]
    if tree.kind in (JoinKind.LEFT, JoinKind.FULL):
        lonely = set(range(len(left))) - {i for i, _ in matched}
        found += [left[i] | dict.fromkeys(leaves(tree.right)) for i in sorted(lonely)]
    if tree.kind in (JoinKind.RIGHT, JoinKind.FULL):
        lonely = set(range(len(right))) - {j for _, j in matched}
        found += [dict.fromkeys(leaves(tree.left)) | right[j] for j in sorted(lonely)]
    return found


def _results(of: Query, data: dict[str, list[Tuple]]) -> Iterator[Row]:
    """Every result, or row to be; one with a stream of EXISTS for each of its tuples that satisfies the condition."""
    for row in _rows(of.tree, data):
        if all(_is_true(p, row) for p in of.where):
            yield row
            for existence in of.existences:
                for one in data[existence.source.alias]:
                    extended = row | {existence.source.alias: one}
                    if all(_is_true(p, extended) for p in existence.condition):
                        yield extended


# Random queries and relations


@dataclass
class Draw:
    """Writes a query over one to four streams and fills them."""

    random: Random

    def predicate(self, sides: list[str]) -> Predicate:
        def column() -> ColumnRef:
            return ref(f"{self.random.choice(sides)}.{self.random.choice(COLUMNS)}")

        match self.random.randrange(6):
            case 0:
                return NullTest(column(), is_null=self.random.random() < 0.7)
            case 2:
                return NoneOf(column(), (constant(self.random.randint(0, 1)),))
            case 1:
                return where(f"{column()} {self.random.choice(list(Op))} {self.random.randint(0, 1)}")
            case _:
                return Comparison(column(), self.random.choice(list(Op)), column())

    def predicates(self, sides: list[str], most: int) -> tuple[Predicate, ...]:
        return tuple(self.predicate(sides) for _ in range(self.random.randint(0, most)))

    def tree(self, names: list[str]) -> FromTree:
        if len(names) == 1:
            return Leaf(names[0])
        cut = self.random.randint(1, len(names) - 1)
        return Join(
            self.random.choice(list(JoinKind)),
            self.tree(names[:cut]),
            self.tree(names[cut:]),
            self.predicates(names, 2),
        )

    def query(self) -> Query:
        names = list("abcd"[: self.random.randint(1, 4)])
        existences = []
        if self.random.random() < 0.3:
            inner = source(stream("e", "k BIGINT, v BIGINT"))
            existences.append(Existence(inner, self.random.random() < 0.5, self.predicates([*names, "e"], 2)))
        sources = [source(stream(name, "k BIGINT, v BIGINT")) for name in names]
        return query(sources, *self.predicates(names, 2), tree=self.tree(names), exists=existences)

    def data(self, names: list[str]) -> dict[str, list[Tuple]]:
        values = [None, 0, 1]
        return {
            name: [{c: self.random.choice(values) for c in COLUMNS} for _ in range(self.random.randint(0, 3))]
            for name in names
        }


@settings(max_examples=size(400, 5000), deadline=None)
@given(st.randoms(use_true_random=False))
def test_what_holding_claims_holds_in_every_result(random: Random) -> None:
    draw = Draw(random)
    of = draw.query()
    names = [s.alias for s in of.all_sources]
    subsets = [frozenset(c) for c in chain.from_iterable(combinations(names, n) for n in range(len(names) + 1))]
    seen = 0
    for _ in range(4):
        for row in _results(of, draw.data(names)):
            there = {alias for alias, one in row.items() if one is not None}
            for together in subsets:
                if together <= there:
                    held = of.holding(together)
                    seen += 1
                    assert held.present <= there, f"{together} in {row}: {of.tree}"
                    assert all(_is_true(p, row) for p in held.predicates), f"{together} in {row}: {of.tree}"
    event("some results" if seen else "no result")


def test_on_of_an_outer_join_holds_only_where_its_optional_side_is_there() -> None:
    streams = [source(stream(name, "k BIGINT, v BIGINT")) for name in "ab"]
    tree = Join(JoinKind.LEFT, Leaf("a"), Leaf("b"), (where("a.k = b.k"),))
    of = query(streams, tree=tree)
    assert of.core == {"a"}
    assert of.holding(frozenset("a")).predicates == ()
    assert of.holding(frozenset("b")).present == {"a", "b"}
    assert of.holding(frozenset("b")).predicates == (where("a.k = b.k"),)


def test_where_that_rejects_null_makes_the_optional_side_present_and_one_that_may_not_does_not() -> None:
    streams = [source(stream(name, "k BIGINT, v BIGINT")) for name in "ab"]
    tree = Join(JoinKind.LEFT, Leaf("a"), Leaf("b"), (where("a.k = b.k"),))
    assert query(streams, "b.v > 1", tree=tree).core == {"a", "b"}
    assert query(streams, condition("b.v IS NULL", "b.v"), tree=tree).core == {"a"}


def test_full_join_has_no_core_until_where_says_so() -> None:
    streams = [source(stream(name, "k BIGINT, v BIGINT")) for name in "abc"]
    tree = Join(
        JoinKind.FULL,
        Join(JoinKind.INNER, Leaf("a"), Leaf("b"), (where("a.k = b.k"),)),
        Leaf("c"),
        (where("c.k = a.k"),),
    )
    assert query(streams, tree=tree).core == frozenset()
    assert query(streams, tree=tree).holding(frozenset("a")).present == {"a", "b"}
    assert query(streams, "b.v > 0", tree=tree).core == {"a", "b"}
    held = query(streams, tree=tree).holding(frozenset("bc"))
    assert held.present == {"a", "b", "c"}
    assert set(held.predicates) == {where("a.k = b.k"), where("c.k = a.k")}
