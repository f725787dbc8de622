"""Scripts of all types and declarations are checked and planned, or refused with a sentence: no other exception."""

from __future__ import annotations

import random

import penstock
from penstock.compile import plan
from penstock.errors import InternalError, PenstockError
from tests.measure import each, seeds
from tests.sql.typed_scripts import TypedWriter


def test_random_typed_scripts_are_checked_and_planned_or_refused() -> None:
    cases = list(each(seeds(0, 80, 5000)))
    read = 0
    for seed in cases:
        text = TypedWriter(random.Random(seed)).script()
        try:
            script = penstock.parse(text)
            read += 1
            penstock.check(script)
            plan(script)
        except InternalError as error:
            raise AssertionError(f"seed {seed}: {error}\n{text}") from error
        except PenstockError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}\n{text}") from error
    assert read > len(cases) * 0.3
