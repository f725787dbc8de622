"""How a mistake is shown, and what is not reported twice. What each mistake says is in tests/golden/errors."""

from __future__ import annotations

import pytest

from penstock.errors import DeclarationMistake, Place, QueryMistake, Refused, ScriptErrors, SyntaxMistake
from penstock.sql import parse_constraint, parse_script
from penstock.sql.lexical import quotes_of

STREAMS = "CREATE STREAM s (a INT, b STRING, ts TIMESTAMP, EVENT TIME ts);\nCREATE STREAM t (a INT, c STRING);\n"


def _mistakes(text: str) -> ScriptErrors:
    with pytest.raises(ScriptErrors) as raised:
        parse_script(text, "q.sql")
    return raised.value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT a FROM s WHERE", SyntaxMistake),
        ("CREATE STREAM u (a INT, PRIMARY KEY (b))", DeclarationMistake),
        ("SELECT x FROM s", QueryMistake),
        ("SELECT a FROM s ORDER BY a", Refused),
    ],
)
def test_mistakes_are_split_by_who_must_act(text: str, kind: type) -> None:
    (mistake,) = _mistakes(STREAMS + text).mistakes
    assert type(mistake) is kind
    assert mistake.place.file == "q.sql"
    assert mistake.place.line == 3


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM u (a BIGNIT, EVENT TIME a, PRIMARY KEY (a)); SELECT a FROM u [RANGE 5 SECONDS] WHERE a > 1",
        "CREATE STREAM u (a STRING, EVENT TIME a); SELECT a FROM u [RANGE 5 SECONDS]",
        "CREATE STREAM u (a INT, EVENT TIME tt, PUNCTUATED ON (a) WHEN a = 1 LIFESPAN 5 HOURS); SELECT a FROM u",
        "CREATE STREAM u (a INT, PRIMARY KEY (a); SELECT a FROM u",
        "CREATE STREAM u (x, y INT, FOREIGN KEY (y) REFERENCES v (z)); CREATE STREAM v (z INT, FOLLOWS u (x) ON (z))",
        "CREATE SINK k USING; INSERT INTO k SELECT a FROM s",
        "SELECT a FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.x = s.a)",
        "CREATE STREAM u (a INT, COOCCURS (a) AND s (a) WINDOW [x, y])",
    ],
)
def test_one_slip_is_one_mistake(text: str) -> None:
    assert len(_mistakes(STREAMS + text).mistakes) == 1, str(_mistakes(STREAMS + text))


def test_mistakes_come_in_the_order_of_their_places() -> None:
    errors = _mistakes(
        "SELECT a FROM x;\nCREATE STREAM s (a INT, PRIMARY KEY (b), CHECK (c > 0));\nSELECT d FROM s LIMIT 3"
    )
    assert [(m.place.line, m.place.column) for m in errors.mistakes] == [(1, 15), (2, 38), (2, 49), (3, 17)]
    assert str(errors).count("error:") == 4


def test_caret_stands_under_the_place_whatever_is_before_it() -> None:
    text = "\tSELECT '日本' AS x, nope FROM s"
    place = Place.of(text, text.index("nope"), text.index("nope") + 4, "f", 1 + text[: text.index("nope")].count("\n"))
    shown, carets = place.caret()
    assert shown == "  1 | " + text
    assert carets == "    | \t        　　      ^^^^".replace("        　　      ", " " * 8 + "\u3000" * 2 + " " * 8)


def test_what_a_terminal_would_obey_is_not_shown_as_it_is() -> None:
    errors = _mistakes("CREATE STREAM s (a INT); SELECT `b\x1b[31m\nc` FROM s")
    assert "\x1b" not in str(errors)
    assert errors.mistakes[0].message == "unknown column b\ufffd[31m c"


def test_long_line_is_cut_around_the_place() -> None:
    text = "SELECT " + ", ".join(f"a AS c{n}" for n in range(200)) + ", nope AS x FROM s"
    shown, carets = _mistakes(STREAMS + text).mistakes[0].place.caret()
    assert len(shown) < 140
    assert shown[carets.index("^") :].startswith("nope")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PRIMARY KEY (a)", "expected ON, found the end of the statement"),
        ("PRIMARY KEY (a) ON u", "unknown stream u"),
        ("PRIMARY KEY (x) ON s", "stream s has no column x"),
        ("FOLLOWS t (a) ON (b) ON s", "s.b is STRING, but t.a is INT"),
        ("ORDERED BY b WITHIN 3 SECONDS ON s", "ORDERED BY b WITHIN 3 SECONDS: STRING has no lengths"),
        (
            "COOCCURS (a) AND t (a) WINDOW [0, 1 DAY] ON s",
            "a window of time needs an event time, and stream t has none",
        ),
        ("something", "expected a constraint, found something"),
        ("", "expected a constraint, found nothing"),
        ("PRIMARY KEY (a) ON s and more", "expected the end of the constraint, found and"),
        ("CHECK (a > 0) ON VIOLATION QUARANTINE INTO bad ON s", "unknown sink bad"),
    ],
)
def test_constraint_that_cannot_be_asked_about(text: str, message: str) -> None:
    script = parse_script(STREAMS)
    with pytest.raises(ScriptErrors) as raised:
        parse_constraint(text, script)
    assert [m.message for m in raised.value.mistakes] == [message]


def test_constraint_that_is_declared_may_be_asked_about() -> None:
    script = parse_script("CREATE STREAM s (a INT, PRIMARY KEY (a), CHECK (a > 0))")
    stream, scheme = parse_constraint("primary key (A) on S", script)
    assert stream.name == "s"
    assert scheme == script.streams[0].schemes[0]


@pytest.mark.parametrize(
    ("text", "start"),
    [("'a' 'b", 4), ("-- ' \n\"x", 6), ("`a``b` `c", 7), ("/* /* */ ", 0), ("'\\' x", 0), ("x'0F' x'zz'", 6)],
)
def test_what_never_ends_is_found_where_it_opens(text: str, start: int) -> None:
    unreadable = quotes_of(text).unreadable
    assert unreadable is not None
    assert unreadable.start == start


@pytest.mark.parametrize("text", ["'a' \"b\" `c` -- ' \n /* ' */ /* /* */ */", "'\\''", "-- `", "x'0F'", "max'"[:3]])
def test_what_ends_is_readable(text: str) -> None:
    assert quotes_of(text).unreadable is None
