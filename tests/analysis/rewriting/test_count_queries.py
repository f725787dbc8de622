"""A query as counts: the text that Spark reads, and what follows from its lengths."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.analysis.rewriting.count_queries import CountOutput, Rewriting, literal
from penstock.analysis.rewriting.rewrite import rewrite_finding
from tests.analysis.rewriting.section_2 import question
from tests.analysis.test_implication_paper import SECTION_2


def made(text: str = SECTION_2) -> Rewriting:
    found = rewrite_finding(question(text).query).rewriting
    assert found is not None
    return found


def test_the_answer_is_a_difference_of_counts() -> None:
    assert made().count == "least(count_if(source = 's'), count_if(source = 'sa')) - count_if(source = 'f')"
    assert made().sql.count("UNION ALL") == 2
    assert " JOIN " not in made().sql


def test_lengths() -> None:
    found = made()
    assert found.reach == 15_000_000
    assert found.apart_reach == sum(source.stray for source in found.sources) == 20_000_000
    assert found.error_bound == pytest.approx(0.05)
    assert not found.is_exact
    assert found.sight >= found.reach


def test_a_value_that_falls_has_its_limits_turned_round() -> None:
    one = replace(
        made(), outputs=(CountOutput("up", "count"), CountOutput("down", "count", text="9 - {n}", falls=True))
    )
    assert one.limits == (("up_low", "low"), ("up_high", "high"), ("down_low", "9 - high"), ("down_high", "9 - low"))


def test_names_are_quoted_as_spark_reads_them() -> None:
    assert literal("it's") != "'it's'"
    assert made().source("f").stream == "fin"
