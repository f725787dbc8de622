"""Two streams r and s and what they declare, as the parts of the implication test are given it."""

from __future__ import annotations

from penstock.analysis.implication.rules import Rule, StreamShape, rule_of, shape_of
from penstock.compile import parse
from penstock.model.schemes import Scheme
from penstock.model.script import Script
from penstock.model.stream import Stream
from penstock.sql import parse_constraint

COLUMNS = "a INT, b INT, ts {clock}, EVENT TIME ts"


class Two:
    """A script of two streams with the columns a, b, ts."""

    def __init__(self, r: str = "", s: str = "", clock: str = "BIGINT") -> None:
        columns = COLUMNS.format(clock=clock)
        parts = [f"CREATE STREAM {n} ({columns}{', ' if said else ''}{said});" for n, said in (("r", r), ("s", s))]
        self.script: Script = parse("".join(parts))
        self.streams: tuple[Stream, ...] = tuple(self.script.streams)
        self.shapes: tuple[StreamShape, ...] = tuple(map(shape_of, self.streams))
        self.required = tuple(tuple(True for _ in shape.columns) for shape in self.shapes)

    def scheme(self, text: str) -> tuple[Stream, Scheme]:
        """A constraint, bound."""
        return parse_constraint(text, self.script)

    def rule(self, text: str) -> Rule:
        """A constraint as a rule."""
        stream, scheme = self.scheme(text)
        found = rule_of(self.streams, self.shapes, self.streams.index(stream), scheme)
        assert found is not None, text
        return found

    def declared(self) -> list[Rule]:
        """What both streams declare, as far as it is rules."""
        made = [
            rule_of(self.streams, self.shapes, place, scheme)
            for place, stream in enumerate(self.streams)
            for scheme in stream.schemes
        ]
        return [rule for rule in made if rule is not None]
