"""The command line. Heavy imports stay inside the verbs, so that --help is instant."""

from __future__ import annotations

import io
import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato import __version__
from sfumato.errors import ArgumentError, SfumatoError
from sfumato.text import one_line

if TYPE_CHECKING:
    from sfumato.ledger.account import Account, Dataset
    from sfumato.ledger.ledger import Ledger
    from sfumato.mechanisms.plan import Plan, Round
    from sfumato.mechanisms.slices import SlicePlan
    from sfumato.private.accounting import Spend
    from sfumato.private.guarantee import Guarantee
    from sfumato.release.release import Release
    from sfumato.training.settings import Training

app = typer.Typer(
    name="sfumato",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Turn a private table into a differentially private model of it, and synthetic rows.\n\n"
    "Start with `sfumato demo`. For a table of your own: draft a schema with `sfumato schema`, replace what it "
    "read off the rows by public knowledge, look at `sfumato plan`, then `sfumato fit` and `sfumato sample`.",
)

# Typer ships its own copy of click under a private name; this is the UsageError of whichever it raises.
UsageError: Any = typer.BadParameter.__bases__[0]
CRASHED = 3
INTERRUPTED = 130  # what typer makes of Ctrl-C
NOTHING_WRITTEN = "nothing was written, but the ledger may have counted the release"

Data = Annotated[
    Path,
    typer.Argument(help="The private table: Parquet (file or folder), CSV (also .gz and .zst), Arrow or DuckDB."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else there.")]
Adjacency = Annotated[
    str,
    typer.Option(help="What a neighbouring table is: add-remove, replace-one (row count public) or label."),
]
Rows = Annotated[
    int | None,
    typer.Option(help="A public guess at the number of rows. It divides the budget better; never the true count."),
]
Delimiter = Annotated[str | None, typer.Option(help="What separates the fields of a CSV file; a comma by default.")]
Quote = Annotated[str | None, typer.Option(help="What quotes the fields of a CSV file.")]
Encoding = Annotated[str | None, typer.Option("--csv-encoding", help="How a CSV file is written; UTF-8 by default.")]
TableName = Annotated[str | None, typer.Option("--table", help="Which table of a DuckDB file.")]
Encode = Annotated[
    str, typer.Option(help="How columns become numbers: scores, or affine to keep numeric data in its own units.")
]
Components = Annotated[
    str | None,
    typer.Option(help="Gaussians a class: a number, or auto for as many as noisy answers say will pay (the default)."),
]
TOLD_STEPS = 50  # of training, between two lines about it
Adapt = Annotated[
    str | None,
    typer.Option(help="Spend a part on what classifiers need: labels, points (of clustmix), both, auto, or no."),
]
Mechanism = Annotated[
    str,
    typer.Option(
        help="mixture, for the distribution; clustmix, for rows to train classifiers on; slicing, for a generator."
    ),
]
SigmaMax = Annotated[
    float | None, typer.Option(help="The noise that a point of clustmix may carry; smaller makes fewer, larger cells.")
]
Alpha = Annotated[
    float | None, typer.Option(help="How much adapted labels and points are held to what they were: 0 to below 1.")
]
Form = Annotated[
    str | None,
    typer.Option(help="Of slicing: central, class sums along random slices (the default), or rows, each with noise."),
]
SliceCount = Annotated[
    int | None, typer.Option("--slices", help="Slices of every row (form rows); without a word, noisy rows.")
]
SliceDim = Annotated[int | None, typer.Option(help="Dimensions of a slice: 1, 2, 3; 2 without a word.")]
Calibration = Annotated[
    str | None,
    typer.Option(help="How much noise rows get: exact (the default), or theorem1, as the paper has it."),
]
Steps = Annotated[int | None, typer.Option(help="Steps of training, at most.")]
Rate = Annotated[float | None, typer.Option(help="The rate at which training begins; it falls to zero.")]
Architecture = Annotated[str | None, typer.Option(help="The generator: mlp, or conv for images.")]
Width = Annotated[int | None, typer.Option(help="Hidden units of a layer.")]
Depth = Annotated[int | None, typer.Option(help="Hidden layers.")]
Divergence = Annotated[
    str | None, typer.Option(help="What noisy rows are compared by: kl, reverse-kl, js or chi2 (form rows).")
]
TrainSeed = Annotated[int | None, typer.Option(help="Of the training, which is free: another seed, another generator.")]
Delta = Annotated[float, typer.Option(help="Chance that the epsilon bound fails; far below 1 / number of rows.")]


@app.command()
def schema(
    data: Annotated[
        Path, typer.Argument(help="The private table: Parquet (file or folder), CSV (also .gz, .zst), Arrow or DuckDB.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the draft (YAML, or JSON by name).")],
    label: Annotated[str | None, typer.Option(help="The column to predict, if there is one.")] = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    csv_encoding: Encoding = None,
    table: TableName = None,
    as_json: Json = False,
) -> None:
    """Draft a schema by looking at a table. The draft is private until you confirm it.

    Every bound and category in it was read off private rows and is listed under `unconfirmed`. Replace each by
    public knowledge, then empty that list: `fit` refuses the draft until you have.
    """
    from sfumato.schema.draft import draft_schema
    from sfumato.tables import open_table

    source = open_table(data, delimiter=delimiter, quote=quote, encoding=csv_encoding, table=table)
    with _working("reading the table"):
        draft, left_out = draft_schema(source, label)
    draft.save(output)
    if as_json:
        _print_json({"schema": draft.dump(), "left_out": left_out, "output": str(output)})
        return
    print(f"wrote {output}: {len(draft.columns)} columns, {len(draft.unconfirmed)} facts read off the rows")
    for name in left_out:
        print(f"left out {one_line(name)}: neither a number, nor a date, nor one of a few categories")
    print("PRIVATE DRAFT: check each fact under `unconfirmed` against public knowledge, then empty that list")


@app.command()
def plan(
    schema: Annotated[Path, typer.Argument(help="The schema: YAML or JSON.")],
    epsilon: Annotated[str, typer.Option(help="One epsilon, or several to compare: 0.5,1,2")],
    delta: Delta,
    mechanism: Mechanism = "mixture",
    rows: Rows = None,
    adjacency: Adjacency = "add-remove",
    components: Components = None,
    adapt: Adapt = None,
    sigma_max: SigmaMax = None,
    alpha: Alpha = None,
    form: Form = None,
    slices: SliceCount = None,
    slice_dim: SliceDim = None,
    calibration: Calibration = None,
    encoding: Encode = "scores",
    plot: Annotated[Path | None, typer.Option(help="Draw expected KL over epsilon into this PNG file.")] = None,
    as_json: Json = False,
) -> None:
    """Show what a fit would ask and how much it would lose. Touches no data."""
    from sfumato.api import plan as make

    sliced = form, slices, slice_dim, calibration
    asked = _asked(mechanism, adjacency, encoding, rows, components, adapt, sigma_max, alpha, *sliced)
    plans = [make(schema, epsilon=value, delta=delta, **asked) for value in _epsilons(epsilon)]
    if plot is not None:
        from sfumato.mechanisms.plan_plot import draw_plans, sweep

        draw_plans([make(schema, epsilon=value, delta=delta, **asked) for value in sweep(plans)], plans, plot)
    if as_json:
        _print_json([_plan_data(each) for each in plans])
    else:
        _print_plans(plans)


@app.command()
def fit(
    data: Annotated[
        Path, typer.Argument(help="The private table: Parquet (file or folder), CSV (also .gz, .zst), Arrow or DuckDB.")
    ],
    schema: Annotated[Path, typer.Option(help="What is publicly known about it: YAML or JSON.")],
    epsilon: Annotated[float, typer.Option(help="How much the release may tell about one row; 1 is customary.")],
    delta: Delta,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the release, NAME.sfumato.")],
    mechanism: Mechanism = "mixture",
    encoding: Encode = "scores",
    adjacency: Adjacency = "add-remove",
    rows: Rows = None,
    components: Components = None,
    adapt: Adapt = None,
    sigma_max: SigmaMax = None,
    alpha: Alpha = None,
    form: Form = None,
    slices: SliceCount = None,
    slice_dim: SliceDim = None,
    calibration: Calibration = None,
    steps: Steps = None,
    rate: Rate = None,
    architecture: Architecture = None,
    width: Width = None,
    depth: Depth = None,
    divergence: Divergence = None,
    train_seed: TrainSeed = None,
    train: Annotated[
        bool, typer.Option("--train/--no-train", help="Train a generator now, or leave it to `sfumato train`.")
    ] = True,
    ledger: Annotated[
        str | None, typer.Option(help="Count the release in this ledger: a file, or a PostgreSQL URL.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The name under which the table was opened there.")] = None,
    insecure_seed: Annotated[
        int | None, typer.Option(help="Repeatable noise, for tests: the release then has NO guarantee.")
    ] = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    csv_encoding: Encoding = None,
    table: TableName = None,
    as_json: Json = False,
) -> None:
    """Release a private table. Each call spends anew."""
    from sfumato.api import fit as run
    from sfumato.api import plan as make
    from sfumato.files import check_writable
    from sfumato.ledger.ledger import Ledger
    from sfumato.private.slicing.law import Slices
    from sfumato.schema.schema import Schema
    from sfumato.tables import open_table

    known = Schema.load(schema)
    sliced = form, slices, slice_dim, calibration
    asked = _asked(mechanism, adjacency, encoding, rows, components, adapt, sigma_max, alpha, *sliced)
    settings = _settings(steps, rate, architecture, width, depth, divergence, train_seed)
    trained: dict[str, Any] = {}
    if mechanism == "slicing":
        trained = {"training": (settings or True) if train else False, "checkpoint": output}
    elif settings is not None or not train:
        raise ArgumentError("options of training are for mechanism 'slicing'")
    total = make(known, epsilon=epsilon, delta=delta, **asked).mu

    def announce(spend: Spend | Slices) -> None:
        if isinstance(spend, Slices):
            _say(f"asking for {spend.projections} noisy projections of every row")
            return
        share = (spend.mu / total) ** 2
        _say(f"asking for {spend.name}: {share:.0%} of the budget (mu {spend.mu:.4f} of {total:.4f})")

    # Refuse what can be refused before any budget is spent, not after.
    books = None if ledger is None else Ledger(ledger)
    if books is not None and books.keeps(output):
        raise ArgumentError(f"{output} is the ledger, or belongs to it; write the release somewhere else")
    check_writable(output)
    source = open_table(data, delimiter=delimiter, quote=quote, encoding=csv_encoding, table=table)
    tell = _tell_training if mechanism == "slicing" else _tell_steps
    with _working("fitting"), _interruptible(books, NOTHING_WRITTEN), _unfinished(output):
        release = run(
            source,
            known,
            epsilon=epsilon,
            delta=delta,
            **asked,
            **trained,
            ledger=books,
            dataset=dataset,
            insecure_seed=insecure_seed,
            on_spend=announce,
            on_step=tell,
        )
        release.save(output)
    if as_json:
        _print_json({"output": str(output)} | _release_data(release))
    else:
        print(f"wrote {output}\n{release.guarantee}")


@app.command()
def train(
    release: Annotated[Path, typer.Argument(help="A release of mechanism slicing.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to write the trained release; in place without a word.")
    ] = None,
    steps: Steps = None,
    rate: Rate = None,
    architecture: Architecture = None,
    width: Width = None,
    depth: Depth = None,
    divergence: Divergence = None,
    train_seed: TrainSeed = None,
    warm: Annotated[bool, typer.Option("--warm", help="Begin with the weights that the release has.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was interrupted.")] = False,
    as_json: Json = False,
) -> None:
    """Train a generator on what a release bought. Costs no privacy, however often."""
    from sfumato.api import load
    from sfumato.files import check_writable
    from sfumato.models import GeneratorModel

    made = load(release)
    if not isinstance(made.model, GeneratorModel):
        raise ArgumentError(f"{release} is a release of mechanism {made.mechanism}: there is nothing to train in it")
    place = release if output is None else output
    check_writable(place)
    settings = _settings(steps, rate, architecture, width, depth, divergence, train_seed)
    with _working("training"), _unfinished(place):
        done = made.train(settings, warm=warm, resume=resume, checkpoint=place, on_step=_tell_training)
    if as_json:
        _print_json({"output": str(place)} | _release_data(done))
    else:
        assert isinstance(done.model, GeneratorModel)
        print(f"wrote {place}: training {done.model.progress.number} on what was bought\n{done.guarantee}")


@app.command()
def sample(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    n: Annotated[int, typer.Option("-n", "--rows", help="How many synthetic rows.", min=0)],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write them: .csv or .parquet.")],
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same rows.", min=0)] = None,
    given: Annotated[
        list[str] | None, typer.Option(help="Fix a column: --given income='>50K'. May be repeated.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="Keep only rows like this: --where 'age > 40'.")] = None,
    as_json: Json = False,
) -> None:
    """Draw synthetic rows. Costs no privacy, however many."""
    from sfumato.api import load
    from sfumato.rows_file import write_rows

    made = load(release)
    with _working("sampling", total=n) as advance:
        batches = made.sample_batches(n, seed=seed, given=_given(given or []), where=where)
        write_rows(batches, output, advance)
    if as_json:
        _print_json({"output": str(output), "rows": n, "columns": list(made.schema.columns)})
    else:
        print(f"wrote {output}: {n} synthetic rows of {len(made.schema.columns)} columns")


@app.command()
def inspect(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    as_json: Json = False,
) -> None:
    """Say what a release holds and what it promises."""
    from sfumato.api import load

    made = load(release)
    if as_json:
        _print_json(_release_data(made))
    else:
        _print_release(made)


@app.command()
def ledger(
    place: Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger: a file, or a PostgreSQL URL.")],
    dataset: Annotated[str | None, typer.Option(help="Show this data set only.")] = None,
    open_name: Annotated[
        str | None, typer.Option("--open", metavar="NAME", help="Enter a data set. Its cap is final.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The cap of a data set to --open.")] = None,
    delta: Annotated[float | None, typer.Option(help="The cap of a data set to --open.")] = None,
    adjacency: Annotated[str | None, typer.Option(help="In which its cost is counted: add-remove by default.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="The column that says whose privacy is meant; a row without.")
    ] = None,
    give_back: Annotated[
        str | None, typer.Option(metavar="ID", help="Return an entry that is `reserved` and whose process is gone.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what was spent on each data set and what is left; open a data set; return what was never drawn."""
    from sfumato.ledger.ledger import Ledger

    _check_ledger_options(open_name, give_back, dataset, {"epsilon": epsilon, "delta": delta}, adjacency or unit)
    books = Ledger(place)
    may_have_changed = _interruptible(books, "the ledger may have been changed")
    if open_name is not None and epsilon is not None and delta is not None:
        with may_have_changed:
            opened = books.open(open_name, epsilon, delta, adjacency or "add-remove", unit or "row")
        if as_json:
            _print_json({"ledger": books.place, "opened": _cap_data(opened)})
        else:
            print(f"opened {opened.name} in {books.place}: {opened}")
    elif give_back is not None:
        with may_have_changed:
            books.give_back(give_back)
        if as_json:
            _print_json({"ledger": books.place, "returned": give_back})
        else:
            print(f"returned {give_back}: it no longer counts")
    else:
        accounts = books.accounts(dataset)
        if as_json:
            _print_json({"ledger": books.place, "datasets": [_account_data(account) for account in accounts]})
        else:
            _print_accounts(accounts)


@app.command()
def audit(
    name: Annotated[str | None, typer.Argument(help="Which audit; --list shows them.")] = None,
    epsilon: Annotated[float, typer.Option(help="The epsilon that the mechanism claims.")] = 1.0,
    delta: Delta = 1e-5,
    trials: Annotated[int, typer.Option(help="Runs on each of the two tables. More show more.")] = 2000,
    adjacency: Annotated[
        str | None, typer.Option(help="Which neighbours: add-remove, replace-one or label; the audit's own by default.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="How sure the lower bounds are to hold.")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="Draw the attacks against the claim into this PNG file.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the audits and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Attack a mechanism on neighbouring tables, and bound its mu and epsilon from below.

    Exit code 1 where a lower bound exceeds the claim: the guarantee does not hold.
    """
    from sfumato.audit.run import AUDITS, run
    from sfumato.files import check_writable

    if listed:
        _print_audits({key: each.about for key, each in AUDITS.items()}, as_json)
        return
    if name is None:
        raise ArgumentError("which audit? sfumato audit --list shows them")
    if plot is not None:
        check_writable(plot)
    with _working(f"auditing {name}", total=1) as advance, _crash_is_no_verdict():
        verdict = run(
            name,
            epsilon=epsilon,
            delta=delta,
            trials=trials,
            adjacency=adjacency,
            confidence=confidence,
            advance=lambda done, total: advance(done / total),
        )
    if plot is not None:
        from sfumato.audit.game_plot import draw

        draw(verdict, plot)
    if as_json:
        _print_json(verdict.data())
    else:
        print(verdict.table())
    if verdict.violation:
        raise typer.Exit(1)


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Where to write the demo's files.")] = Path("sfumato-demo"),
    as_json: Json = False,
) -> None:
    """Release a real table (UCI Adult, shipped with sfumato) and see what it is good for."""
    from sfumato.demo import run_demo

    with _working("running the demo"):
        result = run_demo(folder, _say)
    if as_json:
        _print_json(result.data())
    else:
        print(result.table())


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    if version:
        print(f"sfumato {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        _say(context.get_help())
        raise typer.Exit(2)


def main() -> None:
    """Run the command line: one line and exit code 2 for whatever sfumato refuses to do."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a path may hold bytes that are no text
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
    except SfumatoError as error:
        _say(f"error: {error}")
        sys.exit(2)
    except Interrupted as error:
        _say(f"interrupted: {error}")
        sys.exit(INTERRUPTED)
    except UsageError as error:
        command = "sfumato" if error.ctx is None else error.ctx.command_path
        _say(f"error: {error.format_message().rstrip('.')}. Try '{command} --help'.")
        sys.exit(2)
    if code == INTERRUPTED:
        _say("interrupted: nothing was written")
    if code:
        sys.exit(code)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _tell_steps(step: int, steps: int, loss: float) -> None:
    if step % TOLD_STEPS == 0:
        _say(f"moving points: step {step} of at most {steps}, loss {loss:.4f}")


def _print_json(data: Any) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))


@contextmanager
def _working(what: str, total: int | None = None) -> Iterator[Any]:
    """A progress display on a terminal's stderr; nothing where nobody is looking."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)


def _tell_training(step: int, steps: int, loss: float) -> None:
    _say(f"training: step {step} of at most {steps}, loss {loss:.3f}")


def _settings(
    steps: int | None,
    rate: float | None,
    architecture: str | None,
    width: int | None,
    depth: int | None,
    divergence: str | None,
    seed: int | None,
) -> Training | None:
    """Settings of a training; None where nothing was said."""
    from sfumato.training.settings import Training

    said = {"steps": steps, "rate": rate, "architecture": architecture, "width": width, "depth": depth}
    said |= {"divergence": divergence, "seed": seed}
    kept: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    return Training(**kept) if kept else None


class Interrupted(Exception):
    """Ctrl-C, where there is more to say than that nothing was written."""


@contextmanager
def _interruptible(books: Ledger | None, state: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if books is None:
            raise
        raise Interrupted(f"{state}; {shlex.join(['sfumato', 'ledger', books.place])} shows") from None


@contextmanager
def _unfinished(place: Path) -> Iterator[None]:
    """What to say of a training that is interrupted: the file at `place` holds it, if anything was bought."""
    before = _stamp(place)
    try:
        yield
    except KeyboardInterrupt:
        if _stamp(place) == before:
            raise
        from sfumato.api import load

        progress = getattr(load(place).model, "progress", None)
        if progress is None or progress.finished:
            raise Interrupted(f"{place} was written") from None
        again = shlex.join(["sfumato", "train", str(place), *(["--resume"] * (progress.number > 0))])
        raise Interrupted(f"{place} holds what was bought and how far the training is; {again} goes on") from None


def _stamp(place: Path) -> tuple[int, int] | None:
    try:
        found = place.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _given(pairs: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ArgumentError(f"given must look like column=value, not {pair!r}")
        if name in found:
            raise ArgumentError(f"given: {name} is given twice")
        found[name] = value
    return found


def _check_ledger_options(
    name: str | None, give_back: str | None, shown: str | None, cap: dict[str, float | None], more: str | None
) -> None:
    """One thing at a time, with all that it needs."""
    if sum(value is not None for value in (name, give_back, shown)) > 1:
        raise ArgumentError("give one of --open, --give-back and --dataset")
    if name is None and (more is not None or any(value is not None for value in cap.values())):
        raise ArgumentError("epsilon, delta, adjacency and unit belong to --open NAME")
    if name is not None and any(value is None for value in cap.values()):
        raise ArgumentError("--open needs the cap of the data set: --epsilon E --delta D")


def _asked(
    mechanism: str,
    adjacency: str,
    encoding: str,
    rows: int | None,
    components: str | None,
    adapt: str | None,
    sigma_max: float | None,
    alpha: float | None,
    form: str | None,
    slices: int | None,
    slice_dim: int | None,
    calibration: str | None,
) -> dict[str, Any]:
    """What `plan` and `fit` are asked alike."""
    return {
        "mechanism": mechanism,
        "adjacency": adjacency,
        "encoding": encoding,
        "rows": rows,
        "components": int(components) if components is not None and components.isdecimal() else components,
        "adapt": False if adapt == "no" else adapt,
        "sigma_max": sigma_max,
        "alpha": alpha,
        "form": form,
        "slices": slices,
        "slice_dim": slice_dim,
        "calibration": calibration,
    }


def _epsilons(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentError(f"epsilon must be a number, or several with commas between, not {text!r}") from None


@contextmanager
def _crash_is_no_verdict() -> Iterator[None]:
    """Python leaves a program that crashed with exit code 1, which here says that a guarantee is broken."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:
        import traceback

        traceback.print_exc()
        raise typer.Exit(CRASHED) from error


def _print_audits(audits: dict[str, str], as_json: bool) -> None:
    if as_json:
        _print_json(audits)
        return
    for name, about in audits.items():
        print(f"{name:<20}{about}")


def _plan_data(made: Plan) -> dict[str, Any]:
    return {
        "epsilon": made.epsilon,
        "delta": made.delta,
        "mu": made.mu,
        "adjacency": str(made.adjacency),
        "rows": made.rows,
        "classes": made.classes,
        "columns": made.columns,
        "cells": made.cells,
        "components": made.components or "auto",
        "rounds": [vars(each) for each in made.rounds],
        "moment_shares": dict(zip(("counts", "means", "covariances"), made.moment_shares, strict=True)),
        "cell_sd": made.cell_sd,
        "slicing": None if made.slicing is None else _slicing_data(made.slicing),
        "expected_kl": made.expected_kl and made.expected_kl | {"total": sum(made.expected_kl.values())},
    }


def _slicing_data(made: SlicePlan) -> dict[str, Any]:
    return vars(made) | {"slices": [vars(each) for each in made.slices], "asks": str(made)}


def _print_plans(plans: list[Plan]) -> None:
    first = plans[0]
    print(f"{first.columns} columns in {first.cells} cells, {first.classes} classes, a guess of {first.rows} rows")
    print(f"adjacency {first.adjacency}, delta {first.delta:g}\n")
    rows: list[tuple[str, list[str]]] = [
        ("epsilon", [f"{p.epsilon:g}" for p in plans]),
        ("mu (Gaussian DP)", [f"{p.mu:.5f}" for p in plans]),
    ]
    purposes = {_kind(each): each.purpose for p in plans for each in p.rounds}
    for name in purposes:
        shares = [sum(each.share for each in p.rounds if _kind(each) == name) for p in plans]
        rows.append((f"share of {name}", [f"{share:.0%}" if share else "-" for share in shares]))
    if first.slicing is None:
        rows.append(("Gaussians a class", [str(p.components or "auto") for p in plans]))
    elif first.slicing.noise is not None:
        noise = [p.slicing.noise or 0.0 for p in plans if p.slicing is not None]
        rows.append(("noise on a number of a row", [f"{sigma:.3g}" for sigma in noise]))
    if first.encoding != "projected":
        rows.append(("noise on a histogram cell (rows)", [f"{p.cell_sd:.1f}" for p in plans]))
    rows += [(f"expected KL, {part}", [f"{p.expected_kl[part]:.2g}" for p in plans]) for part in first.expected_kl]
    if first.expected_kl:
        rows.append(("expected KL, total", [f"{sum(p.expected_kl.values()):.2g}" for p in plans]))
    for name, cells in rows:
        print(f"{name:<34}" + "".join(f"{cell:>12}" for cell in cells))
    for name, purpose in purposes.items():
        print(f"\n{name}: {purpose}", end="")
    if first.slicing is not None:
        print(f"\nslices: {first.slicing}", end="")
    if first.expected_kl:
        parts = " / ".join(f"{share:.0%}" for share in first.moment_shares)
        print(f"\nof each look at the moments, counts / means / covariances get {parts}", end="")
    about = "KL is the loss in nats a row against the same model without noise. " if first.expected_kl else ""
    print(f"\n\n{about}No data was touched.")


def _kind(each: Round) -> str:
    """What a round is called beside others: steps towards the labels, of which there may be many, go together."""
    return "labels" if each.name.startswith("labels ") else each.name


def _release_data(made: Release) -> dict[str, Any]:
    from sfumato.release.guarantee import guarantee_data

    return {
        "mechanism": made.mechanism,
        "encoding": made.encoding,
        "guarantee": guarantee_data(made.guarantee),
        "schema": made.schema.dump(),
        "classes": dict(zip(map(str, made.layout.class_names()), made.class_weights.tolist(), strict=False)),
        **_model_data(made),
    }


def _model_data(made: Release) -> dict[str, Any]:
    facts, _ = made.model.to_arrays()
    return {"generator": facts} if made.model.kind == "generator" else {"alpha": facts.get("alpha")}


def _print_generator(made: Release) -> None:
    from sfumato.models import GeneratorModel

    if not isinstance(made.model, GeneratorModel):
        return
    progress = made.model.progress
    print(f"\nBought once: {made.model.bought}.")
    if progress.number == 0:
        print("Not trained yet: rows come from a Gaussian for each class. `sfumato train` trains it, for free.")
        return
    loss = "" if progress.loss is None else f", loss {progress.loss:.3f}"
    state = "over" if progress.finished else "interrupted: `sfumato train --resume` goes on"
    print(
        f"Training {progress.number} on it is {state}, after {progress.step} of at most {progress.settings.steps} "
        f"steps{loss}.\nTraining sees no rows: however many there are, the guarantee stays what it is."
    )


def _print_release(made: Release) -> None:
    promise = made.guarantee
    print(f"A {made.mechanism} release ({made.encoding} encoding) of {len(made.schema.columns)} columns.\n")
    print(f"Guarantee  {promise}")
    if promise.secure:
        print(
            f"           {promise.promise}\n"
            f"           It {_scope(promise)}. The file was checked for going together, not for being true."
        )
    print("\nWhat was asked of the rows, with noise:")
    for spend in promise.spends:
        print(f"  {one_line(spend.name):<16} mu {spend.mu:.4f}")
    for slices in promise.slices:
        noise = slices.sigma / slices.distance
        print(f"  {'every row':<16} {slices.projections} projections, noise {noise:.3g} times the largest change")
    _print_generator(made)
    if made.schema.label is not None:
        print(f"\nClasses of {one_line(made.schema.label)}:")
        labeller = getattr(made.model, "labeller", None)
        if labeller is not None:
            print(f"  ({1.0 - labeller.alpha:.0%} of the labels are drawn from a logistic model)")
        for name, weight in zip(made.layout.class_names(), made.class_weights, strict=True):
            print(f"  {one_line(str(name)):<16} {weight:6.1%}")
    print("\nColumns:")
    grouped = made.schema.grouped
    for name, column in made.schema.columns.items():
        if name not in grouped:
            print(f"  {one_line(name):<16} {column.type}")
    for name, group in made.schema.groups.items():
        print(f"  {one_line(name):<16} a group of {len(group.names)} numbers, projection {group.projection}")


def _scope(promise: Guarantee) -> str:
    return promise.scope if promise.entry is None else f"is {promise.scope}"


def _cap_data(dataset: Dataset) -> dict[str, Any]:
    return vars(dataset) | {"mu": dataset.mu}


def _account_data(account: Account) -> dict[str, Any]:
    running = account.running()
    entries = [
        {**vars(entry), "descriptor": json.loads(entry.descriptor), "total_epsilon": _finite(total)}
        for entry, total in zip(account.entries, running, strict=True)
    ]
    return _cap_data(account.dataset) | {
        "spent": {"mu": account.mu, "epsilon": _finite(account.epsilon), "chance": account.chance},
        "left": {"mu": account.left(), "epsilon": account.left_epsilon},
        "over": bool(account.over),
        "entries": entries,
    }


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None  # JSON has no infinity


def _print_accounts(accounts: list[Account]) -> None:
    for i, account in enumerate(accounts):
        if i:
            print()
        _print_account(account)


def _print_account(account: Account) -> None:
    from sfumato.text import rounded_down, rounded_up

    cap = account.dataset
    print(f"{cap.name}: {cap}")
    print(f"  cap    mu {rounded_up(cap.mu, 5):<10} epsilon {cap.epsilon:g} at delta {cap.delta:g}")
    print(f"  spent  mu {rounded_up(account.mu, 5):<10} epsilon {rounded_up(account.epsilon)}")
    if account.chance:
        print(f"         with bounds on noisy projections of every row, which fail with chance {account.chance:.2g}")
    print(f"  left   mu {rounded_down(account.left(), 5):<10} epsilon {account.left_epsilon:g}")
    if account.over:
        print(f"  {account.over}")
    if not account.entries:
        return
    print(f"  {'time (UTC)':<20}{'entry':<34}{'mechanism':<11}{'state':<10}{'epsilon':>8}{'delta':>9}{'mu':>10}  total")
    for entry, total in zip(account.entries, account.running(), strict=True):
        # Returned entries stay in the table, with nothing charged.
        charged = rounded_up(entry.charged_mu, 4) if entry.counts else "-"
        print(
            f"  {entry.time.removesuffix('+00:00'):<20}{entry.id:<34}{entry.mechanism:<11}{entry.state:<10}"
            f"{entry.epsilon:>8.3g}{entry.delta:>9.2g}{charged:>10}  {_bar(total / cap.epsilon)} {rounded_up(total)}"
        )


def _bar(share: float, width: int = 10) -> str:
    """A share of the cap; only nothing at all is drawn empty."""
    from math import ceil

    full = min(width, ceil(share * width)) if share < float("inf") else width
    return "#" * full + "." * (width - full)
