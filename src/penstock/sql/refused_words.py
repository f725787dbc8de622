"""SQL that the language leaves out: what it is called, and what to write instead.

All of it is recognised and refused by name, at its place, rather than met as a surprise. Not here: what only a part of
an expression is (`expressions`).
"""

from __future__ import annotations

from penstock.sql.tree import ELEMENT_FUNCTIONS

NO_PROGRAM = "call a function, Spark's or your own (--function NAME), in SELECT"
OTHER_STATEMENTS = {
    "SET": "settings are given to the command: penstock run FILE.sql --conf key=value",
    "EXPLAIN": "penstock explain FILE.sql shows the plan",
    "MERGE": "a sink with a key takes updates: CREATE SINK s (PRIMARY KEY (id)) USING delta …; INSERT INTO s SELECT …",
    "UPDATE": "a stream is read, not written",
    "DELETE": "a stream is read, not written",
    "MAP": NO_PROGRAM,
    "REDUCE": NO_PROGRAM,
    "DECLARE": "a script has no variables: write the value; ${NAME} in an option is the environment's",
    "DESCRIBE": "penstock check FILE.sql tells of the script's streams and queries",
    "DESC": "penstock check FILE.sql tells of the script's streams and queries",
}
"""Statements of Spark's that the language has not, and what there is instead."""

_FIRST_ROWS = (
    "SELECT * FROM (SELECT …, ROW_NUMBER() OVER (PARTITION BY window(ts, '5 minutes') ORDER BY …) AS rn FROM …) "
    "WHERE rn <= 10 has the first of each window"
)
_UNSORTED = f"a stream has no end, so its results cannot be sorted: leave it out, or {_FIRST_ROWS}"
_UNENDING = f"a stream has no end: leave it out, or {_FIRST_ROWS}"
REFUSED_CLAUSES = (
    (("HAVING",), "it stands once, after GROUP BY"),
    (("ORDER", "BY"), _UNSORTED),
    (("SORT", "BY"), _UNSORTED),
    (("CLUSTER", "BY"), "Penstock places rows in cells itself"),
    (("DISTRIBUTE", "BY"), "Penstock places rows in cells itself"),
    (("LIMIT",), _UNENDING),
    (("OFFSET",), _UNENDING),
    (("FETCH",), _UNENDING),
    (("QUALIFY",), "it stands once, after GROUP BY and HAVING: QUALIFY ROW_NUMBER() OVER (…) = 1"),
    (("WINDOW",), "WINDOW w AS (…) stands after WHERE; a stream's window is written stream [RANGE d] or [ROWS n]"),
    (("LATERAL",), "it stands in FROM: LATERAL VIEW explode(x) t AS y"),
    (("PIVOT",), "write a column for each value: count(*) FILTER (WHERE status = 'new') AS new"),
    (("UNPIVOT",), "write LATERAL VIEW inline(array(struct('a', a), struct('b', b))) t AS name, value"),
    (("WATERMARK",), "it is declared: CREATE STREAM s (…, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE)"),
    (
        ("WITH", "WATERMARK"),
        "it is declared of the stream: CREATE STREAM s (…, EVENT TIME ts, ORDERED BY ts WITHIN 1 MINUTE)",
    ),
    (("TABLESAMPLE",), "say which rows: WHERE id % 10 = 0"),
    *(
        (words, "a stream is read from its beginning, a table as it is when rows come: say which rows by WHERE ts < …")
        for words in (
            ("VERSION", "AS", "OF"),
            ("TIMESTAMP", "AS", "OF"),
            ("FOR", "VERSION", "AS", "OF"),
            ("FOR", "TIMESTAMP", "AS", "OF"),
            ("FOR", "SYSTEM_TIME", "AS", "OF"),
            ("FOR", "SYSTEM_VERSION", "AS", "OF"),
        )
    ),
    (
        ("ASOF", "JOIN"),
        "join by a band, and take the last: ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.ts DESC) AS rn",
    ),
)

FIRST_OF_EACH = (
    "the first row of each is SELECT * FROM (SELECT …, ROW_NUMBER() OVER (PARTITION BY id, window(ts, '5 minutes') "
    "ORDER BY …) AS rn FROM …) WHERE rn = 1"
)
STARS = {
    "EXCLUDE": "write * EXCEPT (a, b)",
    "REPLACE": "write * EXCEPT (a), a + 1 AS a",
    "RENAME": "write * EXCEPT (a), a AS b",
    "ILIKE": "name the columns",
    "LIKE": "name the columns",
}
"""What other systems let stand behind a star, and what to write."""

GENERATORS = {
    "json_tuple": "take each by get_json_object(s, '$.x') AS x, or all by from_json(s, 'x STRING, y INT')",
    "parse_url_tuple": "take each by parse_url(s, 'HOST') AS host",
    "stack": "write LATERAL VIEW inline(array(struct('a', a), struct('b', b))) t AS name, value",
    "variant_explode": "give it a type: LATERAL VIEW explode(CAST(v AS ARRAY<STRING>)) t AS x",
}
"""Spark's other functions that give several columns or rows, and what to write instead."""


def function_in_from(name: str) -> tuple[str, str]:
    """What a function in FROM is called, and what to write instead."""
    folded = name.lower()
    if folded == "identifier":
        return "IDENTIFIER(…)", "write the name"
    if folded in ELEMENT_FUNCTIONS:
        return f"{folded}(…) in FROM by itself", f"the elements of each row are FROM s, LATERAL {folded}(s.xs) AS t (x)"
    if folded in ("range", "sequence", "generate_series"):
        return f"{folded}(…) in FROM", "numbers are rows of a table: JOIN (VALUES (1), (2), (3)) AS t (n) ON …"
    hint = "join streams by their names; windows of time are groups: GROUP BY window(ts, '5 minutes')"
    return "a table function in FROM", hint
