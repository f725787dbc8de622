"""The policies that the pages name are those of the language."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.model.schemes import Policy

DOCS = Path(__file__).parents[2] / "docs"


def test_what_may_become_of_a_row_that_breaks_a_promise_is_a_policy() -> None:
    (line,) = (one for one in (DOCS / "withwatermark.md").read_text().splitlines() if "`ON VIOLATION` says" in one)
    named = re.findall(r"`([A-Z]+)`", line.partition("`ON VIOLATION` says")[2])
    assert sorted(named) == sorted(Policy)
