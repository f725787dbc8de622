"""Options of the whole suite, and how its random cases are drawn."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.measure import FULL

# In the suite the same cases every time, so that what is red was made red by a change; new ones at full size. How long
# a case takes to draw is a matter of what else the machine does, so neither deadlines nor health checks judge it.
settings.register_profile("suite", derandomize=not FULL, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the expected files of tests/golden")
