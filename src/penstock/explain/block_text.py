"""Queries of several blocks, in the reports: all state in one list, and what each block promises the next, with why.

A piece of state below is named with its block before it (`top.bids`), as in the metrics. What is promised of a block's
answer stands with what makes it so; of an event time that has no clock above, why it has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.analysis.finding import BlockFinding, StateFinding, Verdict
from penstock.explain.ink import Ink
from penstock.explain.reason_words import each_told
from penstock.model.names import quoted
from penstock.model.predicates import Predicate


def of_all_blocks(verdict: Verdict) -> Verdict:
    """The verdict with the state of every block in it; what else it says is of the first block that is not bounded."""
    if not verdict.blocks:
        return verdict
    states = list(verdict.streams)
    for block in verdict.blocks:
        states += [StateFinding(s.stream, f"{block.name}.{s.alias}", s.finding) for s in block.verdict.streams]
    each = [block.verdict for block in verdict.blocks]
    blamed = next((one for one in each if one.verdict == verdict.verdict != "bounded"), verdict)
    witness = next((one.witness for one in each if one.witness is not None), verdict.witness)
    return replace(
        verdict,
        streams=tuple(states),
        memory=blamed.memory,
        witness=witness,
        finality=tuple(reason for one in (*each, verdict) for reason in one.finality),
        notices=tuple(dict.fromkeys(notice for one in (verdict, *each) for notice in one.notices)),
        blocks=(),
    )


def answer_lines(block: BlockFinding) -> list[str]:
    """What is promised of a block's answer, each with why; then the event times that have no clock."""
    lines = []
    for claim in block.derived.claims:
        promise = claim.promise
        text = str(promise) if isinstance(promise, Predicate) else promise.text
        lines.append(f"{text}: {'; '.join(each_told(claim.because))}")
    for unclaimed in block.derived.unclaimed:
        lines.append(f"no clock of {quoted(unclaimed.column)}: {'; '.join(each_told(unclaimed.because))}")
    return lines


def block_lines(blocks: Sequence[BlockFinding], ink: Ink) -> list[str]:
    """For the report of `check`: what each block promises."""
    told = [(block.name, answer_lines(block)) for block in blocks]
    shown = [(name, lines) for name, lines in told if lines]
    if not shown:
        return []
    width = max(len(name) for name, _ in shown)
    found = [f"  {ink.strong('blocks')}  what is promised of their answers, since it follows"]
    for name, lines in shown:
        for number, line in enumerate(lines):
            found += ink.wrapped(line, f"    {name if number == 0 else '':<{width}}  - ", " " * (width + 8))
    return found


def block_objects(blocks: Sequence[BlockFinding]) -> list[dict[str, object]]:
    """The blocks as JSON has them: verdict, event time, promises with their reasons."""
    return [
        {
            "block": block.name,
            "verdict": block.verdict.verdict,
            "event_time": block.derived.stream.event_time,
            "promises": [
                {
                    "promise": str(claim.promise) if isinstance(claim.promise, Predicate) else claim.promise.text,
                    "because": list(each_told(claim.because)),
                }
                for claim in block.derived.claims
            ],
            "no_clock": [
                {"column": unclaimed.column, "because": list(each_told(unclaimed.because))}
                for unclaimed in block.derived.unclaimed
            ],
        }
        for block in blocks
    ]
