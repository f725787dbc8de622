"""What is said of the parts of a stream: how they keep their order, and which of them holds the clock back."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.names import quoted
from penstock.model.stream import Stream


def parts_lines(stream: Stream) -> list[str]:
    """How a stream with parts keeps its order; nothing if it has none."""
    if not stream.has_parts:
        return []
    idle = "one that falls silent holds its clock back"
    if stream.idle_after is not None:
        far = f"more than {stream.idle_after} behind the latest of all"
        idle = f"one that falls silent, {far}, does not hold its clock back"
    which = "the partitions of its topics" if stream.parts_by is None else f"by {quoted(stream.parts_by)}"
    return [f"{which}: in order within each, as far as the slowest; {idle}"]


def held_back(stream: str, parts: Mapping[str, float]) -> str:
    """That a part which gives no rows holds the clock of its stream back; `parts` is what the metrics say of it."""
    which = f"its part {parts['slowest']}" if "slowest" in parts else "one of its parts"
    return (
        f"{stream}: {which} has brought no row for {int(parts['waited']):,} batches that brought others, "
        "and holds back the clock and what waits for it; IDLE AFTER a duration, written after EVENT TIME, goes on "
        "without such a part; `parts` in --metrics follows it"
    )
