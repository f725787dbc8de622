"""Debian's Chromium, driven by Playwright: `make chromium` fetches it. Tests that ask for it are skipped without it."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_IS_THERE = _CHROMIUM is not None and importlib.util.find_spec("playwright") is not None
needs_chromium = pytest.mark.skipif(not _IS_THERE, reason="no Chromium: make chromium")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
