"""Identifiers: compared without case, as Spark does, and quoted where they must be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

RESERVED = frozenset(
    [
        "ALL",
        "ALTER",
        "AND",
        "ANTI",
        "ANY",
        "ARRIVES",
        "AS",
        "ASC",
        "BETWEEN",
        "BOTH",
        "BY",
        "CASE",
        "CAST",
        "CHECK",
        "CLUSTER",
        "CLUSTERED",
        "COLLATE",
        "COOCCURS",
        "CREATE",
        "CROSS",
        "CUBE",
        "CURRENT_CATALOG",
        "CURRENT_DATE",
        "CURRENT_ROLE",
        "CURRENT_SCHEMA",
        "CURRENT_TIME",
        "CURRENT_TIMESTAMP",
        "CURRENT_USER",
        "DESC",
        "DISTINCT",
        "DISTRIBUTE",
        "DROP",
        "ELSE",
        "END",
        "ESCAPE",
        "EVENT",
        "EXCEPT",
        "EXISTS",
        "FALSE",
        "FETCH",
        "FILTER",
        "FINAL",
        "FOLLOWS",
        "FOR",
        "FOREIGN",
        "FROM",
        "FULL",
        "GLOB",
        "GRANT",
        "GROUP",
        "HAVING",
        "ILIKE",
        "IN",
        "INNER",
        "INSERT",
        "INTERSECT",
        "INTERVAL",
        "INTO",
        "IS",
        "ISNULL",
        "JOIN",
        "LATERAL",
        "LEADING",
        "LEFT",
        "LIKE",
        "LIMIT",
        "LOCALTIME",
        "LOCALTIMESTAMP",
        "MINUS",
        "NATURAL",
        "NOT",
        "NOTNULL",
        "NULL",
        "OFFSET",
        "ON",
        "ONLY",
        "OR",
        "ORDER",
        "ORDERED",
        "OUTER",
        "OVER",
        "OVERLAPS",
        "PIVOT",
        "PREWHERE",
        "PRIMARY",
        "PUNCTUATED",
        "QUALIFY",
        "REFERENCES",
        "REGEXP",
        "RETURNING",
        "REVOKE",
        "RIGHT",
        "RLIKE",
        "ROLLBACK",
        "ROLLUP",
        "SELECT",
        "SEMI",
        "SERDEPROPERTIES",
        "SESSION_USER",
        "SOME",
        "SORT",
        "STREAM",
        "TABLE",
        "TABLESAMPLE",
        "THEN",
        "TO",
        "TRAILING",
        "TRUE",
        "UNCACHE",
        "UNION",
        "UNIQUE",
        "UNKNOWN",
        "UNNEST",
        "UNPIVOT",
        "USING",
        "VALUES",
        "VIRTUAL",
        "WHEN",
        "WHERE",
        "WINDOW",
        "WITH",
        "WITHIN",
        "XOR",
    ]
)
"""Words that are printed in backticks when they are names: more than the parser insists on, to be safe."""


def fold(name: str) -> str:
    """The form in which two identifiers are compared."""
    return name.lower()


def quoted(name: str) -> str:
    """The identifier as it stands in a script, in backticks where it must be."""
    if _PLAIN.match(name) and name.upper() not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def quoted_list(names: Iterable[str]) -> str:
    """`(a, b)`."""
    return "(" + ", ".join(quoted(name) for name in names) + ")"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one was most likely meant to be."""
    by_fold = {fold(candidate): candidate for candidate in known}
    close = get_close_matches(fold(name), by_fold, n=1, cutoff=0.6)
    return by_fold[close[0]] if close else None
