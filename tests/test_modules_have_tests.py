"""Each module of the analysis, the plans, the core and the reports has a test file named after it, in its own room."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "penstock"

TESTED_ELSEWHERE = {
    "decider_reasons": "kinds alone: test_reasons.py, and tests/explain/test_reason_words.py",
    "plan_reasons": "kinds alone, likewise",
    "decider_words": "a table of words: tests/explain/test_reason_words.py",
    "plan_words": "likewise",
    "state_words": "likewise",
}


@pytest.mark.parametrize("part", ["analysis", "plan", "runtime", "explain"])
def test_each_module_has_its_test_file(part: str) -> None:
    lacking = []
    for path in sorted((SOURCE / part).rglob("*.py")):
        room = TESTS / path.parent.relative_to(SOURCE)
        is_own = path.stem not in ("__init__", *TESTED_ELSEWHERE)
        if is_own and not (room / f"test_{path.stem}.py").exists():
            lacking.append(path.relative_to(SOURCE).as_posix())
    assert lacking == []
