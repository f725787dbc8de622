"""Batches as a page asks for them: each once, the last line of a batch counts, none older than an hour."""

from __future__ import annotations

import json

import pytest

from penstock.errors import UsageError
from penstock.live.history import HOUR, History, history_of
from tests.live.samples import described, line


def test_a_page_is_given_what_it_has_not_seen() -> None:
    history = History()
    history.describe(described())
    for batch in range(3):
        history.add(line(batch), at=float(batch))
    known = history.since(0)
    assert [one["batch"] for one in known["lines"]] == [0, 1, 2]
    assert list(known["about"]) == ["query_1"]
    assert [one["batch"] for one in history.since(known["lines"][1]["number"])["lines"]] == [2]


def test_a_batch_that_is_done_again_replaces_the_one_before() -> None:
    history = History()
    history.add(line(0, kept=1), at=0.0)
    history.add(line(1), at=1.0)
    seen = history.since(0)["lines"][-1]["number"]
    history.add(line(0, kept=7), at=2.0)
    assert [(one["batch"], one["state_tuples"]["a"]) for one in history.since(seen)["lines"]] == [(0, 7)]
    assert len(history.since(0)["lines"]) == 2


def test_what_is_older_than_an_hour_goes() -> None:
    history = History()
    for minute in range(90):
        history.add(line(minute), at=60.0 * minute)
    kept = [one["at"] for one in history.since(0)["lines"]]
    assert kept[0] == kept[-1] - HOUR


def test_a_file_of_metrics_is_read_batch_by_batch() -> None:
    known = history_of([json.dumps(line(0)), "", json.dumps(line(1))], "m.jsonl").since(0)
    assert [one["batch"] for one in known["lines"]] == [0, 1]


@pytest.mark.parametrize("text", ["no json", "[]", '{"query": "q"}', '{"query": "q", "batch": 0}'])
def test_what_is_no_line_of_metrics_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(UsageError, match=r"m\.jsonl:2: this is no line of metrics"):
        history_of([json.dumps(line(0)), text], "m.jsonl")
