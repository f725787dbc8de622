"""The command line, its exit codes and its two outputs: as a process, and most cases, faster, inside this one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import app

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def penstock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = CliRunner().invoke(app, arguments)
        return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def outside(tmp_path: Path) -> Run:
    """Run the command there as a process; keyword arguments are environment variables."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "penstock", *arguments],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )

    return run


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Write a script into that folder and give its name."""

    def write(text: str, name: str = "script.sql") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write
