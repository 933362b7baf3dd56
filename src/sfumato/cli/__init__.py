"""The command line. Heavy imports stay inside the verbs, so that --help is instant."""

from __future__ import annotations

import io
import sys
from functools import cache
from typing import Annotated, Any

import typer

from sfumato import __version__
from sfumato.cli.interrupts import Interrupted
from sfumato.cli.mechanism_options import FitCommand, PlanCommand
from sfumato.cli.opening import TableCommand
from sfumato.cli.options import UsageError
from sfumato.cli.output import say
from sfumato.cli.reaching import ReachingCommand
from sfumato.cli.verb_command import Verbs
from sfumato.cli.verbs import (
    ask,
    audit,
    check,
    confirm,
    convert,
    demo,
    evaluate,
    fit,
    inspect,
    layout_file,
    ledger,
    merge,
    plan,
    report,
    sample,
    schema,
    serve,
    studio,
    train,
    update,
)
from sfumato.errors import SfumatoError

app = Verbs(
    name="sfumato",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Turn a private table into a differentially private model of it, and synthetic rows.\n\n"
    "Start with `sfumato demo`. For a table of your own: draft a schema with `sfumato schema`, say what of it is "
    "public with `sfumato confirm`, see by `sfumato check` what of the table it cannot read, look at "
    "`sfumato plan`, then `sfumato fit`, `sfumato sample`, `sfumato ask` and `sfumato report`. `sfumato studio` leads "
    "through all of it on a page of your own.",
    epilog="Exit codes: 0 done; 1 found wanting (check: not ready; audit: a violation); 2 refused, with one line on "
    "stderr, and nothing written; 3 the audit itself failed; 130 interrupted. Results are on stdout, all else on "
    "stderr; nothing moves and nothing is coloured where no terminal is looking.",
)

INTERRUPTED = 130  # what typer makes of Ctrl-C

app.command(cls=TableCommand)(schema.schema)
app.command()(confirm.confirm)
app.command(cls=TableCommand)(convert.convert)
app.command(cls=TableCommand)(check.check)
app.command(cls=PlanCommand)(plan.plan)
app.command(cls=FitCommand)(fit.fit)
app.command(cls=train.TrainCommand)(train.train)
app.command()(sample.sample)
app.command(cls=TableCommand)(evaluate.evaluate)
app.command()(inspect.inspect)
app.command()(ask.ask)
app.command()(report.report)
app.command(name="layout")(layout_file.layout)
app.command()(merge.merge)
app.command(cls=ReachingCommand)(update.update)
app.command()(ledger.ledger)
app.command(cls=TableCommand)(serve.serve)
app.command()(audit.audit)
app.command()(demo.demo)
app.command()(studio.studio)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    """Show the version; without a verb, the help."""
    if version:
        print(f"sfumato {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(2)


@cache
def everything() -> Any:
    """The app with all verbs and their options read off its functions: once a process, as it takes 40 ms."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line: one line and exit code 2 for whatever sfumato refuses to do."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a path may hold bytes that are no text
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = everything()(prog_name="sfumato", standalone_mode=False)
    except SfumatoError as error:
        say(f"error: {error}")
        sys.exit(2)
    except Interrupted as error:
        say(f"interrupted: {error}")
        sys.exit(INTERRUPTED)
    except UsageError as error:
        command = "sfumato" if error.ctx is None else error.ctx.command_path
        say(f"error: {error.format_message().rstrip('.')}. Try '{command} --help'.")
        sys.exit(2)
    if code == INTERRUPTED:
        say("interrupted: nothing was written")
    if code:
        sys.exit(code)
