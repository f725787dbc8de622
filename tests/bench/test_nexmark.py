"""Nexmark's questions: every one has a bound, and is checked fast; each answer equals Spark's batch answer.

In the suite the verdicts; `make test-all` runs some questions on Spark at a small size, `penstock bench nexmark` all of
them at 300,000 events.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from benchmarks.nexmark.main import main
from benchmarks.nexmark.questions import SCRIPT

import penstock
from penstock.compile import load
from tests.measure import allowed_seconds


def test_every_question_is_bounded_and_checked_fast() -> None:
    began = time.perf_counter()
    script = load(SCRIPT)
    verdicts = {query.name: penstock.check(script, query.name).verdict for query in script.queries}
    assert set(verdicts.values()) == {"bounded"}, verdicts
    assert len(verdicts) >= 18
    assert time.perf_counter() - began < allowed_seconds(2)


@pytest.mark.thorough
@pytest.mark.parametrize("names", ["q1,q3,q4,q5,q6", "q7,q8,q9,q11,q13", "q14,q15,q16,q17", "q18,q19,q20,q21,q22"])
def test_answers_equal_those_of_a_batch(tmp_path: Path, names: str) -> None:
    assert main(["--quick", "--without-spark", "--only", names, "--json", str(tmp_path / "found.json")]) == 0
