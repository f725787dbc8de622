"""The fuzz of the language: random and spoilt scripts raise nothing but Penstock's own errors.

Every text either parses, and then prints back and can be checked, or raises ScriptErrors in which each mistake has a
place inside the text and can be shown. The grammar that drives it is in `written_streams` and `written_queries`.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.measure import size
from tests.sql.strategies import spoilt_scripts
from tests.sql.surviving import survive

EXAMPLES = size(500, 20_000)
ANY_CHECK = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


@pytest.mark.measure
def test_spoilt_scripts_raise_nothing_but_our_own_errors() -> None:
    outcomes: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=ANY_CHECK)
    @given(spoilt_scripts())
    @example("CREATE STREAM s (a INT, STREAM KEY (a) SPANS s WINDOW [0, 1e999999])")
    @example("CREATE STREAM s (a INT); SELECT a FROM s WHERE (a > 1 NULL)")
    @example("CREATE STREAM `two\nlines` (a INT); SELECT b FROM `two\nlines`")
    def run(text: str) -> None:
        outcomes["parsed" if survive(text) is not None else "refused"] += 1

    run()
    print(f"fuzz: {sum(outcomes.values())} scripts, {outcomes['parsed']} parsed, {outcomes['refused']} refused")
    assert sum(outcomes.values()) >= EXAMPLES
    assert min(outcomes["parsed"], outcomes["refused"]) >= EXAMPLES // 50, "one of the two is hardly tried"


@settings(max_examples=size(200, 5_000), deadline=None)
@given(st.text())
def test_any_text_at_all_is_answered(text: str) -> None:
    survive(text)


@pytest.mark.parametrize("text", ["", ";", " ;; ", "-- nothing", "/* nothing */", "\ufeff", "\n\n"])
def test_script_without_a_statement_is_empty_and_no_mistake(text: str) -> None:
    script = survive(text)
    if text != "\ufeff":
        assert script is not None
        assert not script.queries
