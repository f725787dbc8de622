"""Which parts the sources of a query name, from which batch on.

A batch that is done again must find the same parts named as when it was begun: else its answer, of which a sink may
have taken note already, would not be the same. So what sources name at a start holds from the first batch that is not
begun yet, and what was named before is kept beside it in the checkpoint.

A stream that reads several topics where it read one calls the same partitions otherwise (`kafka.py`): the clock would
wait for the names of before, for ever. That is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import UsageError

Named = Mapping[str, tuple[str, ...]]
"""By stream, the names of parts."""


@dataclass(frozen=True)
class NamedParts:
    """What is named, from which batch on; in the order of the batches."""

    since: tuple[tuple[int, Named], ...] = ()

    def at(self, batch: int) -> Named:
        """What is named when a batch is done."""
        return next((named for first, named in reversed(self.since) if first <= batch), {})

    def then(self, batch: int, named: Named) -> NamedParts:
        """With what is named from a batch on; what was to hold from there on and never did is forgotten."""
        before = tuple(entry for entry in self.since if entry[0] < batch)
        if not named or (before and dict(before[-1][1]) == dict(named)):
            return NamedParts(before)
        return NamedParts((*before, (batch, dict(named))))

    def require_same_names(self, now: Named) -> None:
        """Raise UsageError if the partitions of one topic were named, and now those of several, or the reverse."""
        before = self.since[-1][1] if self.since else {}
        for stream, names in now.items():
            then = before.get(stream, ())
            if then and names and all(map(str.isdecimal, then)) != all(map(str.isdecimal, names)):
                one, several = ("one topic", "several")[:: 1 if then[0].isdecimal() else -1]
                raise UsageError(
                    f"stream {stream} has read {one} so far, and reads {several} now",
                    detail=f"its partitions were called {_shown(then)} and would be called {_shown(names)}: its clock "
                    "would wait for those that it knows, for ever",
                    hint="a topic more is a stream more, joined by UNION ALL; or begin with a new --checkpoint",
                )

    def to_json(self) -> str:
        """As a file holds it."""
        return json.dumps([[first, named] for first, named in self.since])

    @classmethod
    def from_json(cls, text: str) -> NamedParts:
        """What `to_json` wrote; raises ValueError or TypeError on anything else."""
        read = json.loads(text)
        return cls(tuple((int(first), {s: tuple(map(str, names)) for s, names in of.items()}) for first, of in read))


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
