"""The commands: check | explain | implies | run | page | state | rescale | profile | bench (DESIGN section 4).

`outcome` says how a command ends, `run_command` how `run` goes. Modules that a command needs are
imported by that command, so that `check` never pays for what it does not use.
"""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from penstock import __version__
from penstock.cli.judging import check_job, load_quickly, observed_by, print_report, verdicts_of
from penstock.cli.outcome import (
    DONE,
    FAILED,
    INTERRUPTED,
    NOT_IMPLIED,
    UNDECIDED,
    complain,
    exit_code,
    guarded,
    say,
)
from penstock.cli.settings import in_seconds, settings_of, take_over
from penstock.errors import UsageError
from penstock.help_text import epilog

app = typer.Typer(
    name="penstock",
    help="Continuous multi-way joins on Spark, with their state bounded.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ScriptFile = Annotated[Path, typer.Argument(metavar="FILE.sql", help="The script.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
OwnFunctions = Annotated[
    list[str] | None, typer.Option("--function", metavar="NAME", help="A function that the session has of your own.")
]
SparkSettings = Annotated[list[str] | None, typer.Option("--conf", metavar="k=v", help="A setting of Spark.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        say([f"penstock {__version__}"])
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
    *,
    within: Annotated[
        str | None,
        typer.Option("--within", metavar="LENGTH", help="The length that the fix needs, such as '1 HOUR'."),
    ] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="'…'", help="The arguments that a PySpark job is run with.")
    ] = None,
    function: OwnFunctions = None,
) -> int:
    """Is every query's state bounded? Why, or why not? Of a PySpark job: of the queries that it would start."""
    if file.suffix == ".py":
        if fix is not None:
            raise UsageError("--fix writes into scripts, not into jobs", hint="the report says what to write")
        return check_job(file, as_json, witness, shlex.split(args or ""))
    from penstock.cli.writing_fixes import fixed, with_places  # noqa: PLC0415

    if args is not None:
        raise UsageError("--args is for a PySpark job, and this is a script")
    verdicts = with_places(file, verdicts_of(load_quickly(file, function or ())))
    if fix is not None:
        verdicts = fixed(file, verdicts, fix, within, function or ())
    elif within is not None:
        raise UsageError("--within is the length of a fix", hint=f"penstock check {file} --fix 1 --within '1 HOUR'")
    print_report(verdicts, as_json, witness)
    return exit_code(verdicts)


@app.command(epilog=epilog("explain"))
@guarded
def explain(
    file: ScriptFile,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="OUT", help="Write one HTML page.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="DIR", help="Show what the run with this checkpoint has measured.")
    ] = None,
    curve: Annotated[
        int | None,
        typer.Option("--curve", metavar="N", min=1, help="Recall against budget, from N rows of each stream."),
    ] = None,
    *,
    function: OwnFunctions = None,
) -> int:
    """The plan: what is kept, what purges it, what bounds it."""
    if html is not None and (as_json or curve is not None):
        raise UsageError("--html excludes --json and --curve")
    if checkpoint is not None and (as_json or html is not None):
        raise UsageError("--checkpoint excludes --json and --html: what a run measured is shown as text")
    from penstock.compile import plan_of, require_tame  # noqa: PLC0415

    script = load_quickly(file, function or ())
    verdicts = verdicts_of(script)
    plans = [plan_of(query, verdict) for query, verdict in zip(script.queries, verdicts, strict=True)]
    curves = None
    if curve is not None:
        from penstock.extras import needing  # noqa: PLC0415

        with needing("spark,offline"):
            # The optimum that a curve is drawn beside: who lacks it is told before Spark starts.
            importlib.import_module("ortools")
            from penstock.curve import curves_of  # noqa: PLC0415

        require_tame(script, "run it with --trust-script")
        curves = curves_of(script, plans, curve, complain)
    if as_json:
        from penstock.explain.verdict_json import explain_object, printed  # noqa: PLC0415

        shown = explain_object([(v, p.to_dict()) for v, p in zip(verdicts, plans, strict=True)])
        say([printed(shown if curves is None else {**shown, "curves": [asdict(c) for c in curves]})])
    elif html is not None:
        from penstock.explain.page import page  # noqa: PLC0415

        _write(html, page(file.name, script, verdicts, plans))
    else:
        from penstock.explain.ink import Ink  # noqa: PLC0415
        from penstock.explain.plan_text import explain_report  # noqa: PLC0415

        drawn = [line for one in curves or () for line in one.lines()]
        say([*explain_report(script, verdicts, plans, Ink.of(sys.stdout), observed_by(script, checkpoint)), *drawn])
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

    script = load_quickly(file)
    stream, scheme = parse_constraint(constraint, script)
    answer = decide(script, stream, scheme)
    if as_json:
        from penstock.explain.verdict_json import implication_object, printed  # noqa: PLC0415

        say([printed(implication_object(answer))])
    else:
        from penstock.explain.ink import Ink  # noqa: PLC0415
        from penstock.explain.report import implication_report  # noqa: PLC0415

        say(implication_report(scheme.on(stream.name), answer, Ink.of(sys.stdout)))
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
    function: OwnFunctions = None,
) -> int:
    """Run all queries of the script on Spark, or none."""
    from penstock.cli.run_command import RunRequest, run_file  # noqa: PLC0415

    settings = settings_of(conf or [])
    take_over(settings, "--master", "spark.master", master)
    take_over(settings, "--trigger", "penstock.trigger", None if trigger is None else in_seconds(trigger))
    return run_file(
        RunRequest(
            file=file,
            settings=settings,
            checkpoint=checkpoint,
            available_now=available_now,
            metrics=metrics,
            allow_unbounded=allow_unbounded,
            final=final,
            strict=strict,
            trust_script=trust_script,
            prometheus=prometheus,
            hook=hook,
            log=log,
            port=port,
            functions=function or [],
        )
    )


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
def profile(file: ScriptFile, as_json: AsJson = False, conf: SparkSettings = None) -> int:
    """Which promises does the data keep? What would they save?"""
    settings = settings_of(conf or [])
    script = load_quickly(file)
    from penstock.compile import require_tame  # noqa: PLC0415

    require_tame(script, "run it with --trust-script")
    from penstock.profile.run import profile_script  # noqa: PLC0415
    from penstock.spark.profiling.progress import Progress  # noqa: PLC0415

    progress = Progress(sys.stderr)
    try:
        found = profile_script(script, progress, settings)
    finally:
        progress.close()
    if as_json:
        from penstock.explain.verdict_json import printed  # noqa: PLC0415
        from penstock.profile.as_json import profile_object  # noqa: PLC0415

        say([printed(profile_object(found))])
    else:
        from penstock.explain.ink import Ink  # noqa: PLC0415
        from penstock.profile.text import profile_report  # noqa: PLC0415

        say(profile_report(found, Ink.of(sys.stdout)))
    return DONE if found.failed is None else FAILED


@app.command(epilog=epilog("state"))
@guarded
def state(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="As `run --checkpoint` was given it.")],
    as_json: AsJson = False,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=0, help="Show N rows of each stream.")] = 3,
    conf: SparkSettings = None,
) -> int:
    """What does a checkpoint keep, by stream, and for whose sake?"""
    from penstock.explain.ink import Ink  # noqa: PLC0415
    from penstock.explain.state_text import state_report  # noqa: PLC0415
    from penstock.explain.verdict_json import printed  # noqa: PLC0415
    from penstock.spark.state_reader import as_json as state_object  # noqa: PLC0415
    from penstock.spark.state_reader import state_of  # noqa: PLC0415

    found = state_of(checkpoint, rows, settings_of(conf or []))
    if as_json:
        say([printed(state_object(found))])
    else:
        ink = Ink.of(sys.stdout)
        say([line for query, blocks in found.items() for line in state_report(query, blocks, ink)])
    return DONE


@app.command(epilog=epilog("rescale"))
@guarded
def rescale(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="As `run --checkpoint` was given it.")],
    cells: Annotated[int, typer.Option("--cells", metavar="N", min=1, help="The cells to deal the state to.")],
    conf: SparkSettings = None,
) -> int:
    """Deal the state of stopped queries to another number of cells, exactly."""
    from penstock.spark.rescale import rescale as dealt  # noqa: PLC0415

    for line in dealt(checkpoint, cells, settings_of(conf or []), complain):
        complain(line)
    return DONE


# What stands after NAME belongs to the experiment, `--help` included.
@app.command(
    epilog=epilog("bench"), context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True}
)
@guarded
def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The experiment; a name that is none lists them.")],
    options: Annotated[list[str] | None, typer.Argument(metavar="OPTIONS", help="As NAME --help lists them.")] = None,
) -> int:
    """A paper's experiment, or a peer's, beside this one."""
    root = Path(__file__).resolve().parents[3]
    names = sorted(main.parent.name for main in (root / "benchmarks").glob("*/main.py"))
    if not names:
        raise UsageError("the experiments come with the repository, and this is an installed package without them")
    if name not in names:
        raise UsageError(f"there is no experiment {name}", detail=f"there are: {', '.join(names)}")
    sys.path.insert(0, str(root))
    experiment = importlib.import_module(f"benchmarks.{name}.main")
    code: int = experiment.main(options or [])
    return code


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


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
