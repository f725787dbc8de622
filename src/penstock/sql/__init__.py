"""Text to model, and back. Errors keep their place in the text."""

from penstock.sql.printer import print_script
from penstock.sql.script import parse_constraint, parse_script

__all__ = ["parse_constraint", "parse_script", "print_script"]
