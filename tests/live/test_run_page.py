"""The page as one file: the data are inside, and no text of a user's becomes markup."""

from __future__ import annotations

import json
import re

from penstock.live.history import History
from penstock.live.run_page import live_page
from tests.live.samples import described, line


def test_the_page_holds_all_that_is_known_and_fetches_nothing() -> None:
    history = History()
    history.describe(described())
    history.add(line(0), at=0.0)
    page = live_page("run.sql", history.since(0), is_live=False)
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page)
    assert found is not None
    data = json.loads(found[1])
    assert (data["live"], data["lines"][0]["batch"]) == (False, 0)
    assert not re.search(r"(src|href)=", page)


def test_a_name_is_no_markup() -> None:
    history = History()
    history.add(line(0, query="</script><script>alert(1)</script>"), at=0.0)
    page = live_page("<b>x</b>", history.since(0), is_live=True)
    assert "<script>alert" not in page
    assert "<b>x</b>" not in page
