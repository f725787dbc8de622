"""Implication: what the module headers promise, case by case."""

from __future__ import annotations

import pytest

from penstock.analysis.implication.implied import Implication, decide
from penstock.compile import parse
from penstock.explain.reason_words import each_told
from penstock.sql import parse_constraint


def ask(
    constraint: str, r: str = "", s: str = "", columns: str = "a INT, b INT, ts TIMESTAMP, EVENT TIME ts"
) -> Implication:
    """Whether what streams r and s declare implies a constraint."""
    parts = [f"CREATE STREAM {name} ({columns}{', ' if said else ''}{said});" for name, said in (("r", r), ("s", s))]
    script = parse("".join(parts))
    return decide(script, *parse_constraint(constraint, script))


WHOLE_TIME = "a INT, b INT, ts BIGINT, EVENT TIME ts"


@pytest.mark.parametrize(
    ("constraint", "r", "implied"),
    [
        ("PRIMARY KEY (a, ts) ON r", "PRIMARY KEY (a)", True),
        ("PRIMARY KEY (a) ON r", "PRIMARY KEY (a, ts)", False),
        ("PRIMARY KEY (a) ON r", "PRIMARY KEY (a, ts), COOCCURS (a) AND r (a) WINDOW [0, 0]", True),
        ("PRIMARY KEY (a, b, ts) ON r", "", False),
        ("FOLLOWS s (a) ON (a) WITHIN 2 SECONDS ON r", "COOCCURS (a) AND s (a) WINDOW [-1 SECOND, 2 SECONDS]", True),
        ("COOCCURS (a) AND s (a) WINDOW [*, 2 SECONDS] ON r", "FOLLOWS s (a) ON (a) WITHIN 1 SECOND", True),
        ("COOCCURS (a, b) AND s (a, b) WINDOW [0, 1 SECOND] ON r", "COOCCURS (a) AND s (a) WINDOW [0, 1 SECOND]", True),
        (
            "COOCCURS (a) AND s (a) WINDOW [0, 1 SECOND] ON r",
            "COOCCURS (a, b) AND s (a, b) WINDOW [0, 1 SECOND]",
            False,
        ),
        ("STREAM KEY (a, b) SPANS s ON r", "", True),
        ("COOCCURS (a) AND s (a) ON r", "", True),
    ],
)
def test_keys_and_windows(constraint: str, r: str, implied: bool) -> None:
    assert ask(constraint, r).implied is implied


def test_two_rows_alike_in_everything_break_a_key() -> None:
    answer = ask("PRIMARY KEY (a, b, ts) ON r")
    assert each_told(answer.because)[1] == each_told(answer.because)[2]


def test_a_split_on_time_joins_two_half_windows() -> None:
    halves = "STREAM KEY (a) SPANS s WINDOW [*, 0], STREAM KEY (a) SPANS s WINDOW [{}, *]"
    whole = "STREAM KEY (a) SPANS s ON r"
    assert ask(whole, halves.format("0")).implied is True
    assert ask(whole, halves.format("1 SECOND")).implied is False


def test_whole_numbers_have_nothing_between_them_and_dense_times_do() -> None:
    r = "STREAM KEY (a) SPANS s WINDOW [*, 0], STREAM KEY (a) SPANS s WINDOW [1{}, *]"
    assert ask("STREAM KEY (a) SPANS s ON r", r.format(""), columns=WHOLE_TIME).implied is True
    assert ask("STREAM KEY (a) SPANS s ON r", r.format(" MILLISECOND")).implied is False


def test_an_endless_counter_model_is_found_and_said_to_be_endless() -> None:
    answer = ask("PRIMARY KEY (a) ON r", "FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [1, *]", columns=WHOLE_TIME)
    assert answer.implied is False
    assert any("and again every" in row for row in each_told(answer.because))


RISES = "FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [1 SECOND, 2 SECONDS]"


@pytest.mark.parametrize(
    ("constraint", "r", "s", "implied"),
    [
        # Steps of at most 2 seconds pass over no window of 2 seconds, but over one of less.
        ("FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [20 SECONDS, 22 SECONDS] ON r", RISES, "", True),
        ("FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [5 SECONDS, 6 SECONDS] ON r", RISES, "", False),
        ("STREAM KEY (a) SPANS r ON r", RISES + ", STREAM KEY (a) SPANS r WINDOW [0, 2 SECONDS]", "", True),
        # Of each row both ways, which is a window of 2 seconds again.
        ("STREAM KEY (a) SPANS r ON r", RISES + ", STREAM KEY (a) SPANS r WINDOW [0, 1 SECOND]", "", True),
        ("STREAM KEY (a) SPANS r ON r", RISES + ", STREAM KEY (a) SPANS r WINDOW [0, 500 MILLISECONDS]", "", False),
        # Whoever falls for ever meets the one who falls beside it by short steps.
        (
            "STREAM KEY (b) SPANS s ON r",
            "FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [-2 SECONDS, -2 SECONDS], "
            "STREAM KEY (b) SPANS s WINDOW [-2 SECONDS, 2 SECONDS]",
            "FOREIGN KEY (a, b) REFERENCES s (a, b) WINDOW [*, -2 SECONDS]",
            True,
        ),
        # Partners that cannot stay behind rise too, which their key forbids: s has no rows.
        (
            "PRIMARY KEY (a) ON s",
            "PRIMARY KEY (a)",
            "FOREIGN KEY (a, b) REFERENCES s (a, b) WINDOW [1 SECOND, 1 SECOND], "
            "FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [0, *]",
            True,
        ),
        # Endless in both directions.
        (
            "PRIMARY KEY (a) ON r",
            RISES + ", FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [-3 SECONDS, -3 SECONDS]",
            "",
            False,
        ),
    ],
)
def test_rows_that_go_on_for_ever(constraint: str, r: str, s: str, implied: bool) -> None:
    assert ask(constraint, r, s).implied is implied


def test_rows_with_open_values_need_not_be_alike_for_ever() -> None:
    """That s is like r hangs on the window of r, which the next rows of s leave."""
    r = "FOREIGN KEY (a, b) REFERENCES s (a, b) WINDOW [0, 0], STREAM KEY (a) SPANS s WINDOW [0, 2]"
    r += ", COOCCURS (a, b) AND s (a, b) WINDOW [*, 10]"
    answer = ask("PRIMARY KEY (a) ON r", r, "FOREIGN KEY (a) REFERENCES s (a) WINDOW [1, 1]", columns=WHOLE_TIME)
    assert answer.implied is False


def test_a_calendar_knows_whole_days_alone() -> None:
    days = "a INT, b INT, d DATE, EVENT TIME d"
    key = "FOREIGN KEY (a, b) REFERENCES s (a, b) WINDOW [{} HOURS, {} HOURS]"
    assert ask("PRIMARY KEY (a) ON r", key.format(1, 23), columns=days).implied is True
    once = "PRIMARY KEY (a)"
    assert ask("COOCCURS (a) AND s (a) WINDOW [1 DAY, 1 DAY] ON r", key.format(1, 47), once, days).implied is True
    assert ask("COOCCURS (a) AND s (a) WINDOW [0, 0] ON r", key.format(0, 24), once, days).implied is False


def test_declarations_that_no_row_can_keep_imply_everything() -> None:
    r = "FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [1 SECOND, *], COOCCURS (a) AND r (a) WINDOW [*, 0]"
    assert ask("PRIMARY KEY (b) ON r", r).implied is True


def test_a_foreign_key_that_is_not_full_and_goes_on_for_ever_is_not_decided_and_named() -> None:
    answer = ask(
        "PRIMARY KEY (a) ON r", "PRIMARY KEY (b), FOREIGN KEY (a) REFERENCES r (b) WINDOW [1 SECOND, 2 SECONDS]"
    )
    assert answer.implied is None
    assert "is not full" in each_told(answer.because)[0]


def test_a_counter_model_keeps_conditions_and_domains() -> None:
    answer = ask("PRIMARY KEY (a) ON r", "CHECK (a > 40 AND a < 43), ORDERED BY ts, CLUSTERED BY a")
    assert answer.implied is False
    assert all(row.startswith("r: a = 41, ") for row in each_told(answer.because)[1:])


@pytest.mark.parametrize(
    ("r", "why"),
    [
        ("CHECK (b = 1)", "too few values"),
        ("CHECK (a % 2 = 0)", "CHECK (a % 2 = 0) ON r speaks of constants"),
    ],
)
def test_what_is_declared_outside_the_language_may_leave_it_undecided(r: str, why: str) -> None:
    answer = ask("STREAM KEY (a) SPANS r ON r", r)
    assert answer.implied is None
    assert why in each_told(answer.because)[0]


def test_a_null_demands_no_partner_and_the_answer_says_so() -> None:
    r = "FOREIGN KEY (a, b) REFERENCES s (a, b)"
    assert each_told(ask("FOREIGN KEY (a) REFERENCES s (a) ON r", r).because)[-1] == "provided that r.b is never NULL"
    kept = ask("FOREIGN KEY (a) REFERENCES s (a) ON r", r + ", CHECK (b IS NOT NULL)")
    assert kept.implied is True
    assert not any("NULL" in step and "provided" in step for step in each_told(kept.because))


@pytest.mark.parametrize(
    ("constraint", "r", "implied"),
    [
        ("ORDERED BY ts WITHIN 3 SECONDS ON r", "ORDERED BY ts WITHIN 2 SECONDS", True),
        ("ORDERED BY ts WITHIN 1 SECOND ON r", "ORDERED BY ts WITHIN 2 SECONDS", None),
        ("ORDERED BY ts WITHIN 9 SECONDS ON r", "ORDERED BY ts", True),
        ("ORDERED BY a WITHIN AUTO ON r", "ORDERED BY a WITHIN 7 ROWS", True),
        ("ORDERED BY a WITHIN 7 ROWS ON r", "ORDERED BY a WITHIN AUTO", None),
        ("ORDERED BY a WITHIN 7 ROWS ON r", "ARRIVES BY a", True),
        ("CLUSTERED BY a WITHIN 9 ROWS ON r", "CLUSTERED BY a WITHIN 8 ROWS", True),
        ("CLUSTERED BY a ON r", "PRIMARY KEY (a)", True),
        ("CLUSTERED BY a ON r", "ORDERED BY a", True),
        ("FOLLOWS s (a, b) ON (a, b) WITHIN 5 ROWS ON r", "FOLLOWS s (a) ON (a) WITHIN 4 ROWS", True),
        ("FOLLOWS s (a) ON (a) WITHIN 5 ROWS ON r", "FOLLOWS s (a) ON (a) WITHIN 0 SECONDS", None),
        ("PUNCTUATED ON (a, b) WHEN b = 1 ON r", "PUNCTUATED ON (a) WHEN b = 1", True),
        ("PUNCTUATED ON (a) WHEN b = 1 ON r", "PUNCTUATED ON (a, b) WHEN b = 1", None),
        ("CHECK (a < 10) ON r", "CHECK (a < 10)", True),
        ("CHECK (a < 11) ON r", "CHECK (a > 3 AND a < 10)", True),
        ("CHECK (a <= 9 AND a >= 4) ON r", "CHECK (a > 3 AND a < 10)", True),
        ("CHECK (a < 9) ON r", "CHECK (a > 3 AND a < 10)", None),
        ("CHECK (a IN (1, 2, 3)) ON r", "CHECK (a IN (1, 2))", True),
        ("CHECK (a IN (1, 2)) ON r", "CHECK (a IN (1, 2, 3))", None),
    ],
)
def test_arrival_and_constants_follow_from_what_is_stronger(constraint: str, r: str, implied: bool | None) -> None:
    assert ask(constraint, r).implied is implied


def test_rows_that_rise_for_ever_cannot_all_stay_before_one() -> None:
    r = "FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [1 SECOND, *]"
    before = "COOCCURS (a, b) AND s (a, b) WINDOW [0, *]"
    never = "COOCCURS (a, b) AND s (a, b) WINDOW [0, 0] ON r"
    assert ask(never, f"{r}, {before}").implied is True
    assert ask(never, f"{r}, COOCCURS (a, b) AND s (a, b) WINDOW [*, 0]").implied is False
    assert ask("FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [9 HOURS, *] ON r", r).implied is True


ENDLESS = "CREATE STREAM {} (a INT, b INT, ts BIGINT, EVENT TIME ts{});"
AGAIN = ", FOREIGN KEY (b, a) REFERENCES r (a, b) WINDOW [1, *]"


@pytest.mark.parametrize(
    ("r", "s", "constraint", "implied"),
    [
        # All rows come again, the one that the constraint is about too.
        (f"{AGAIN}, FOREIGN KEY (a, b) REFERENCES s (a, b) WINDOW [-1, 1]", "",
         "COOCCURS (a, b) AND s (a, b) WINDOW [0, 1] ON r", False),
        # Rows of r come again, and their partners, under a key, do not.
        (", FOREIGN KEY (a, b) REFERENCES s (a, b) WINDOW [*, 0], FOREIGN KEY (a, b) REFERENCES r (a, b) WINDOW [1, *]",
         ", FOREIGN KEY (b, a) REFERENCES r (a, b) WINDOW [*, 0], PRIMARY KEY (a, b)",
         "STREAM KEY (b) SPANS r WINDOW [0, 0] ON s", False),
        # Rows of r come again until they are in the window of a STREAM KEY, and so they agree with s.
        (AGAIN, ", COOCCURS (a, b) AND r (a, b) WINDOW [-1, 0], STREAM KEY (a) SPANS r WINDOW [1, *]",
         "COOCCURS (a) AND r (a) WINDOW [-1, 0] ON s", True),
    ],
)  # fmt: skip
def test_rows_that_come_again_for_ever(r: str, s: str, constraint: str, implied: bool) -> None:
    script = parse(ENDLESS.format("r", r) + ENDLESS.format("s", s))
    assert decide(script, *parse_constraint(constraint, script)).implied is implied
