"""A plugin for `tests/soak.py`: counts the random cases that a run of tests draws, those within a test included."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis.core import StateForActualGivenExecution

from tests import measure

_once = StateForActualGivenExecution.execute_once
_drawn = 0


def _counted(self: StateForActualGivenExecution, *given: Any, **named: Any) -> Any:
    global _drawn  # noqa: PLW0603 - one count for the whole run
    _drawn += 1
    return _once(self, *given, **named)  # type: ignore[no-untyped-call]


StateForActualGivenExecution.execute_once = _counted  # type: ignore[method-assign]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"{_drawn + measure.drawn} random cases")
