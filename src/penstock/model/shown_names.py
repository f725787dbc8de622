"""What the pieces of a query are called where a user reads of them: by the aliases that the user wrote.

An alias of a block below has the block's name before it (`top.bids`). The cases that a query is cut into
(`sql/asked_values.py`) are blocks that no user wrote: an alias in one of them is named as in the query that it is a
case of, so that several pieces of state may have one name; and the stream that unites them is not named, but where it
meets others (`sql/asked_in_joins.py`), so that it is stored.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.block_tree import blocks_below
from penstock.model.clauses import Union
from penstock.model.query import Query
from penstock.records import record


@record
class ShownNames:
    """What aliases are called, by the block that they are of."""

    before: Mapping[str, str]
    """By block, what stands before an alias."""
    unnamed: frozenset[tuple[str, str]]
    """By block, the aliases of streams that unite cases and are not stored."""
    cases: Mapping[str, str]
    """By block that is a case, which one it is, and of what."""

    def of(self, block: str, alias: str) -> str | None:
        """What an alias of a block is called; None where it has no name."""
        return None if (block, alias) in self.unnamed else f"{self.before[block]}{alias}"

    def title(self, block: str) -> str:
        """What a block is called over its plan."""
        return self.cases.get(block, f"block {block}")


def shown_names(query: Query) -> ShownNames:
    """The names in reports and metrics of a query and its blocks."""
    below = blocks_below(query)
    united = {
        one.stream.name: one.below.members for one in below if isinstance(one.below, Union) and one.below.of_cases
    }
    before = {query.name: ""}
    unnamed: set[tuple[str, str]] = set()
    cases: dict[str, str] = {}
    # Each block stands after those that it reads, and a case belongs where its reader does: so from above.
    named = [(one.stream.name, one.below) for one in below if isinstance(one.below, Query)]
    for name, block in reversed([*named, (query.name, query)]):
        own = before.setdefault(name, f"{name}.")
        is_alone = len(block.all_sources) == 1
        for source in block.all_sources:
            for number, case in enumerate(united.get(source.stream.name, ()), start=1):
                if is_alone:
                    unnamed.add((name, source.alias))
                before[case.stream.name] = own
                cases[case.stream.name] = f"case {number} of {name if is_alone else source.alias}"
    return ShownNames(before, frozenset(unnamed), cases)
