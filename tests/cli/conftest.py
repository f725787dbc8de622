"""The command line is tested from outside: a process, its exit code, its two outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def penstock(tmp_path: Path) -> Run:
    """Run the command in an empty folder; keyword arguments are environment variables."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "penstock", *arguments],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=60,
        )

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Write a script into that folder and give its name."""

    def write(text: str, name: str = "script.sql") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write
