"""Queries of several blocks, in the reports: all state in one list, and what each block promises the next, with why.

A piece of state below is named with its block before it (`top.bids`), as in the metrics. What is promised of a block's
answer stands with what makes it so; of an event time that has no clock above, why it has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from penstock.analysis.finding import BlockFinding, Bounded, Finding, StateFinding, Verdict
from penstock.explain.ink import Ink
from penstock.explain.reason_words import each_told
from penstock.model.names import quoted
from penstock.model.predicates import Predicate


def of_all_blocks(verdict: Verdict) -> Verdict:
    """The verdict with the state of every block in it; what else it says is of the first block that is not bounded."""
    if not verdict.blocks:
        return verdict
    states: dict[tuple[str, str], list[StateFinding]] = {}
    for name, found in ((verdict.query, verdict), *((block.name, block.verdict) for block in verdict.blocks)):
        for state in found.streams:
            if (shown := shown_name(verdict, name, state.alias)) is not None:
                states.setdefault((shown, state.stream), []).append(replace(state, alias=shown))
    each = [block.verdict for block in verdict.blocks]
    blamed = next((one for one in each if one.verdict == verdict.verdict != "bounded"), verdict)
    witness = next((one.witness for one in each if one.witness is not None), verdict.witness)
    return replace(
        verdict,
        streams=tuple(state for of_one in states.values() for state in _apart(of_one)),
        memory=blamed.memory,
        witness=witness,
        finality=tuple(dict.fromkeys(reason for one in (*each, verdict) for reason in one.finality)),
        notices=tuple(dict.fromkeys(notice for one in (verdict, *each) for notice in one.notices)),
        blocks=(),
    )


def shown_name(verdict: Verdict, block: str, alias: str) -> str | None:
    """What a piece of a block's state is called; None where it has no name that a user knows."""
    return alias if verdict.shown is None else verdict.shown.of(block, alias)


def block_title(verdict: Verdict, block: str) -> str:
    """What a block is called over its plan."""
    return f"block {block}" if verdict.shown is None else verdict.shown.title(block)


def _apart(states: Sequence[StateFinding]) -> Sequence[StateFinding]:
    """What is known of the state of one alias, in each case of its query; what is the same in several stands once."""
    stored = [state for state in states if not (isinstance(state.finding, Bounded) and state.finding.rows == 0)]
    found: dict[Finding, int] = Counter(state.finding for state in stored or states[:1])
    return [replace(states[0], finding=_times(finding, count)) for finding, count in found.items()]


def _times(finding: Finding, count: int) -> Finding:
    """So many of the same."""
    if isinstance(finding, Bounded) and finding.rows is not None:
        return replace(finding, rows=count * finding.rows)
    return finding


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


def block_lines(verdict: Verdict, ink: Ink) -> list[str]:
    """For the report of `check`: what each block promises."""
    told = [(block_title(verdict, block.name).removeprefix("block "), answer_lines(block)) for block in verdict.blocks]
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
