"""A name for a leaf of a plan: the alias or view that the job gave it, else where its source reads from.

Only names: nothing depends on them but how the job is shown. The same job gives the same names.
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


def _read_from(relation: Node) -> str:
    """What a source says of where it reads."""
    options: Any = None
    if kind(relation) == "StreamingRelation":
        options = relation.dataSource().options()
        found = {str(key).lower(): str(options.apply(key)) for key in _keys(options)}
    elif kind(relation) == "StreamingRelationV2":
        options = relation.extraOptions()
        found = {str(key).lower(): str(value) for key, value in options.items()}
    else:
        return ""
    told = next((found[name] for name in _OPTIONS if found.get(name)), "")
    return told.rstrip("/").rpartition("/")[2].partition("*")[0]


def _keys(options: Any) -> list[Any]:
    keys = options.keys().toSeq()
    return [keys.apply(place) for place in range(keys.size())]


def _word(text: str) -> str:
    word = _NO_WORD.sub("_", text).strip("_")
    return f"stream_{word}" if word[:1].isdigit() else word
