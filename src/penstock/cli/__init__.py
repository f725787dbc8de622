"""The command line (DESIGN section 4): `commands` has what a user types, the modules beside it how it is answered."""

from penstock.cli.commands import app, main

__all__ = ["app", "main"]
