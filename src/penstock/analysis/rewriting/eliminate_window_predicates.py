"""Window-predicate elimination (REWRITE 4.1): rows match by values and times exactly where they are of one identity.

    S1.a = S2.a AND S2.ts >= S1.ts AND S2.ts - S1.ts <= d     becomes     S1.id = S2.id

Preconditions, each asked of the declarations by implication:
- rows that agree on a, with their times as the query says, agree on id (the paper's STREAM KEY (a) with e >= d);
- rows that agree on id agree on a and lie in that window of time (STREAM KEY (id), COOCCURS with e' <= d).
Both limits of time are needed: without `S2.ts >= S1.ts` the first does not follow (ERRATA). Strict limits are asked
for as the tick below. Conditions other than equalities and limits of event times are never implied by an identity.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.analysis.decider_reasons import CountReason
from penstock.analysis.facts.together import Facts
from penstock.analysis.implication.rules import Reach
from penstock.analysis.reasons import Reason
from penstock.analysis.rewriting.identity import Identity, pairs
from penstock.analysis.rewriting.substreams import Pairs, SubStreams
from penstock.model.expressions import ColumnRef
from penstock.model.predicates import Comparison, Difference, Op, Predicate, aliases_of
from penstock.model.spans import Window, span_of_ticks


class WindowPredicates:
    """The ties of a query, read against one identity."""

    def __init__(self, known: SubStreams, identity: Identity) -> None:
        self.known = known
        self.identity = identity
        self.facts = Facts(known.question.query)

    def follows_from_match(self, new: str, placed: Sequence[str]) -> Reason | None:
        """Why a row that matches rows of some sources need not be of their identity; None if it must."""
        for old in placed:
            given, when = self._matched(old, new)
            if given and self.known.agree(old, new, given, when, pairs(self.identity, old, new)):
                return None
        old = next((one for one in placed if self._matched(one, new)[0]), placed[0])
        given, when = self._matched(old, new)
        if not given:
            return CountReason.NO_EQUALITY(new, placed)
        columns = ", ".join(own for own, _ in given)
        spans = self.known.question.query.by_alias[new].stream.name
        return CountReason.NEED_NOT_BE_ONE(
            old,
            new,
            self._name(old),
            columns,
            spans,
            _window(when),
            self.known.question.query.by_alias[old].stream.name,
        )

    def match_follows(self, ties: Sequence[Predicate]) -> Reason | None:
        """A tie that does not follow from the identity, as a reason; None if all do."""
        for tie in ties:
            if not self._is_implied(tie):
                one, other = sorted(aliases_of(tie))
                return CountReason.TIE_NOT_IMPLIED(tie, one, other, self._name(one))
        return None

    def reach(self, earlier: str, later: str) -> Reach:
        """How far apart the event times of two sources lie where they match, by the query and the declarations."""
        question = self.known.question
        start, end = question.time(earlier), question.time(later)
        assert start is not None
        assert end is not None
        bands = self.facts.of(earlier, later).bands
        most, least = bands.upper(end, start), bands.upper(start, end)
        return Reach(None if least is None else -least.ticks, None if most is None else most.ticks)

    def _matched(self, old: str, new: str) -> tuple[Pairs, Reach]:
        """The columns on which two sources agree where they match, and how far apart their times lie."""
        keys = self.facts.of(old, new).keys
        mine, its = keys.get(old, {}), keys.get(new, {})
        return tuple((mine[number], its[number]) for number in mine if number in its), self.reach(old, new)

    def _is_implied(self, tie: Predicate) -> bool:
        match tie:
            case Comparison(left=left, op=Op.EQ, right=right):
                given = pairs(self.identity, left.alias, right.alias)
                then = ((left.column, right.column),)
                return self.known.agree(left.alias, right.alias, given, Reach(), then)
            case Comparison(left=left, op=op, right=right):
                return self._is_limited(left, right, op, 0)
            case Difference(minuend=later, subtrahend=earlier, op=op, span=span):
                return self._is_limited(later, earlier, op, span.ticks)
            case _:
                return False

    def _is_limited(self, later: ColumnRef, earlier: ColumnRef, op: Op, ticks: int) -> bool:
        """Whether `later - earlier op ticks` holds of the event times of all rows of one identity."""
        question = self.known.question
        if question.time(later.alias) != later or question.time(earlier.alias) != earlier:
            return False
        reach = {
            Op.LE: Reach(None, ticks),
            Op.LT: Reach(None, ticks - 1),
            Op.GE: Reach(ticks, None),
            Op.GT: Reach(ticks + 1, None),
            Op.EQ: Reach(ticks, ticks),
        }[op]
        given = pairs(self.identity, earlier.alias, later.alias)
        return self.known.apart(earlier.alias, later.alias, given, reach)

    def _name(self, alias: str) -> str:
        return ", ".join(self.identity[alias])


def _window(when: Reach) -> Window:
    return Window(
        None if when.low is None else span_of_ticks(when.low, instants=True),
        None if when.high is None else span_of_ticks(when.high, instants=True),
    )
