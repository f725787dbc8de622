"""The command line: check | explain | implies | run | page | state | rescale | profile | bench (DESIGN section 4).

Answers go to stdout, errors to stderr, and a command that fails prints no half answer. Exit codes: 0 done or all
bounded or implied; 1 failed; 2 bad input; 3 some query unbounded, or not implied; 4 undecided (no query unbounded); 130
after Ctrl-C.
Modules that a command needs are imported by that command, so that `check` never pays for what it does not use.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import shlex
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec

import typer
from typer.core import TyperCommand

from penstock import __version__
from penstock.errors import REFUSALS, InternalError, MachineError, PenstockError, UsageError
from penstock.help_text import epilog

if TYPE_CHECKING:
    from penstock.analysis.finding import Verdict
    from penstock.model.script import Script
    from penstock.plan.counting import Observed

DONE, FAILED, BAD_INPUT, UNBOUNDED, UNDECIDED, INEXACT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 3, 4, 5, 130, 141
NOT_IMPLIED = UNBOUNDED
"""`implies` answers no as `check` does."""

ARCHIVE = "penstock.archive"
"""A setting of `run`: `join` joins what budgets have archived, instead of the streams."""

RECALL = "penstock.recall"
"""A setting of `run`: the recall below which a hook is called."""

_OWN = ("archive", "audit", "cells", "parquet", "purge", "quarantine", "recall", "sample", "trigger")
SETTINGS = tuple(f"penstock.{name}" for name in _OWN)
"""The settings of Penstock's own; all others are Spark's."""

_PASSING_SINKS = ("console", "memory", "noop")
"""Formats that keep nothing once the query stops; any other sink lasts, and needs a checkpoint to be exactly once."""

app = typer.Typer(
    name="penstock",
    help="Continuous multi-way joins on Spark, with their state bounded.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

P = ParamSpec("P")

ScriptFile = Annotated[Path, typer.Argument(metavar="FILE.sql", help="The script.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


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
    _complain(str(error))
    raise typer.Exit(BAD_INPUT if isinstance(error, REFUSALS) else FAILED) from None


def _bug(error: Exception) -> InternalError:
    if os.environ.get("PENSTOCK_DEBUG"):
        traceback.print_exception(error, file=sys.stderr)
    return InternalError(
        f"this is a bug in Penstock {__version__}: {type(error).__name__}: {error}",
        hint="please report it with the script and the trace that PENSTOCK_DEBUG=1 prints",
    )


def _complain(text: str) -> None:
    # The answer, if there is one, stands before the complaint where both go to one terminal.
    sys.stdout.flush()
    from penstock.explain.ink import harmless  # noqa: PLC0415

    # What options took from the environment is known only where Spark was asked for.
    options = sys.modules.get("penstock.spark.option_values")
    text = text if options is None else options.masked(text)
    sys.stderr.write(harmless(text, colour=False) + "\n")


def _say(lines: Sequence[str]) -> None:
    from penstock.explain.ink import Ink, harmless  # noqa: PLC0415

    sys.stdout.write(harmless("\n".join(lines), colour=Ink.of(sys.stdout).colour) + "\n")


def _show_version(wanted: bool) -> None:
    if wanted:
        _say([f"penstock {__version__}"])
        raise typer.Exit(DONE)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Continuous multi-way joins on Spark, with their state bounded."""


_FIRST = {"--fix": "1", "--page": "0"}
"""What options mean that stand without a value: the first fix, any free port."""


class _WithOptionalValues(TyperCommand):
    """A command some of whose options may stand without their value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As always, with the values that are left out."""
        given = [*args, ""]
        whole = [
            word
            for place, word in enumerate(args)
            for word in ((word, _FIRST[word]) if word in _FIRST and not given[place + 1].isdecimal() else (word,))
        ]
        return super().parse_args(ctx, whole)


@app.command(cls=_WithOptionalValues, epilog=epilog("check"))
@guarded
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE.sql|job.py", help="The script, or a PySpark job.")],
    as_json: AsJson = False,
    witness: Annotated[
        int | None, typer.Option("--witness", metavar="N", min=1, help="Print N rows of a growing input.")
    ] = None,
    fix: Annotated[
        int | None,
        typer.Option("--fix", metavar="[N]", min=1, help="Write the N-th fix into the script, and show what changes."),
    ] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="'…'", help="The arguments that a PySpark job is run with.")
    ] = None,
) -> int:
    """Is every query's state bounded? Why, or why not? Of a PySpark job: of the queries that it would start."""
    if file.suffix == ".py":
        if fix is not None:
            raise UsageError("--fix writes into scripts, not into jobs", hint="the report says what to write")
        return _check_job(file, as_json, witness, shlex.split(args or ""))
    if args is not None:
        raise UsageError("--args is for a PySpark job, and this is a script")
    verdicts = _verdicts(_load(file))
    if fix is not None:
        verdicts = _fixed(file, verdicts, fix)
    _report(verdicts, as_json, witness)
    return _exit_code(verdicts)


@app.command(epilog=epilog("explain"))
@guarded
def explain(
    file: ScriptFile,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="OUT", help="Write one HTML page.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Show what the run with this checkpoint has measured.")
    ] = None,
    curve: Annotated[
        int | None,
        typer.Option("--curve", metavar="N", min=1, help="Recall against budget, from N rows of each stream."),
    ] = None,
) -> int:
    """The plan: what is kept, what purges it, what bounds it."""
    if html is not None and (as_json or curve is not None):
        raise UsageError("--html excludes --json and --curve")
    if checkpoint is not None and (as_json or html is not None):
        raise UsageError("--checkpoint excludes --json and --html: what a run measured is shown as text")
    from penstock.compile import plan_of  # noqa: PLC0415

    script = _load(file)
    verdicts = _verdicts(script)
    plans = [plan_of(query, verdict) for query, verdict in zip(script.queries, verdicts, strict=True)]
    curves = None
    if curve is not None:
        from penstock.curve import curves_of  # noqa: PLC0415

        _require_tame(script, "run it with --trust-script")
        curves = curves_of(script, plans, curve, _complain)
    if as_json:
        from penstock.explain.verdict_json import explain_object, printed  # noqa: PLC0415

        shown = explain_object([(v, p.to_dict()) for v, p in zip(verdicts, plans, strict=True)])
        _say([printed(shown if curves is None else {**shown, "curves": [asdict(c) for c in curves]})])
    elif html is not None:
        from penstock.explain.page import page  # noqa: PLC0415

        _write(html, page(file.name, script, verdicts, plans))
    else:
        from penstock.explain.ink import Ink  # noqa: PLC0415
        from penstock.explain.plan_text import explain_report  # noqa: PLC0415

        drawn = [line for one in curves or () for line in one.lines()]
        _say([*explain_report(script, verdicts, plans, Ink.of(sys.stdout), _observed(script, checkpoint)), *drawn])
    return DONE


@app.command(epilog=epilog("implies"))
@guarded
def implies(
    file: ScriptFile,
    constraint: Annotated[str, typer.Argument(metavar='"CONSTRAINT ON stream"', help="The constraint to decide.")],
    as_json: AsJson = False,
) -> int:
    """Do the declarations imply it?"""
    from penstock.analysis.implication.implied import decide  # noqa: PLC0415
    from penstock.sql import parse_constraint  # noqa: PLC0415

    script = _load(file)
    stream, scheme = parse_constraint(constraint, script)
    answer = decide(script, stream, scheme)
    if as_json:
        from penstock.explain.verdict_json import implication_object, printed  # noqa: PLC0415

        _say([printed(implication_object(answer))])
    else:
        from penstock.explain.ink import Ink  # noqa: PLC0415
        from penstock.explain.report import implication_report  # noqa: PLC0415

        _say(implication_report(scheme.on(stream.name), answer, Ink.of(sys.stdout)))
    return {True: DONE, False: NOT_IMPLIED, None: UNDECIDED}[answer.implied]


@app.command(cls=_WithOptionalValues, epilog=epilog("run"))
@guarded
def run(  # noqa: PLR0917 - the options of the contract; typer passes them by name
    file: ScriptFile,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where progress and state are kept: a folder or a URI.")
    ] = None,
    available_now: Annotated[bool, typer.Option("--available-now", help="Read what is there, then stop.")] = False,
    metrics: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="One JSON object for each micro-batch.")
    ] = None,
    allow_unbounded: Annotated[bool, typer.Option("--allow-unbounded", help="Run though no bound is known.")] = False,
    final: Annotated[
        bool, typer.Option("--final", help="What is there is all: read it, decide all that waits, and end.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 5 if an answer may be wrong.")] = False,
    trust_script: Annotated[
        bool, typer.Option("--trust-script", help="Let it call what runs code: docs/security.md.")
    ] = False,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="The cluster: spark://…, k8s://…, yarn; left out, this machine.")
    ] = None,
    trigger: Annotated[
        str | None, typer.Option(metavar="5s", help="The time from batch to batch; left out, at once.")
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(metavar="[HOST:]PORT", help="Serve the metrics to Prometheus, here alone if no host.")
    ] = None,
    hook: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Start it when a promise breaks, with JSON on its input.")
    ] = None,
    log: Annotated[str, typer.Option(metavar="text|json", help="What is shown of each batch.")] = "text",
    port: Annotated[
        int | None,
        typer.Option("--page", metavar="[PORT]", min=0, max=65535, help="Serve a page of the run, to this host alone."),
    ] = None,
    conf: Annotated[list[str] | None, typer.Option(metavar="k=v", help="A setting of Spark or Penstock.")] = None,
) -> int:
    """Run all queries of the script on Spark, or none."""
    settings = _settings(conf or [])
    _take_over(settings, "--master", "spark.master", master)
    _take_over(settings, "--trigger", "penstock.trigger", None if trigger is None else _seconds(trigger))
    script = _load(file)
    if not script.queries:
        raise UsageError(f"{file} has no query to run", hint="add a SELECT, or INSERT INTO sink SELECT …")
    if not trust_script:
        _require_tame(script, "--trust-script runs it")
    _require_checkpoint(script, checkpoint)
    verdicts = _verdicts(script)
    code = _exit_code(verdicts)
    if code != DONE and not allow_unbounded:
        _report(verdicts, as_json=False, witness=None)
        from penstock.plan.runnable import may_have_budget  # noqa: PLC0415

        budget = ", give the query a BUDGET" if all(map(may_have_budget, script.queries)) else ""
        _complain(
            "error: not started: some state has no bound\n"
            f"  hint: declare what the report says{budget}, or run with --allow-unbounded"
        )
        return code
    from penstock.compile import runnable_plan  # noqa: PLC0415

    plans = [
        (query, runnable_plan(query, verdict, allow_unbounded=allow_unbounded))
        for query, verdict in zip(script.queries, verdicts, strict=True)
    ]
    if (wanted := settings.pop(ARCHIVE, None)) is not None:
        from penstock.spark.join_archive import run_quiet_hour  # noqa: PLC0415

        _say(run_quiet_hour(plans, settings, wanted, _complain))
        return DONE
    from penstock.explain.reason_words import told  # noqa: PLC0415
    from penstock.explain.undecided import undecided  # noqa: PLC0415
    from penstock.spark.run import RunOptions, run_script  # noqa: PLC0415
    from penstock.spark.told import last_lines, opening_lines, show_progress, waiting_lines  # noqa: PLC0415

    notices = [f"note: {verdict.query}: {told(notice)}" for verdict in verdicts for notice in verdict.notices]
    for line in (*notices, *opening_lines(script, plans)):
        _complain(line)
    from penstock.live.about import about, write_about  # noqa: PLC0415
    from penstock.live.server import served  # noqa: PLC0415
    from penstock.spark.following import following  # noqa: PLC0415

    shown = {query.name: about(query, v, plan) for (query, plan), v in zip(plans, verdicts, strict=True)}
    write_about(metrics, shown)
    progress = show_progress()
    watching = following(
        progress, _complain, log=log, prometheus=prometheus, hook=hook, recall=settings.pop(RECALL, None)
    )
    if log == "text":
        progress.begin()
    try:
        with (
            watching as tell,
            served(shown.values(), file.name, port, _complain, tell) as follow,
            _kept_or_temporary(checkpoint, needed=final) as kept,
        ):
            options = RunOptions(kept, available_now or final, metrics, settings, final)
            ran = run_script(script, plans, options, follow, _complain)
    except KeyboardInterrupt:
        progress.close()
        again = (
            "the same command goes on from there"
            if checkpoint is not None
            else "there is no --checkpoint to go on from"
        )
        _complain(f"stopped: batches that were committed stay, the one under way was given up; {again}")
        return INTERRUPTED
    finally:
        progress.close()
    waiting = {one.query.name: undecided(one.plan, v, one.held) for one, v in zip(ran, verdicts, strict=True)}
    for line in (*waiting_lines(ran, waiting), *last_lines(ran)):
        _complain(line)
    return INEXACT if strict and not all(one.exactness.is_exact for one in ran) else DONE


@app.command(epilog=epilog("page"))
@guarded
def page(
    file: Annotated[Path, typer.Argument(metavar="METRICS.jsonl", help="What `run --metrics` wrote.")],
    html: Annotated[Path, typer.Option("--html", metavar="OUT", help="Where the page goes.")],
) -> int:
    """The page of a finished run, as one file."""
    from penstock.live.about import read_about  # noqa: PLC0415
    from penstock.live.history import history_of  # noqa: PLC0415
    from penstock.live.run_page import live_page  # noqa: PLC0415

    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    history = history_of(lines, str(file))
    for known in read_about(file):
        history.describe(known)
    _write(html, live_page(file.name, history.since(0), is_live=False))
    return DONE


@app.command(epilog=epilog("profile"))
@guarded
def profile(file: ScriptFile, as_json: AsJson = False) -> int:
    """Which promises does the data keep? What would they save?"""
    script = _load(file)
    _require_tame(script, "run it with --trust-script")
    from penstock.profile.run import profile_script  # noqa: PLC0415
    from penstock.spark.profiling.progress import Progress  # noqa: PLC0415

    progress = Progress(sys.stderr)
    try:
        found = profile_script(script, progress)
    finally:
        progress.close()
    if as_json:
        from penstock.explain.verdict_json import printed  # noqa: PLC0415
        from penstock.profile.as_json import profile_object  # noqa: PLC0415

        _say([printed(profile_object(found))])
    else:
        from penstock.explain.ink import Ink  # noqa: PLC0415
        from penstock.profile.text import profile_report  # noqa: PLC0415

        _say(profile_report(found, Ink.of(sys.stdout)))
    return DONE if found.failed is None else FAILED


@app.command(epilog=epilog("state"))
@guarded
def state(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="As `run --checkpoint` was given it.")],
    as_json: AsJson = False,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=0, help="Show N rows of each stream.")] = 3,
    conf: Annotated[list[str] | None, typer.Option(metavar="k=v", help="A setting of Spark.")] = None,
) -> int:
    """What does a checkpoint keep, by stream, and for whose sake?"""
    from penstock.explain.ink import Ink  # noqa: PLC0415
    from penstock.explain.state_text import state_report  # noqa: PLC0415
    from penstock.explain.verdict_json import printed  # noqa: PLC0415
    from penstock.spark.state_reader import as_json as state_object  # noqa: PLC0415
    from penstock.spark.state_reader import state_of  # noqa: PLC0415

    found = state_of(checkpoint, rows, _settings(conf or []))
    if as_json:
        _say([printed(state_object(found))])
    else:
        ink = Ink.of(sys.stdout)
        _say([line for query, blocks in found.items() for line in state_report(query, blocks, ink)])
    return DONE


@app.command(epilog=epilog("rescale"))
@guarded
def rescale(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="As `run --checkpoint` was given it.")],
    cells: Annotated[int, typer.Option("--cells", metavar="N", min=1, help="The cells to deal the state to.")],
    conf: Annotated[list[str] | None, typer.Option(metavar="k=v", help="A setting of Spark.")] = None,
) -> int:
    """Deal the state of stopped queries to another number of cells, exactly."""
    from penstock.spark.rescale import rescale as dealt  # noqa: PLC0415

    for line in dealt(checkpoint, cells, _settings(conf or [])):
        _complain(line)
    return DONE


# What stands after NAME belongs to the experiment, `--help` included.
@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
@guarded
def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The experiment; a name that is none lists them.")],
    options: Annotated[list[str] | None, typer.Argument(metavar="OPTIONS", help="As NAME --help lists them.")] = None,
) -> int:
    """A paper's experiment, or a peer's, beside this one."""
    root = Path(__file__).resolve().parents[2]
    names = sorted(main.parent.name for main in (root / "benchmarks").glob("*/main.py"))
    if not names:
        raise UsageError("the experiments come with the repository, and this is an installed package without them")
    if name not in names:
        raise UsageError(f"there is no experiment {name}", detail=f"there are: {', '.join(names)}")
    sys.path.insert(0, str(root))
    experiment = importlib.import_module(f"benchmarks.{name}.main")
    code: int = experiment.main(options or [])
    return code


def _load(file: Path) -> Script:
    with _uncollected():
        from penstock.compile import load  # noqa: PLC0415

        return load(file)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without a look for garbage: what is loaded and found stays, and to look among it costs half as much again."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _require_tame(script: Script, allowing: str) -> None:
    from penstock.compile import require_tame  # noqa: PLC0415

    require_tame(script, allowing)


def _verdicts(script: Script) -> list[Verdict]:
    from penstock.compile import judged  # noqa: PLC0415

    # Facts of hundreds of streams are millions of values, all of them in use.
    with _uncollected():
        return [judged(query) for query in script.queries]


def _observed(script: Script, checkpoint: Path | None) -> dict[str, Observed]:
    """By query, what a run has measured."""
    from penstock.plan.counting import read_observed  # noqa: PLC0415

    if checkpoint is None:
        return {}
    if not checkpoint.is_dir():
        raise UsageError(f"there is no checkpoint {checkpoint}", hint="the folder that `run --checkpoint` was given")
    found = {query.name: read_observed(checkpoint / query.name) for query in script.queries}
    return {name: seen for name, seen in found.items() if seen is not None}


def _report(verdicts: Sequence[Verdict], as_json: bool, witness: int | None) -> None:
    if as_json:
        from penstock.explain.verdict_json import check_object, printed  # noqa: PLC0415

        _say([printed(check_object(verdicts, witness))])
    else:
        from penstock.explain.ink import Ink  # noqa: PLC0415
        from penstock.explain.report import check_report  # noqa: PLC0415

        _say(check_report(verdicts, Ink.of(sys.stdout), witness))


def _fixed(file: Path, verdicts: Sequence[Verdict], number: int) -> list[Verdict]:
    """The verdicts once a fix is written into the script; what changes is shown first."""
    from penstock.compile import parse, read_text  # noqa: PLC0415
    from penstock.explain.fix_text import difference, numbered  # noqa: PLC0415
    from penstock.explain.ink import Ink  # noqa: PLC0415
    from penstock.sql.more_declarations import with_declarations  # noqa: PLC0415

    fixes = numbered(verdicts)
    if number > len(fixes):
        known = f"the report has {len(fixes)}, 1 to {len(fixes)}" if fixes else "the report has none"
        raise UsageError(f"there is no fix {number}: {known}", hint=f"penstock check {file} shows them")
    text = read_text(file)
    chosen = {stream: [scheme.text for scheme in schemes] for stream, schemes in fixes[number - 1].by_stream.items()}
    changed = with_declarations(text, chosen)
    found = _verdicts(parse(changed, str(file)))
    _complain("\n".join(difference(text, changed, str(file), Ink.of(sys.stderr))))
    _replace(file, changed)
    return found


def _replace(path: Path, text: str) -> None:
    """Give a file another text, or leave it as it is."""
    mark = "\ufeff" if path.read_bytes().startswith("\ufeff".encode()) else ""
    temporary = path.with_name(f".{path.name}.new")
    try:
        shutil.copymode(path, _written(temporary, mark + text))
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def _check_job(file: Path, as_json: bool, witness: int | None, arguments: Sequence[str]) -> int:
    from penstock.jobs import check_file  # noqa: PLC0415

    found = check_file(file, arguments)
    if not found.verdicts and not found.unread:
        raise found.failure or UsageError(
            f"{file} starts no streaming query", hint="a job is checked by what its start() would run"
        )
    if found.verdicts:
        _report(found.verdicts, as_json, witness)
    for thing in dict.fromkeys(found.left_out):
        _complain(f"note: not run: {thing}")
    for name, error in found.unread:
        _complain(f"{name}: {error}")
    if found.failure is not None:
        _complain(str(found.failure))
    return BAD_INPUT if found.unread or found.failure else _exit_code(found.verdicts)


def _exit_code(verdicts: Sequence[Verdict]) -> int:
    found = {verdict.verdict for verdict in verdicts}
    return UNBOUNDED if "unbounded" in found else UNDECIDED if "undecided" in found else DONE


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _settings(given: Sequence[str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    for setting in given:
        name, equals, value = setting.partition("=")
        if not name.strip() or not equals:
            raise UsageError(f"--conf {setting} is not of the form k=v", hint="e.g. --conf penstock.cells=4")
        settings[name.strip()] = value
    for name in settings:
        if name.lower().startswith("penstock.") and name not in SETTINGS:
            from penstock.model.names import nearest  # noqa: PLC0415

            close = nearest(name[len("penstock.") :], _OWN)
            raise UsageError(
                f"there is no setting {name}",
                hint=f"did you mean penstock.{close}?" if close else f"these are known: {', '.join(SETTINGS)}",
            )
    return settings


def _take_over(settings: dict[str, str], option: str, name: str, value: str | None) -> None:
    """Let an option be the setting that it stands for."""
    if value is None:
        return
    if settings.setdefault(name, value) != value:
        raise UsageError(f"{option} and --conf {name} say different things", hint=f"leave out --conf {name}")


_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def _seconds(text: str) -> str:
    """A time such as 500ms, 5s, 2m or 1h, in seconds; a number alone is of seconds."""
    number = text.rstrip("msh")
    unit = text[len(number) :] or "s"
    try:
        seconds = float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        raise UsageError(f"--trigger {text} is no time", hint="write 500ms, 5s, 2m or 1h") from None
    return f"{seconds:g}"


def _require_checkpoint(script: Script, checkpoint: str | None) -> None:
    for query in script.queries:
        sink = script.sink(query.sink) if query.sink is not None else None
        if checkpoint is None and sink is not None and sink.storage.format.lower() not in _PASSING_SINKS:
            raise UsageError(
                f"query {query.name} writes to {sink.name}, which lasts, without a checkpoint",
                detail=f"{sink.storage.format} keeps its rows; after a stop they would be written again",
                hint="add --checkpoint DIR",
            )


@contextlib.contextmanager
def _kept_or_temporary(checkpoint: str | None, *, needed: bool) -> Iterator[str | None]:
    """The checkpoint; where there is none and one is needed, one for the time of the run."""
    if checkpoint is not None or not needed:
        yield checkpoint
        return
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        yield folder


def main() -> None:
    """The entry point of the `penstock` command."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character of the user's text shows a `?` there; it is no reason to fail.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    if sys.stdout is None:  # closed by whoever started us, who wants the exit code alone
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
