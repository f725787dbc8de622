"""`--help` teaches by example, and every example is one that the command line takes."""

from __future__ import annotations

import shlex

import pytest
import typer
from typer.testing import CliRunner

from penstock.cli import app
from penstock.help_text import examples


@pytest.mark.parametrize("example", examples())
def test_an_example_names_options_that_exist(example: str) -> None:
    program, name, *arguments = shlex.split(example)
    assert program == "penstock"
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    context = command.make_context(name, list(arguments))
    assert context.params.get("file") or context.params["checkpoint"]
    shown = " ".join(CliRunner().invoke(app, [name, "--help"]).stdout.split())
    assert " ".join(example.split()) in shown


def test_shells_can_complete() -> None:
    done = CliRunner().invoke(app, ["--show-completion", "bash"])
    assert done.exit_code in (0, 1)
    assert "--show-completion" in CliRunner().invoke(app, ["--help"]).stdout
