"""A name for a leaf of a plan: the alias or view that the job gave it, else where its source reads from.

Only names: nothing depends on them but how the job is shown. The same job gives the same names. And the options of a
source, by which it can be read again.
"""

from __future__ import annotations

import re
from typing import Any

from penstock.spark.frames.catalyst import Node, children, kind

_OPTIONS = ("path", "subscribe", "subscribepattern", "topic", "table", "dbtable", "streamname")
_NO_WORD = re.compile(r"\W+")


def name_of(plan: Node) -> str:
    """The name."""
    while True:
        if kind(plan) == "SubqueryAlias":
            return _word(str(plan.alias())) or "stream"
        below = [child for child in children(plan) if child.isStreaming()]
        if not below:
            return _word(_read_from(plan)) or "stream"
        plan = below[0]


def name_of_table(plan: Node) -> str:
    """The name of a sub-plan that is no stream."""
    while kind(plan) != "SubqueryAlias":
        below = children(plan)
        if len(below) != 1:
            return "table"
        (plan,) = below
    return _word(str(plan.alias())) or "table"


def options_of(relation: Node) -> dict[str, str]:
    """The options that a job gave a source, by their names in lower case; empty if it says nothing of them."""
    if kind(relation) == "StreamingRelation":
        options: Any = relation.dataSource().options()
        return {str(key).lower(): str(options.apply(key)) for key in _keys(options)}
    if kind(relation) == "StreamingRelationV2":
        return {str(key).lower(): str(value) for key, value in relation.extraOptions().items()}
    return {}


def _read_from(relation: Node) -> str:
    """What a source says of where it reads."""
    found = options_of(relation)
    told = next((found[name] for name in _OPTIONS if found.get(name)), "")
    return told.rstrip("/").rpartition("/")[2].partition("*")[0]


def _keys(options: Any) -> list[Any]:
    keys = options.keys().toSeq()
    return [keys.apply(place) for place in range(keys.size())]


def _word(text: str) -> str:
    word = _NO_WORD.sub("_", text).strip("_")
    return f"stream_{word}" if word[:1].isdigit() else word
