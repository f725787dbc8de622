"""Ways to spoil a script: tokens taken out, doubled, swapped, replaced; odd characters; nesting without an end."""

from __future__ import annotations

from random import Random

from tests.sql.written_streams import Tokens, maybe

# fmt: off
# ruff: noqa: SIM905 - as lists these would be pages
_KEYWORDS = """ALL AND ANTI AS BETWEEN BY CASE CAST CHECK CLUSTERED COOCCURS CREATE CROSS DISTINCT ELSE END EVENT EXCEPT
EXISTS FALSE FOLLOWS FOREIGN FROM FULL GROUP HAVING IN INNER INSERT INTERSECT INTERVAL INTO IS JOIN KEY LATERAL LEFT
LIFESPAN LIKE LIMIT NATURAL NOT NULL ON OPTIONS OR ORDER ORDERED OUTER OVER OVERWRITE PIVOT PRIMARY PUNCTUATED
QUALIFY RANGE REFERENCES RIGHT ROWS SELECT SEMI SINK SPANS STREAM TABLE TIME TRUE UNION USING VALUES VIOLATION VIRTUAL
WHEN WHERE WINDOW WITH WITHIN AUTO SECONDS ADAPT QUARANTINE ARRIVES count sum window explode row_number lag""".split()
_MARKS = """( ) [ ] { } , . ; : :: ? @ # $ % & * + - / \\ | || ! != <> <=> < > = == ~ ^ -> => '' "" ` -- /* */
/*+""".split()
_ODD = ["\x00", "\x01", "\x1b", "\x7f", "\u00a0", "\u2028", "\u200b", "\ufeff", "\ud800", "\x85", "\r", "é", "日本",
        "😀", "ﬁ", "İ"]
_NUMBERS = ["0", "00", "1L", "2S", "3Y", "4BD", "5D", "6F", "1e999999", "1E-400", "9" * 40, "9" * 400, "1.", ".5",
            "0x1F", "1_000", "1e", "-0", "1.2.3", "NaN", "Infinity", "10" + "0" * 30, "b'1'", "x'zz'", "x'1F'",
            "1e400L", "9223372036854775807", "1e17", "99999999999999999999", "1e-7", "0.1"]
_WHOLE = [
    "SELECT", "CREATE STREAM", "CREATE STREAM s", "CREATE STREAM s (", "CREATE STREAM s ()", "CREATE SINK s",
    "INSERT INTO", "SELECT * FROM", "SELECT 1", "SELECT /*+ */ a FROM s", "SELECT /*+ BUDGET( */ a FROM s", "CREATE",
    "(SELECT 1)", "VALUES (1)", "WITH x AS (SELECT 1) SELECT 1", "DROP STREAM s",
    "SELECT a FROM s WHERE EXISTS (SELECT 1)",
    "SELECT * EXCEPT (a) FROM s", "SELECT a FROM s LATERAL VIEW explode(b)", "SELECT a, FROM s", "SELECT FROM s",
    "SELECT explode(a) AS x FROM s", "SELECT lag(a) OVER (ORDER BY b) AS x FROM s", "SELECT (SELECT 1) AS x FROM s",
    "CREATE STREAM s (a STRUCT<)", "CREATE STREAM s (a INT, a)", "CREATE STREAM s (a INT) USING", "EXPLAIN SELECT 1",
    "SELECT a FROM s WHERE b IN (SELECT c FROM t)", "SELECT :p AS x FROM s", "SELECT {fn now()} AS x FROM s", "BEGIN",
]
# fmt: on


def spoilt(random: Random, statements: list[Tokens]) -> str:
    """A valid script, changed a few times."""
    tokens = [token for statement in statements for token in [*statement, ";"]]
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        _change(random, tokens)
    text = _joined(random, tokens)
    if maybe(random, 0.15):
        text = _changed_characters(random, text)
    return text


def soup(random: Random) -> str:
    """Tokens without any order, or a statement that breaks off."""
    if maybe(random, 0.3):
        return ";".join(random.choice(_WHOLE) for _ in range(random.randint(1, 3)))
    pool = _KEYWORDS + _MARKS + _ODD + _NUMBERS + ["a", "s", "ts", "'x'", "`q`", "BIGINT", "TIMESTAMP"]
    return " ".join(random.choice(pool) for _ in range(random.randint(0, 30)))


def _change(random: Random, tokens: Tokens) -> None:
    at = random.randrange(len(tokens)) if tokens else 0
    match random.randrange(12):
        case 0 | 1:
            del tokens[at : at + random.choice([1, 1, 1, 2, 5])]
        case 2:
            tokens[at:at] = tokens[at : at + random.randint(1, 3)]
        case 3 if tokens:
            other = random.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 4 | 5:
            tokens[at : at + 1] = [random.choice(_KEYWORDS)]
        case 6:
            tokens[at : at + random.randint(0, 1)] = [random.choice(_MARKS)]
        case 7:
            tokens[at : at + random.randint(0, 1)] = [random.choice(_ODD)]
        case 8:
            tokens[at : at + 1] = [random.choice(_NUMBERS)]
        case 9:
            tokens[at:at] = [random.choice(["(", ")", "[", "]", "'", '"', "`", "/*", "CASE", "NOT", "- ", "EXISTS ("])]
        case 10:
            tokens[at : at + 1] = random.choice(_WHOLE).split(" ")
        case _:
            tokens[at : at + 1] = _swollen(random, tokens[at] if tokens else "a")


def _swollen(random: Random, token: str) -> Tokens:
    """A token nested deep, or repeated many times, or very long."""
    count = random.choice([3, 30, 150, 300, 2000])
    match random.randrange(6):
        case 0:
            return ["(" * count + token + ")" * count]
        case 1:
            return ["(" * count]
        case 2:
            return ["[" * count, token]
        case 3:
            return ["NOT"] * min(count, 300) + [token]
        case 4:
            return [(token + " ") * min(count, 300)]
        case _:
            return ["z" * count * 10]


def _joined(random: Random, tokens: Tokens) -> str:
    if maybe(random, 0.1):
        return "".join(tokens)
    return " ".join(tokens) if maybe(random, 0.7) else "\n".join(tokens)


def _changed_characters(random: Random, text: str) -> str:
    for _ in range(random.randint(1, 4)):
        at = random.randint(0, len(text))
        insert = random.choice([*_ODD, "'", '"', "`", "/*", "--", ")", "(", "", "\\", "\r", "\t"])
        text = text[:at] + insert + text[at + random.choice([0, 1, 1, 10]) :]
    return text[: random.randint(0, len(text))] if maybe(random, 0.2) else text
