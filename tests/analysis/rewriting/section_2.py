"""REWRITE's running example, taken apart as the rules are given it."""

from __future__ import annotations

from penstock.analysis.rewriting.compose import Composed, compose
from penstock.analysis.rewriting.identity import Identity, identities
from penstock.analysis.rewriting.question import CountQuestion, count_question
from penstock.analysis.rewriting.substreams import SubStreams
from penstock.compile import parse
from tests.analysis.test_implication_paper import SECTION_2

SYN, SYNACK, FIN = "s", "sa", "f"


def question(text: str = SECTION_2) -> CountQuestion:
    (query,) = parse(text).queries
    found = count_question(query)
    assert isinstance(found, CountQuestion), found
    return found


def known(text: str = SECTION_2) -> SubStreams:
    return SubStreams(question(text))


def identity(text: str = SECTION_2) -> Identity:
    return next(identities(question(text)))


def composed(text: str = SECTION_2) -> Composed:
    found = compose(known(text))
    assert isinstance(found, Composed), found
    return found
