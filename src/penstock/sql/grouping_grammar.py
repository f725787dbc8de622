"""The grammar of GROUP BY: keys, and sets of them: ROLLUP, CUBE, GROUPING SETS.

Each part of GROUP BY is a choice of sets: a key is the one set of itself, `ROLLUP (a, b)` is (a, b), (a), (), `CUBE
(a, b)` all that can be left of (a, b), and GROUPING SETS those that it names. What is grouped by are all ways to take
one set of each part. A key that stands twice is one key.
"""

from __future__ import annotations

from itertools import combinations, product

from sqlglot.tokenizer_core import TokenType

from penstock.sql.aggregate_calls import words_of
from penstock.sql.from_grammar import FromGrammar
from penstock.sql.tree import Code

Sets = list[tuple[int, ...]]
"""Sets of keys, by their numbers."""

_MOST_SETS = 64
_FEWER = f"{_MOST_SETS} are the most; write the sets that are asked for: GROUPING SETS ((a, b), (a), ())"


class GroupingGrammar(FromGrammar):
    """GROUP BY."""

    def grouping(self) -> tuple[tuple[Code, ...], tuple[tuple[int, ...], ...]]:
        """The keys, and the sets of them that are grouped by; none where it is all of them at once."""
        keys: list[Code] = []
        index = self._index
        parts = self.separated(lambda: self._part(keys))
        is_plain = all(len(sets) == 1 for sets in parts)
        numbers = tuple(range(len(keys)))
        if is_plain and self.words("WITH", "ROLLUP"):
            parts = [_rollup([(n,) for n in numbers])]
        elif is_plain and self.words("WITH", "CUBE"):
            parts = [self._cube([(n,) for n in numbers])]
        elif is_plain and self.words("GROUPING", "SETS"):
            parts = [self._sets(keys)]
        elif is_plain:
            return tuple(keys), ()
        if len(keys) > len({n for sets in parts for members in sets for n in members}):
            self.stop("a key of GROUP BY stands in none of its sets", self.stretch_from(index))
        found = [tuple(dict.fromkeys(n for members in chosen for n in members)) for chosen in product(*parts)]
        if len(found) > _MOST_SETS:
            self.refuse(f"GROUP BY of {len(found)} sets", _FEWER, self.stretch_from(index))
        return tuple(keys), tuple(found)

    def _part(self, keys: list[Code]) -> Sets:
        """A key, or several sets of keys."""
        if self.words("ROLLUP"):
            return _rollup(self._listed(keys))
        if self.words("CUBE"):
            return self._cube(self._listed(keys))
        if self.words("GROUPING", "SETS"):
            return self._sets(keys)
        return [(self._key(keys),)]

    def _sets(self, keys: list[Code]) -> Sets:
        """`(set, …)`, in which a set may be several."""

        def sets() -> Sets:
            is_more = any(self.looking_at(*words) for words in (("ROLLUP",), ("CUBE",), ("GROUPING", "SETS")))
            return self._part(keys) if is_more else [self._set(keys)]

        self.expect_symbol(TokenType.L_PAREN, "(")
        found = self.separated(sets)
        self.expect_symbol(TokenType.R_PAREN, ")")
        return [members for some in found for members in some]

    def _listed(self, keys: list[Code]) -> Sets:
        """`(key or (keys), …)`."""
        self.expect_symbol(TokenType.L_PAREN, "(")
        found = self.separated(lambda: self._set(keys))
        self.expect_symbol(TokenType.R_PAREN, ")")
        return found

    def _set(self, keys: list[Code]) -> tuple[int, ...]:
        """`(keys)`, `()`, or a key without parentheses."""
        if not self.symbol(TokenType.L_PAREN):
            return (self._key(keys),)
        if self.symbol(TokenType.R_PAREN):
            return ()
        found = self.separated(lambda: self._key(keys))
        self.expect_symbol(TokenType.R_PAREN, ")")
        return tuple(found)

    def _key(self, keys: list[Code]) -> int:
        code = self.code(self._parse_disjunction, "a column to group by")
        words = words_of(code.tokens)
        for number, key in enumerate(keys):
            if words_of(key.tokens) == words:
                return number
        keys.append(code)
        return len(keys) - 1

    def _cube(self, listed: Sets) -> Sets:
        if 2 ** len(listed) > _MOST_SETS:
            self.refuse(f"CUBE of {len(listed)} keys", _FEWER)
        chosen = (some for size in range(len(listed), -1, -1) for some in combinations(listed, size))
        return [_together(some) for some in chosen]


def _rollup(listed: Sets) -> Sets:
    return [_together(listed[:size]) for size in range(len(listed), -1, -1)]


def _together(sets: Sets | tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    return tuple(n for members in sets for n in members)
