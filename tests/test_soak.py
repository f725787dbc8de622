"""The ledger of `make soak` adds up, and its scripts differ from what they were made of."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from tests.soak import LEDGER, Counts, mutated, recorded, with_row


def test_counts_add_up_over_runs() -> None:
    text, before = LEDGER.read_text(), list(recorded(LEDGER.read_text()))
    when = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)
    for n in (1, 2):
        text = with_row(text, Counts(n, 1_000 * n, 20_000 * n, 3 * n, ["core:1", "kills:2"]), "abc1234", when)
    assert list(recorded(text)) == [*before, (1, 1_000, 20_000, 3), (2, 2_000, 40_000, 6)]
    sums = [sum(column) for column in zip(*recorded(text), strict=True)]
    assert text.count("**All runs:**") == 1
    told = f"{sums[0]:,} minutes, {sums[1]:,} differential cases, {sums[2]:,} scripts, {sums[3]:,} kills."
    assert text.rstrip().endswith(told)
    assert "\n\n| when (UTC)" in text


def test_a_script_is_changed_and_the_same_seed_changes_it_alike() -> None:
    text = "SELECT a.k FROM a, b WHERE a.k = b.k;"
    made = [mutated(random.Random(seed), text, ["a", "SELECT"]) for seed in range(20)]
    assert made == [mutated(random.Random(seed), text, ["a", "SELECT"]) for seed in range(20)]
    assert sum(one != text for one in made) > 10
