"""What the declarations say of the rows that a query can use, and the questions that the rules ask of it.

A source of the query sees a sub-stream: the rows that pass the conditions on it alone and have a value wherever a tie
to another source needs one. What is declared of all rows, or all pairs of rows, holds of the rows of sub-streams too.
A FOREIGN KEY is different: the partner that it guarantees may be outside. It is used only where every condition of the
partner's sub-stream is about columns that the FOREIGN KEY pairs and holds of the row itself, or is a column that is
never NULL. A stream under two aliases has two sub-streams; that a row may be in both is not used.

Questions are rules denied and refuted by the chase (`implication/chase.py`). One that the chase gives up on counts as
not implied, and `is_decided` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.analysis.facts.domains import declared_domain
from penstock.analysis.implication.chase import Chase, GaveUp, Refuted
from penstock.analysis.implication.rules import (
    Apart,
    OneRow,
    Partner,
    Reach,
    Rule,
    SameValues,
    premise_of,
    rule_between,
    shape_of,
)
from penstock.analysis.rewriting.question import CountQuestion
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Bound, OneOf, Predicate
from penstock.model.schemes import ForeignKey, Scheme, reference_of

Pairs = tuple[tuple[str, str], ...]
"""Columns of two sources, side by side."""


class SubStreams:
    """The sub-streams of a query and what is declared of them."""

    def __init__(self, question: CountQuestion) -> None:
        self.question = question
        self.is_decided = True
        sources = question.query.by_alias
        self._places = {alias: place for place, alias in enumerate(question.aliases)}
        self._streams = tuple(sources[alias].stream for alias in question.aliases)
        self._shapes = tuple(
            replace(shape_of(stream), name=alias) for stream, alias in zip(self._streams, question.aliases, strict=True)
        )
        self._required = tuple(
            tuple(self.has_value(alias, column) for column in shape.columns)
            for alias, shape in zip(question.aliases, self._shapes, strict=True)
        )
        self._rules = tuple(self._found_rules())
        self._answers: dict[Rule, bool] = {}

    def has_value(self, alias: str, column: str) -> bool:
        """Whether no row of a sub-stream lacks a value in a column."""
        if self._is_never_null(alias, column):
            return True
        return column in self.question.not_null(alias)

    def _is_never_null(self, alias: str, column: str) -> bool:
        stream = self._streams[self._places[alias]]
        return stream.type_of(column) is None or not declared_domain(stream, column).nullable

    def _found_rules(self) -> Iterator[Rule]:
        for own, stream in enumerate(self._streams):
            for scheme in stream.schemes:
                for other in self._others(own, scheme):
                    rule = rule_between(self._streams, self._shapes, own, other, scheme)
                    if rule is not None and (not isinstance(scheme, ForeignKey) or self._keeps(own, other, scheme)):
                        yield rule

    def _others(self, own: int, scheme: Scheme) -> Iterator[int]:
        reference = reference_of(scheme)
        if reference is None:
            yield own
            return
        for place, stream in enumerate(self._streams):
            if stream.name == reference.stream:
                yield place

    def _keeps(self, own: int, other: int, scheme: ForeignKey) -> bool:
        """Whether the partner that a FOREIGN KEY guarantees is in the other sub-stream."""
        aliases = self.question.aliases
        partner = aliases[other]
        paired = {c: o for o, c in zip(scheme.columns, scheme.parent_columns, strict=True)}
        for column in self.question.not_null(partner):
            is_time = column == self._streams[other].event_time
            if not is_time and column not in paired and not self._is_never_null(partner, column):
                return False
        own_filters = {p for p in self.question.filters[aliases[own]] if isinstance(p, Bound | OneOf)}
        return all(
            _moved(condition, aliases[own], paired) in own_filters for condition in self.question.filters[partner]
        )

    def is_key(self, alias: str, columns: tuple[str, ...]) -> bool:
        """Whether rows that agree on the columns are one."""
        place = self._places[alias]
        premise = premise_of(self._shapes, place, place, tuple((c, c) for c in columns), Reach())
        return premise is not None and self._is_implied(OneRow(premise, "a key"))

    def refers(self, child: str, parent: str, pairs: Pairs) -> bool:
        """Whether every row of one has a partner in the other that agrees on the pairs."""
        premise = premise_of(self._shapes, self._places[child], self._places[parent], pairs, Reach())
        return premise is not None and self._is_implied(Partner(premise, False, "a partner"))

    def agree(self, left: str, right: str, given: Pairs, when: Reach, then: Pairs) -> bool:
        """Whether rows that agree on some pairs, `when` apart, agree on others."""
        one, other = self._places[left], self._places[right]
        premise = premise_of(self._shapes, one, other, given, when)
        if premise is None:
            return False
        values: list[tuple[int, int]] = []
        for own, its in then:
            places = self._shapes[one].place(own), self._shapes[other].place(its)
            if places[0] is not None and places[1] is not None:
                values.append((places[0], places[1]))
            elif places != (None, None) or not self._is_implied(Apart(premise, Reach(0, 0), "one time")):
                return False
        return not values or self._is_implied(SameValues(premise, tuple(values), "values"))

    def apart(self, left: str, right: str, given: Pairs, then: Reach) -> bool:
        """Whether the event times of rows that agree on some pairs lie so far apart, right after left."""
        premise = premise_of(self._shapes, self._places[left], self._places[right], given, Reach())
        return premise is not None and self._is_implied(Apart(premise, then, "a window"))

    def ends(self) -> tuple[int, ...]:
        """The lengths that declared windows begin or end at, and their sums by twos."""
        single: set[int] = {0}
        for rule in self._rules:
            reaches = [rule.premise.when, *([rule.then] if isinstance(rule, Apart) else [])]
            for reach in reaches:
                single |= {abs(end) for end in (reach.low, reach.high) if end is not None}
        return tuple(sorted(single | {one + other for one in single for other in single}))

    def _is_implied(self, goal: Rule) -> bool:
        if goal not in self._answers:
            outcome = Chase(self._shapes, self._rules, goal, self._required).follow()
            if isinstance(outcome, GaveUp):
                self.is_decided = False
            self._answers[goal] = isinstance(outcome, Refuted)
        return self._answers[goal]


def _moved(condition: Predicate, alias: str, columns: dict[str, str]) -> Predicate | None:
    """A condition on the partner as one on the row itself, by the columns that a FOREIGN KEY pairs."""
    if not isinstance(condition, Bound | OneOf) or condition.column.column not in columns:
        return None
    return replace(condition, column=ColumnRef(alias, columns[condition.column.column]))
