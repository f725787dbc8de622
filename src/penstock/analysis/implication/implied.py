"""Do the declarations of a script imply a constraint? (`penstock implies`; REWRITE section 3 and its appendix.)

Keys, foreign keys, stream keys, co-occurrence and FOLLOWS WITHIN a span are decided together, by the chase: sound
always, complete where the FOREIGN KEYs are full, but for some sequences that never end (`chase.py`). Constraints about
arrival and constants follow from weaker or equal ones (`weakening.py`).

As in the paper, rows have values: a NULL demands no partner, so with NULLs less may follow. Where the answer hangs on
that, it says of which columns. A counter-model keeps every declaration of the script, those too that are no rules;
where that cannot be seen to, the question is not decided, and the answer names the declaration.

When it is implied, the declarations that do so are the least set that is found by leaving out one after the other.
"""

from __future__ import annotations

from penstock.analysis.decider_reasons import ProofStep
from penstock.analysis.facts.domains import declared_domain
from penstock.analysis.implication.chase import FULL, Chase, CounterExample, Outcome, Refuted, SearchLimits
from penstock.analysis.implication.models import Row
from penstock.analysis.implication.realise import Realised, realise
from penstock.analysis.implication.rules import OneRow, Partner, Rule, StreamShape, rule_of, shape_of
from penstock.analysis.implication.weakening import weaker
from penstock.analysis.reasons import Reason, Told
from penstock.model.schemes import Cooccurs, Follows, ForeignKey, PrimaryKey, Scheme, StreamKey
from penstock.model.script import Script
from penstock.model.spans import Span
from penstock.model.stream import Stream
from penstock.records import record


@record
class Implication:
    """The answer: implied, not implied, or None for not decided; and why."""

    implied: bool | None
    because: tuple[Told, ...]


def decide(script: Script, stream: Stream, scheme: Scheme) -> Implication:
    """Whether the declarations of a script imply a constraint of one of its streams."""
    if not _is_of_the_language(scheme):
        return Implication(*weaker(stream, scheme))
    return _Question(script, stream, scheme).answer()


def _is_of_the_language(scheme: Scheme) -> bool:
    timed = isinstance(scheme, Follows) and isinstance(scheme.within, Span)
    return timed or isinstance(scheme, PrimaryKey | ForeignKey | StreamKey | Cooccurs)


class _Question:
    """A constraint of the paper's language, beside the rules of the script."""

    def __init__(self, script: Script, stream: Stream, scheme: Scheme) -> None:
        self.streams = script.referable
        self.views = tuple(view.stream.name for view in script.views)
        self.shapes = tuple(shape_of(one) for one in self.streams)
        self.own = next(i for i, one in enumerate(self.streams) if one.name == stream.name)
        self.goal = rule_of(self.streams, self.shapes, self.own, scheme)
        self.rules: list[Rule] = []
        self.not_read: list[str] = []
        """Constraints of the language that no rule can say."""
        for place, one in enumerate(self.streams):
            for declared in one.schemes:
                rule = rule_of(self.streams, self.shapes, place, declared)
                if rule is not None:
                    self.rules.append(rule)
                elif _is_of_the_language(declared):
                    self.not_read.append(declared.on(one.name))
        self.obstacle: Told | None = None
        self.model: Realised | None = None

    def answer(self) -> Implication:
        """The answer, with its reasons."""
        if self.goal is None:
            return Implication(None, (ProofStep.PAIRS_TIME(),))
        values = _all_valued(self.shapes)
        outcome = self._chase(tuple(self.rules), values)
        match outcome:
            case Refuted():
                return self._implied(self.goal, SearchLimits(self.chase.rows, self.chase.cases))
            case CounterExample() if self.model is not None:
                heading = ProofStep.COUNTER_MODEL()
                return Implication(False, (heading, *self.model.rows))
            case _:
                return Implication(None, (self._why_not_decided(),))

    def _chase(self, rules: tuple[Rule, ...], required: tuple[tuple[bool, ...], ...]) -> Outcome:
        assert self.goal is not None
        self.chase = Chase(self.shapes, rules, self.goal, required, self._accepts)
        return self.chase.run()

    def _accepts(self, rows: tuple[Row, ...]) -> bool:
        assert self.goal is not None
        if self.views:
            self.obstacle = ProofStep.ROWS_OF_VIEW(self.views[0])
            return False
        if self.not_read:
            self.obstacle = ProofStep.OTHER_PAIRS_TIME(self.not_read[0])
            return False
        made = realise(self.streams, self.shapes, self.rules, self.goal, rows)
        if not isinstance(made, Realised):
            self.obstacle = made
            return False
        self.model = made
        return True

    def _implied(self, goal: Rule, took: SearchLimits) -> Implication:
        values = _all_valued(self.shapes)
        least = list(self.rules)
        for rule in self.rules:
            fewer = tuple(other for other in least if other is not rule)
            # A proof from fewer declarations is not looked for much longer than the first one took.
            if isinstance(self._follow(fewer, values, SearchLimits(took.rows + 1, 2 * took.cases + 10)), Refuted):
                least = list(fewer)
        proof = self._chase(tuple(least), values)
        assert isinstance(proof, Refuted)
        if not proof.steps:
            return Implication(True, (ProofStep.SAYS_NOTHING(),))
        notes = self._null_notes(goal, tuple(least))
        return Implication(True, (*(ProofStep.DECLARED(rule.text) for rule in least), *proof.steps, *notes))

    def _null_notes(self, goal: Rule, rules: tuple[Rule, ...]) -> list[Reason]:
        """What must have a value for this to hold; nothing if NULLs change nothing."""
        named: dict[str, None] = {}
        required = _required(self.streams, self.shapes)
        if isinstance(goal, OneRow):
            named |= dict.fromkeys(self._nullable(goal, required))
        if not isinstance(self._follow(rules, required), Refuted):
            for rule in rules:
                if isinstance(rule, Partner):
                    named |= dict.fromkeys(self._nullable(rule, _with_values(required, goal)))
        if not named:
            return []
        return [ProofStep.PROVIDED_NOT_NULL(tuple(named))]

    def _follow(
        self, rules: tuple[Rule, ...], required: tuple[tuple[bool, ...], ...], limits: SearchLimits = FULL
    ) -> Outcome:
        assert self.goal is not None
        return Chase(self.shapes, rules, self.goal, required, limits=limits).follow()

    def _nullable(self, rule: Rule, required: tuple[tuple[bool, ...], ...]) -> list[str]:
        place = rule.premise.left
        return [
            f"{self.shapes[place].name}.{self.shapes[place].columns[column]}"
            for column, _ in rule.premise.pairs
            if not required[place][column]
        ]

    def _why_not_decided(self) -> Told:
        if self.obstacle is not None:
            return self.obstacle
        open_keys = [rule.text for rule in self.rules if isinstance(rule, Partner) and not rule.is_full]
        if open_keys:
            return ProofStep.NOT_FULL(open_keys[0])
        return ProofStep.NOT_FOUND()


def _all_valued(shapes: tuple[StreamShape, ...]) -> tuple[tuple[bool, ...], ...]:
    return tuple((True,) * len(shape.columns) for shape in shapes)


def _with_values(required: tuple[tuple[bool, ...], ...], goal: Rule) -> tuple[tuple[bool, ...], ...]:
    """The rows in question agree on these columns, so they have values there."""
    sides = ((goal.premise.left, 0), (goal.premise.right, 1))
    agreed = {(place, pair[side]) for place, side in sides for pair in goal.premise.pairs}
    return tuple(
        tuple(known or (place, column) in agreed for column, known in enumerate(columns))
        for place, columns in enumerate(required)
    )


def _required(streams: tuple[Stream, ...], shapes: tuple[StreamShape, ...]) -> tuple[tuple[bool, ...], ...]:
    """The columns that have a value in every row."""
    return tuple(
        tuple(_has_value(stream, column) for column in shape.columns)
        for stream, shape in zip(streams, shapes, strict=True)
    )


def _has_value(stream: Stream, column: str) -> bool:
    return stream.type_of(column) is None or not declared_domain(stream, column).nullable
