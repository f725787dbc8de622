"""REWRITE's examples by their numbers: section 2's streams, Examples 1 and 2, Figure 3 in ERRATA's reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.analysis.implication.implied import Implication, decide
from penstock.compile import parse
from penstock.explain.reason_words import each_told
from penstock.sql import parse_constraint

SECTION_2 = (Path(__file__).parents[2] / "examples" / "syn_without_fin.sql").read_text(encoding="utf-8")

FIGURE_3 = {
    "i": "PRIMARY KEY (id) ON syn",
    "ii": "PRIMARY KEY (id) ON synack",
    "iii": "PRIMARY KEY (id) ON fin",
    "iv": "STREAM KEY (id) SPANS synack WINDOW [0, *] ON syn",
    "v": "STREAM KEY (id) SPANS fin WINDOW [0, *] ON synack",
    "vi": "STREAM KEY (ip) SPANS synack WINDOW [0, 15 SECONDS] ON syn",
    "vii": "STREAM KEY (ip) SPANS fin WINDOW [0, 15 SECONDS] ON synack",
    "viii": "FOREIGN KEY (id, ip) REFERENCES synack (id, ip) WINDOW [-10 SECONDS, 0] ON fin",
    "ix": "FOREIGN KEY (id, ip) REFERENCES syn (id, ip) WINDOW [-5 SECONDS, 0] ON synack",
}
REDUNDANT = {"iv", "v"}
"""Follow from the others: the partner that the foreign key gives is the one with that key."""

EXAMPLE_2 = "COOCCURS (id) AND syn (id) WINDOW [-5 SECONDS, 0] ON synack"


def without(*numbers: str) -> str:
    """Section 2's script without some lines of Figure 3."""
    head, *rest = SECTION_2.split("CREATE STREAM ")
    streams = dict(part.split(" (", 1) for part in rest)
    for number in numbers:
        text, _, stream = FIGURE_3[number].rpartition(" ON ")
        assert text in streams[stream]
        streams[stream] = streams[stream].replace(f",\n  {text}", "", 1)
        assert text not in streams[stream]
    return head + "".join(f"CREATE STREAM {name} ({body}" for name, body in streams.items())


def ask(text: str, constraint: str) -> Implication:
    script = parse(text)
    return decide(script, *parse_constraint(constraint, script))


@pytest.mark.parametrize("number", FIGURE_3)
def test_figure_3_each_constraint_implies_itself(number: str) -> None:
    answer = ask(SECTION_2, FIGURE_3[number])
    assert answer.implied is True
    assert any(step.startswith("declared: ") for step in each_told(answer.because))


@pytest.mark.parametrize("number", FIGURE_3)
def test_figure_3_without_it_the_others_imply_only_what_is_redundant(number: str) -> None:
    answer = ask(without(number), FIGURE_3[number])
    assert answer.implied is (number in REDUNDANT), answer
    if not answer.implied:
        assert each_told(answer.because)[0] == "these rows keep every declaration and break it"


def test_example_2_is_implied_with_its_chain_of_reasons() -> None:
    answer = ask(SECTION_2, EXAMPLE_2)
    assert answer.implied is True
    declared = [step.removeprefix("declared: ") for step in each_told(answer.because) if step.startswith("declared: ")]
    assert declared == [FIGURE_3["i"], FIGURE_3["ix"]]
    assert "PRIMARY KEY (id) ON syn: syn#2 is syn#1" in each_told(answer.because)
    assert each_told(answer.because)[-1] == "provided that synack.ip is never NULL"


def test_example_2_needs_the_key_of_syn_and_not_that_of_synack() -> None:
    assert ask(without("ii"), EXAMPLE_2).implied is True
    assert ask(without("i"), EXAMPLE_2).implied is False


@pytest.mark.parametrize(
    ("window", "implied"),
    [("[-6 SECONDS, 1 SECOND]", True), ("[-4 SECONDS, 0]", False), ("[-5 SECONDS, -1 SECOND]", False)],
)
def test_example_2_holds_in_wider_windows_only(window: str, implied: bool) -> None:
    assert ask(SECTION_2, f"COOCCURS (id) AND syn (id) WINDOW {window} ON synack").implied is implied


@pytest.mark.parametrize(
    ("constraint", "implied"),
    [
        ("FOREIGN KEY (id, ip) REFERENCES syn (id, ip) WINDOW [-15 SECONDS, 0] ON fin", True),
        ("FOREIGN KEY (id, ip) REFERENCES syn (id, ip) WINDOW [-14 SECONDS, 0] ON fin", False),
        ("COOCCURS (id) AND synack (id) WINDOW [0, 5 SECONDS] ON syn", True),
        ("COOCCURS (id) AND fin (id) WINDOW [0, 10 SECONDS] ON synack", True),
        ("STREAM KEY (id) SPANS fin ON syn", True),
        ("STREAM KEY (ip) SPANS fin WINDOW [0, 16 SECONDS] ON synack", False),
        ("PRIMARY KEY (ip) ON syn", False),
    ],
)
def test_what_4_1_and_4_2_ask_of_the_running_example(constraint: str, implied: bool) -> None:
    assert ask(SECTION_2, constraint).implied is implied
