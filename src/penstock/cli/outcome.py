"""How a command ends: its answer on stdout, its complaints on stderr, its exit code; no half answer, no foreign trace.

Exit codes: 0 done or all bounded or implied; 1 failed; 2 bad input; 3 some query unbounded, or not implied; 4 undecided
(no query unbounded); 5 an answer may be wrong, if asked; 130 after Ctrl-C.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, ParamSpec

import typer

from penstock import __version__
from penstock.errors import REFUSALS, InternalError, MachineError, PenstockError

if TYPE_CHECKING:
    from penstock.analysis.finding import Verdict

DONE, FAILED, BAD_INPUT, UNBOUNDED, UNDECIDED, INEXACT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 4, 5, 130, 141
NOT_IMPLIED = UNBOUNDED
"""`implies` answers no as `check` does."""

P = ParamSpec("P")


def guarded(command: Callable[P, int]) -> Callable[P, None]:
    """Turn what a command returns, or raises, into an exit code; no stack trace reaches the user unasked."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
            sys.stdout.flush()
        except PenstockError as error:
            _fail(error)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _abandon_output()
            raise typer.Exit(BROKEN_PIPE) from None
        except OSError as error:
            _abandon_output()
            _fail(MachineError(f"the machine says: {error}"))
        except typer.Exit:
            raise
        except Exception as error:
            from penstock.extras import missing_extra  # noqa: PLC0415

            if isinstance(error, ModuleNotFoundError) and (lacks := missing_extra(error, "spark")) is not None:
                _fail(lacks)
            # The last line of defence: what nobody foresaw ends as one sentence, not as a trace.
            _fail(_bug(error))
        raise typer.Exit(code)

    return run


def _abandon_output() -> None:
    # Nobody can be told any more. Python flushes stdout once more at exit: let that go nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: PenstockError) -> NoReturn:
    complain(str(error))
    raise typer.Exit(BAD_INPUT if isinstance(error, REFUSALS) else FAILED) from None


def _bug(error: Exception) -> InternalError:
    if os.environ.get("PENSTOCK_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    return InternalError(
        f"this is a bug in Penstock {__version__}: {type(error).__name__}: {error}",
        hint="please report it with the script and the trace that PENSTOCK_DEBUG=1 prints",
    )


def complain(text: str) -> None:
    """Say something on stderr, with nothing in it that a terminal would obey."""
    # The answer, if there is one, stands before the complaint where both go to one terminal.
    sys.stdout.flush()
    from penstock.explain.ink import harmless  # noqa: PLC0415

    # What options took from the environment is known only where Spark was asked for.
    options = sys.modules.get("penstock.spark.option_values")
    text = text if options is None else options.masked(text)
    sys.stderr.write(harmless(text, colour=False) + "\n")


def say(lines: Sequence[str]) -> None:
    """Print lines of the answer."""
    from penstock.explain.ink import Ink, harmless  # noqa: PLC0415

    sys.stdout.write(harmless("\n".join(lines), colour=Ink.of(sys.stdout).colour) + "\n")


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """The worst of the verdicts, as a code."""
    found = {verdict.verdict for verdict in verdicts}
    return UNBOUNDED if "unbounded" in found else UNDECIDED if "undecided" in found else DONE
