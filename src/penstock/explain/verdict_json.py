"""Verdicts and plans as JSON (DESIGN section 4, contract): keys always there, always in the contract's order."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from penstock.analysis.finding import Bounded, StateFinding, Verdict, Witness
from penstock.explain.block_text import block_objects, of_all_blocks
from penstock.explain.reason_words import each_told, told

if TYPE_CHECKING:
    from penstock.analysis.implication.implied import Implication

Json = Mapping[str, object]


def check_object(verdicts: Sequence[Verdict], witness_rows: int | None = None) -> Json:
    """What `check --json` prints."""
    return {"queries": [query_object(verdict, witness_rows) for verdict in verdicts]}


def explain_object(planned: Sequence[tuple[Verdict, Json]]) -> Json:
    """What `explain --json` prints: the object of check, and the plan beside it."""
    return {"queries": [{**query_object(verdict), "plan": plan} for verdict, plan in planned]}


def implication_object(answer: Implication) -> Json:
    """What `implies --json` prints."""
    return {"implied": answer.implied, "because": list(each_told(answer.because))}


def printed(value: Json) -> str:
    """The text of an object; ASCII, so that no terminal or pipe can damage it."""
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)


def query_object(verdict: Verdict, witness_rows: int | None = None) -> dict[str, object]:
    """One query; `notices` is ours, with when rows become final first, and so is `blocks`; the rest is the contract.

    Of several blocks the analyses are those of the one on top; a stream of another has its name as `block`.
    """
    whole = of_all_blocks(verdict)
    return {
        "query": verdict.query,
        "verdict": verdict.verdict,
        "strategy": str(verdict.strategy),
        "exact": verdict.exact,
        "streams": [
            *(_state(state) for state in verdict.streams),
            *({**_state(state), "block": block.name} for block in verdict.blocks for state in block.verdict.streams),
        ],
        "analyses": {
            "memory": {"bounded": verdict.memory.bounded, "violates": list(each_told(verdict.memory.violates))},
            "purge": {"safe": verdict.purge.safe, "streams": dict(verdict.purge.streams)},
            "rewrite": {
                "applies": verdict.rewrite.applies,
                "error_bound": verdict.rewrite.error_bound,
                "sql": verdict.rewrite.sql,
            },
        },
        "witness": None if whole.witness is None else _witness(whole.witness, witness_rows),
        "notices": list(each_told((*whole.finality, *whole.notices))),
        # Only of a query that has several.
        **({"blocks": block_objects(verdict.blocks)} if verdict.blocks else {}),
    }


def _state(state: StateFinding) -> dict[str, object]:
    finding = state.finding
    return {
        "stream": state.stream,
        "alias": state.alias,
        "verdict": finding.verdict,
        "bound": told(finding.bound) if isinstance(finding, Bounded) else "",
        "rows": finding.rows if isinstance(finding, Bounded) else None,
        "because": list(each_told(finding.because)),
        "fixes": [] if isinstance(finding, Bounded) else list(map(str, finding.fixes)),
    }


def _witness(witness: Witness, rows: int | None) -> dict[str, object]:
    shown = witness.rows if rows is None else witness.first(rows)
    return {
        "growth": told(witness.growth),
        "rows": [[stream, {name: plain_value(value) for name, value in values}] for stream, values in shown],
    }


def plain_value(value: object) -> object:
    """A value of a row in JSON's own types: times in ISO 8601, UTC; what JSON lacks as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case dt.datetime():
            moment = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
            return moment.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
        case dt.date():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case bytes():
            return value.hex()
        case _:
            return str(value)
