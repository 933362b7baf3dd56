"""The sections on what was released, what is promised to whom, and what was spent on what."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.guarantee import Guarantee, Person
from sfumato.models import ColumnLabelModel, GeneratorModel, MixtureModel, Model, TiltedModel
from sfumato.models.bought import BoughtRows
from sfumato.models.column_label import model_asked
from sfumato.planning.release_verdict import release_verdict
from sfumato.planning.risk import FALSE_ALARMS, PRIORS, Risk
from sfumato.private.accounting import Adjacency, Spend
from sfumato.reporting.classes import value_text
from sfumato.reporting.figures_told import NO_NUMBER, estimate_text, number_text, powers
from sfumato.reporting.markup import Markup, foreign, joined, table, tag
from sfumato.reporting.numbering import Numbering, listing, paragraph
from sfumato.reporting.promise import promise
from sfumato.reporting.seen_release import SeenRelease
from sfumato.reporting.spent_for import spent_for
from sfumato.schema.columns import Column, Listed, Number
from sfumato.schema.layout import QUERY_ROW, ROW, SINGLE_ROWS
from sfumato.text import one_line, percent, rounded_up

FIGURE_SPACE = "\u2007"  # as wide as a digit, so that bars begin below each other
VALUES_NAMED = 4  # of a category
POWER_POINTS = 41  # of the curve of what an attacker finds
NOT_PRIVATE = "This release has no guarantee."


def released_section(numbering: Numbering, seen: SeenRelease, title: str, publisher: str | None) -> Markup:
    """What was released, for whom, and of which columns."""
    release, worth = seen.release, release_verdict(seen.release)
    columns, secure = len(release.schema.columns), release.guarantee.secure
    facts = [
        ("Title", title),
        *([("Published by", publisher)] if publisher else []),
        ("Rows of the private table", rows_text(seen)),
        ("Columns", f"{columns:,}"),
        ("Label", NO_NUMBER if release.schema.label is None else foreign(release.schema.label)),
        ("Whose privacy", foreign(whose(release.guarantee))),
        ("Guarantee", short_guarantee(release.guarantee)),
        ("Mechanism", f"{release.mechanism}; {model_words(release.model)}"),
        *([("What it is worth", worth.told())] if worth.blur is not None else []),
        ("Noisy answers kept", f"{len(release.answers)}" if release.answers else "none: the file was saved compact"),
    ]
    return numbering.section(
        "released",
        "What was released, and for whom",
        paragraph(
            f"Behind this release stands a private table of {columns:,} columns. The table is not published. Published "
            "are noisy answers to questions about it, and a model that was made of these answers alone: it draws "
            "synthetic rows, which look like rows of the table and are no one’s. This report was made from the release "
            f"and from nothing else, {'so that it may be published with it' if secure else 'which protects nobody'}."
        ),
        paragraph(
            "It is for people who need to know what such a table is like without seeing it: to decide whether it "
            "answers their question, to write and test programs, to teach, and to estimate counts, shares and means "
            "with an uncertainty that is told." + " It says nothing about any one person." * secure
        ),
        numbering.table("The release", (), facts),
        numbering.table(
            "The columns",
            ["Column", "Kind", "Values", "Remarks"],
            list(_columns_told(seen)),
            source="the public schema; cells that cannot be read: noisy answers.",
        ),
    )


def guarantee_section(numbering: Numbering, seen: SeenRelease) -> Markup:
    """The guarantee in words, in symbols, and as what an attacker gains."""
    guarantee = seen.release.guarantee
    if not guarantee.secure:
        return numbering.section("guarantee", "The guarantee", paragraph(tag("strong", NOT_PRIVATE), " ", NO_SECRET))
    shown = isinstance(getattr(seen.release.model, "bought", None), BoughtRows)
    return numbering.section(
        "guarantee",
        "The guarantee",
        tag("h3", "In words"),
        paragraph(powers(promise(guarantee, shows_rows=shown))),
        tag("h3", "In symbols"),
        *_symbols(guarantee),
        tag("h3", "As what an attacker gains"),
        *_attacker(numbering, guarantee),
        tag("h3", "What it does not say"),
        listing(_limits(seen)),
    )


def spent_section(numbering: Numbering, guarantee: Guarantee) -> Markup:
    """What was spent on what."""
    total = sum(spend.mu**2 for spend in guarantee.spends) or 1.0
    rows = [_spent(spend, total) for spend in guarantee.spends]
    changed = f"the most that one {one_line(guarantee.unit)} can change"
    parts = [
        paragraph(
            "Every answer was given with Gaussian noise. The more an answer was allowed to cost, the less noise it "
            "has. Costs are counted by the square of μ, which adds up over answers."
        ),
        numbering.table(
            "What was spent on what",
            ["Answer", "What was asked", f"Noise, in multiples of {changed}", "μ", "Share of μ²"],
            rows,
            numbers=(2, 3, 4),
            source="the guarantee of the release.",
        ),
    ]
    parts += [
        paragraph(
            f"Beside these, {slices.projections:,} noisy projections of every row were released; their noise is "
            f"{slices.sigma / slices.distance:.3g} times {changed}."
        )
        for slices in guarantee.slices
    ]
    if guarantee.joint is not None:
        parts.append(_merged_from(numbering, guarantee))
    return numbering.section("spent", "What was spent on what", *parts)


NO_SECRET = (
    "It was made with a seed, for a test: whoever knows the seed can take the noise away. Nothing in it is protected, "
    "and it must not be published if the table is private."
)


def rows_text(seen: SeenRelease) -> Markup | str:
    """About how many rows the table has."""
    if seen.total.interval is None:
        return "not told by this release"
    return f"{estimate_text(seen.total)}, {100 * seen.total.level:g} % interval"


def whose(guarantee: Guarantee) -> str:
    """Whose privacy is meant."""
    if guarantee.adjacency is Adjacency.LABEL:
        return (
            f"the label of one {guarantee.unit}"
            if guarantee.unit in SINGLE_ROWS
            else f"the labels of one {guarantee.unit}"
        )
    if guarantee.unit == QUERY_ROW:
        return f"one {guarantee.unit}"
    return "one row of the table" if guarantee.unit == ROW else f"all rows of one {guarantee.unit}"


def short_guarantee(guarantee: Guarantee) -> str:
    """Epsilon and delta, or that there are none."""
    if not guarantee.secure:
        return "NONE: made with a seed, for a test"
    if guarantee.joint is not None and guarantee.joint.own is not None:
        own = guarantee.joint.own
        told = f"ε = {rounded_up(own.epsilon)}, δ = {rounded_up(own.delta)} for whoever is in one part of it"
        return powers(told)
    return powers(f"ε = {rounded_up(guarantee.epsilon)}, δ = {rounded_up(guarantee.delta)}")


def model_words(model: Model) -> str:
    """What kind of model draws the rows."""
    if isinstance(model, ColumnLabelModel):
        return f"{model_words(model.base)}; the label is modelled as one of the columns"
    if isinstance(model, TiltedModel):
        return "a mixture of Gaussians over the columns’ scores, moved no further than noisy tables of columns ask for"
    if isinstance(model, GeneratorModel):
        done = "not trained yet: rows come from one Gaussian a class" if model.progress.number == 0 else "trained"
        return f"a generator, {done}"
    if isinstance(model, MixtureModel):
        return "a mixture of Gaussians over the columns’ scores"
    return f"a model of kind {model.kind}"


def leaders_of(model: Model) -> dict[str, str]:
    """The columns that follow others, with the one that each follows."""
    asked = model_asked(model)
    if not isinstance(asked, TiltedModel):
        return {}
    names = asked.layout.names
    return {names[each.column]: names[each.leader] for each in asked.followers}


def _columns_told(seen: SeenRelease) -> Iterator[tuple[str, ...]]:
    schema = seen.release.schema
    unread = {each.column: each for each in seen.release.unread}
    leaders = leaders_of(seen.release.model)
    for name, column in seen.columns.items():
        remarks = [
            *(["label"] if name == schema.label else []),
            *([f"drawn given {foreign(leaders[name])}"] if name in leaders else []),
            *(["computed from other columns"] if column.derived is not None else []),
            *(["may be missing"] if column.missing else []),
        ]
        if name in unread and unread[name].is_clear:
            remarks.append(f"{percent(unread[name].share)} cannot be read")
        yield foreign(name), column.type, _values(column), "; ".join(remarks)
    for name, group in schema.groups.items():
        many = f"{len(group.names)} numbers from {number_text(group.min)} to {number_text(group.max)}"
        shape = "" if group.shape is None else f", {group.shape[0]} × {group.shape[1]}"
        yield foreign(name), "group", f"{many}{shape}", f"projected: {group.projection}"


def _values(column: Column) -> str:
    if isinstance(column, Listed):
        shown = VALUES_NAMED + (len(column.levels) == VALUES_NAMED + 1)  # one more takes no more room than saying so
        levels = joined((foreign(level) for level in column.levels[:shown]), ", ")
        more = len(column.levels) - shown
        return joined([levels, f" and {more} more"]) if more > 0 else levels
    low, high, step, *_ = column.span
    stepped = f", in steps of {number_text(step)}" if step is not None and isinstance(column, Number) else ""
    return f"{value_text(column, low)} to {value_text(column, high)}{stepped}"


def _symbols(guarantee: Guarantee) -> Iterator[Markup]:
    yield paragraph(
        "For any two tables ",
        tag("var", "T"),
        " and ",
        tag("var", "T′"),
        f" that are neighbours ({guarantee.neighbours}), and any set ",
        tag("var", "S"),
        " of things that the release ",
        tag("var", "M"),
        " may turn out to be:",
    )
    epsilon, delta = rounded_up(guarantee.epsilon), powers(rounded_up(guarantee.delta))
    formula = joined(["Pr[M(T) ∈ S]  ≤  e", tag("sup", "ε"), " · Pr[M(T′) ∈ S] + δ"])
    yield paragraph(formula, tag("br"), f"with ε = {epsilon} and δ = {delta}", class_="formula")
    if guarantee.slices:
        yield paragraph("Noisy projections of every row are among it, whose law is not that of one Gaussian.")
        return
    mu = rounded_up(guarantee.mu, 5)
    yield paragraph(
        f"More exactly it is μ-Gaussian differentially private with μ = {mu}: to tell T from T′ by it is no easier "
        f"than to tell one draw of a normal distribution with mean 0 from one with mean {mu}, both of standard "
        "deviation 1."
    )
    if guarantee.joint is not None:
        yield paragraph(powers(f"The release was {guarantee.joint.told(guarantee.promised)}."))


def _risk(person: Guarantee | Person) -> Risk:
    """What the best attacker may learn; of a guarantee that is given."""
    assert person.epsilon is not None
    assert person.delta is not None
    sliced = isinstance(person, Guarantee) and bool(person.slices)
    return Risk(person.epsilon, person.delta, None if sliced else person.mu)


def _attacker(numbering: Numbering, guarantee: Guarantee) -> Iterator[Markup]:
    joint = guarantee.joint
    own = joint.own if joint is not None and joint.own is not None and joint.groups > 1 else None
    risk = _risk(own or guarantee)
    yield paragraph(
        "The attacker is the best there can be: knows every other row, the schema, the mechanism and all noisy "
        f"answers, and asks {_asks(guarantee)}. Real attackers know less."
        + (" The figures are for whoever is in one part of the merged release." if own else "")
    )
    yield numbering.table(
        "What the best attacker gains",
        ["Measure", "Without the release", "With it, on average", "With it, at the most"],
        _gains(risk),
        numbers=(1, 2, 3),
        source="the guarantee; “at the most” but with probability δ.",
    )
    alarms = np.linspace(0.0, 1.0, POWER_POINTS)[1:-1]
    found = [risk.true_positives(float(each)) for each in alarms]
    at = [0.01, 0.05, 0.1, 0.25, 0.5]
    rows = [(percent(each), percent(risk.true_positives(each))) for each in at]
    yield numbering.figure(
        "What the best attacker finds, by how many are falsely accused. The dashed line is guessing",
        f"A curve close to the diagonal: at {percent(FALSE_ALARMS)} falsely accused, "
        f"{percent(risk.true_positives())} are found.",
        {"kind": "power", "alarms": [0.0, *alarms.round(4).tolist(), 1.0], "found": [0.0, *np.round(found, 5), 1.0]},
        table(["Falsely accused", "Found"], rows, caption="Found at the most", numbers=(0, 1), label="Found"),
    )


def _asks(guarantee: Guarantee) -> str:
    one = f"{guarantee.unit} is"
    if guarantee.adjacency is Adjacency.ADD_REMOVE:
        return f"whether a certain {one} in the table"
    return "which of two versions of it is the true one"


def _gains(risk: Risk) -> list[tuple[str, ...]]:
    accused = percent(FALSE_ALARMS)
    found = [
        ("Advantage: of 100 in the table and 100 who are not, how many more of the first are named", "0", NO_NUMBER),
        (f"People in the table who are found, where {accused} of the others are falsely accused", accused, NO_NUMBER),
    ]
    most = [f"{100 * risk.advantage:.1f}", percent(risk.true_positives())]
    for prior in PRIORS:
        mean = risk.belief(prior)
        told = f"What is believed of someone who is in it, if {percent(prior)} was believed before"
        found.append((told, percent(prior), NO_NUMBER if mean is None else percent(mean)))
        most.append(percent(risk.largest_belief(prior)))
    return [(*row, last) for row, last in zip(found, most, strict=True)]


def _limits(seen: SeenRelease) -> Iterator[str]:
    guarantee = seen.release.guarantee
    if guarantee.joint is None:
        scope = "It covers this release only" if guarantee.entry is None else "A ledger counts it with others"
        yield f"{scope}: another release of the same table tells more, and their μ add up in squares."
    yield (
        "What is true of everyone can be learnt, and is meant to be: that smoking harms lungs is told by a table with "
        "or without any one smoker."
    )
    yield "The schema (names, bounds, categories) counts as public knowledge and is not protected."
    if guarantee.adjacency is not Adjacency.ADD_REMOVE:
        yield f"Neighbours are tables with {guarantee.neighbours}."
    yield "Several people together, such as a family, are protected less: k of them with k times μ."


def _spent(spend: Spend, total: float) -> tuple[str, ...]:
    share = spend.mu**2 / total
    bar = tag("span", class_="share", style=f"width:{100 * share:.1f}%", aria_hidden="true")
    return (
        foreign(spend.name),
        spent_for(spend.name) or NO_NUMBER,
        number_text(float(f"{spend.sigma / spend.sensitivity:.3g}")),
        rounded_up(spend.mu, 5),
        joined([tag("span", bar, class_="shares"), f"{100 * share:.1f}".rjust(5, FIGURE_SPACE) + " %"]),
    )


def _merged_from(numbering: Numbering, guarantee: Guarantee) -> Markup:
    joint = guarantee.joint
    assert joint is not None
    rows = [
        (
            f"release {number}",
            f"{part.people + 1}",
            short_guarantee(part.guarantee),
            joined((f"{spend.name}: {rounded_up(spend.mu, 5)}" for spend in part.guarantee.spends), "; "),
        )
        for number, part in enumerate(joint.parts, start=1)
    ]
    return numbering.table(
        "What the release was merged from", ["Part", "Of people", "Guarantee", "μ of its answers"], rows
    )
