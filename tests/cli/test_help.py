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
    assert any(context.params.get(name) for name in ("file", "checkpoint", "name"))
    shown = " ".join(CliRunner().invoke(app, [name, "--help"]).stdout.split())
    assert " ".join(example.split()) in shown


def test_every_command_teaches_by_example() -> None:
    taught = {shlex.split(example)[1] for example in examples()}
    assert taught == set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "found"),
    [("penstock ch", ["check"]), ("penstock run --ch", ["--checkpoint"]), ("penstock sta", ["state"])],
)
def test_shells_can_complete(words: str, found: list[str]) -> None:
    asked = {"_PENSTOCK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert CliRunner().invoke(app, [], prog_name="penstock", env=asked).stdout.split() == found
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).stdout
