"""The release file: a zip of `release.json` and `arrays.safetensors`, every field checked on load.

It holds noisy answers and public facts and nothing else: no number of rows (but where rows are released one by one,
and it is public), no path, no time of day. No pickle, no code. A file of an older format version stays readable.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from sfumato import __version__
from sfumato.encoding.affine import Affine, check_affine
from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import ColumnScores, Scores
from sfumato.errors import ArgumentError, ReleaseError, SchemaError
from sfumato.files import replacing
from sfumato.mechanisms.train import dim_of
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labeller import MOST_EVIDENCE, Labeller
from sfumato.models.quadratic import QuadraticLabeller
from sfumato.private.accounting import Adjacency, Spend, delta_of
from sfumato.private.slicing.law import Slices
from sfumato.release.generator import GeneratorRelease
from sfumato.release.generator_file import GeneratorDocument, check_promise, is_small
from sfumato.release.generator_file import arrays as generator_arrays
from sfumato.release.generator_file import build as build_generator
from sfumato.release.generator_file import check as check_generator
from sfumato.release.generator_file import document as generator_document
from sfumato.release.generator_file import shapes as generator_shapes
from sfumato.release.mixture import MixtureRelease
from sfumato.release.release import Guarantee, Release
from sfumato.schema.layout import DEFAULT_BINS, FloatArray, Layout, OrderedBins
from sfumato.schema.projections import Projection
from sfumato.schema.schema import ROW, Category, Column, Date, Schema
from sfumato.text import one_line

FORMAT = "sfumato-release"
VERSION = 5  # 1 had one component a class, 2 no labels of their own, 3 neither groups nor a shape that components
# share, 4 no generators; a file that is like them still says so
SHAPED = 4
JSON_NAME = "release.json"
ARRAYS_NAME = "arrays.safetensors"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the zip format's zero: a release does not tell when it was made
MOST_JSON_BYTES = 1 << 26
MOST_COMPONENTS = 10_000  # of a class
MOST_LABEL_DIRECTIONS = 256  # that the labels of columns in groups are a function of
MOST_SLICES = 8  # in one release
SMALL_JSON_BYTES = 1 << 20
MOST_JSON_INFLATION = 100  # what anyone would call their columns and categories does not pack so tightly
MOST_JSON_LISTS = 1 << 20  # brackets and braces: memory for each is many times its length
HEADER_BYTES = 1 << 20
MOST_INFLATION = 1000  # deflate packs no tighter, so a file has no room for more bins than this allows
LARGEST_ENTRY = 1e6  # far above any latent mean or covariance, far below what overflows
SMALLEST_EIGENVALUE = 1e-9
SMALLEST_SCALE = 1e-3
SMALLEST_VARIANCE = 1e-18  # in latent units, or of a column's range
ROUNDING = 1 + 1e-9


class _Spend(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    name: str
    sensitivity: float = Field(gt=0)
    sigma: float = Field(gt=0)
    mu: float = Field(gt=0)


class _Slices(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    dim: Annotated[int, Field(strict=True)]
    projections: Annotated[int, Field(strict=True)]
    distance: float
    sigma: float
    rounding: float
    rows: Annotated[int, Field(strict=True)]


class _Guarantee(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    epsilon: float | None = Field(gt=0)
    delta: float | None = Field(gt=0, lt=1)
    mu: float | None = Field(gt=0)
    adjacency: Adjacency
    unit: str
    secure: bool
    spends: Annotated[tuple[_Spend, ...], FailFast()]
    entry: str | None = Field(default=None, pattern="^[0-9a-f]{32}$")
    slices: Annotated[tuple[_Slices, ...], FailFast()] = Field(default=(), max_length=MOST_SLICES)


_Several: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=MOST_COMPONENTS)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")
    format: Literal["sfumato-release"]
    version: Literal[1, 2, 3, 4, 5]
    library: str
    mechanism: Literal["mixture", "clustmix", "slicing"]
    encoding: Literal["scores", "affine", "projected"]
    components: Annotated[tuple[_Several, ...], Field(fail_fast=True)] | None = None
    alpha: Annotated[float, Field(strict=True, ge=0, lt=1, allow_inf_nan=False)] | None = None
    directions: Annotated[int, Field(strict=True, ge=1, le=MOST_LABEL_DIRECTIONS)] | None = None
    generator: GeneratorDocument | None = None
    guarantee: _Guarantee
    data_schema: dict[str, Any] = Field(alias="schema")


def write(release: Release, path: str | Path) -> None:
    """Write a release under a temporary name, then rename it."""
    document = {
        "format": FORMAT,
        "version": _version(release),
        "library": __version__,
        "mechanism": release.mechanism,
        "encoding": release.encoding,
        **_model_data(release),
        "guarantee": guarantee_data(release.guarantee),
        "schema": release.schema.dump(),
    }
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(JSON_NAME), json.dumps(document, indent=1, ensure_ascii=False))
        archive.writestr(_entry(ARRAYS_NAME), save_arrays(released_arrays(release)))


def read(path: str | Path) -> Release:
    """Read a release file, trusting nothing in it."""
    if not os.path.isfile(path):  # unlike Path's own, it says no to a name that no file can have
        raise ReleaseError(f"{path} is a folder" if os.path.isdir(path) else f"{path} does not exist")
    try:
        with zipfile.ZipFile(path) as archive:
            document = _document(archive, path)
            _check_room(document[1], path)
            layout = Layout.of(document[1])
            if document[0].encoding == "affine":
                check_affine(layout.bins, layout.names)
            arrays = _load(archive, _shapes(layout, document[0], path), path)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ReleaseError(f"{path} is not a release file, or is damaged ({type(error).__name__})") from error
    return _release(document[0], document[1], layout, arrays, path)


def _model_data(release: Release) -> dict[str, Any]:
    """What the document says of a release's model beside its arrays."""
    if isinstance(release, GeneratorRelease):
        return {"generator": generator_document(release)}
    assert isinstance(release, MixtureRelease)
    labeller = release.labeller
    found: dict[str, Any] = {}
    if not _is_old(release):
        found["components"] = np.bincount(release.mixture.component_class).tolist()
    if labeller is not None:
        found["alpha"] = labeller.alpha
    if isinstance(labeller, QuadraticLabeller):
        found["directions"] = len(labeller.matrix)
    return found


def _version(release: Release) -> int:
    """The oldest version that can hold a release."""
    if not isinstance(release, MixtureRelease):
        return VERSION
    if release.mechanism != "mixture" or isinstance(release.encoder, Projected):
        return SHAPED
    return 3 if release.labeller is not None else 1 if _is_old(release) else 2


def _is_old(release: MixtureRelease) -> bool:
    """Whether version 1 can hold a release: one component a class, with scores that are standard normal."""
    encoder = release.encoder
    matched = isinstance(encoder, Scores) and encoder.columns[0].latent is not None
    plain = release.mechanism == "mixture" and not isinstance(encoder, Projected)
    return plain and release.mixture.is_simple and not matched


def guarantee_data(guarantee: Guarantee) -> dict[str, Any]:
    """A guarantee as plain JSON data."""
    counted: dict[str, Any] = {} if guarantee.entry is None else {"entry": guarantee.entry}
    if guarantee.slices:
        counted["slices"] = [vars(slices) for slices in guarantee.slices]
    return counted | {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "mu": guarantee.mu,
        "adjacency": str(guarantee.adjacency),
        "unit": guarantee.unit,
        "secure": guarantee.secure,
        "spends": [vars(spend) for spend in guarantee.spends],
    }


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def released_arrays(release: Release) -> dict[str, FloatArray]:
    """Every array of a release, by its name in the file."""
    found = generator_arrays(release) if isinstance(release, GeneratorRelease) else _mixture_arrays(release)
    assert isinstance(release, (GeneratorRelease, MixtureRelease))
    encoder = release.encoder
    if isinstance(encoder, Projected):
        found |= {"column_means": encoder.means, "column_variances": encoder.variances}
    for c, column in enumerate(encoder.columns if isinstance(encoder, Scores) else ()):
        found |= {f"order.{c}": column.order.astype(np.int64), f"masses.{c}": column.masses}
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


def _mixture_arrays(release: Release) -> dict[str, FloatArray]:
    assert isinstance(release, MixtureRelease)
    mixture, labeller = release.mixture, release.labeller
    found = {"weights": mixture.weights, "means": mixture.means, "covariances": mixture.covariances}
    if _version(release) == SHAPED:
        found["scales"] = mixture.scales
    if isinstance(labeller, Labeller):
        found["intercepts"] = labeller.intercepts
        found |= {f"evidence.{c}": table for c, table in enumerate(labeller.evidence)}
    if isinstance(labeller, QuadraticLabeller):
        found |= {"matrix": labeller.matrix, "centre": labeller.centre, "slopes": labeller.slopes}
        found["radius"] = np.array([labeller.radius])
    return found


def _shapes(layout: Layout, document: _Document, path: str | Path) -> dict[str, tuple[int, ...]]:
    """What arrays a release of this schema has; their sizes are known before any is read."""
    _check_version(layout, document, path)
    encoder: dict[str, tuple[int, ...]] = {}
    for c, size in enumerate(layout.sizes if document.encoding == "scores" else ()):
        encoder |= {f"order.{c}": (size,), f"masses.{c}": (layout.classes, size)}
    if document.encoding == "projected":
        encoder |= dict.fromkeys(("column_means", "column_variances"), (layout.classes, len(layout.names)))
    if document.generator is None:
        return _mixture_shapes(layout, document) | encoder
    check_generator(document.generator, layout, _insist(path))
    found = generator_shapes(document.generator, layout) | encoder
    if 4 * sum(map(math.prod, found.values())) > MOST_INFLATION * Path(path).stat().st_size:
        raise ReleaseError(f"{path} is too small to be a release of its schema")
    return found


def _insist(path: str | Path) -> Callable[[Any, str], None]:
    def insist(holds: Any, what: str) -> None:
        if not holds:
            raise ReleaseError(f"{path}: {what}")

    return insist


def _mixture_shapes(layout: Layout, document: _Document) -> dict[str, tuple[int, ...]]:
    k = layout.classes
    d = dim_of(layout)
    m = k if document.components is None else sum(document.components)
    tied = document.version == SHAPED
    shapes: dict[str, tuple[int, ...]] = {"weights": (m,), "means": (m, d), "covariances": (k if tied else m, d, d)}
    if tied:
        shapes["scales"] = (m,)
    if document.directions is not None:
        p = document.directions
        shapes |= {"matrix": (p, d), "centre": (p,), "slopes": (k, 1 + p + p * (p + 1) // 2), "radius": (1,)}
    elif document.alpha is not None:
        margins = 1 if k == 2 else k
        shapes |= {"intercepts": (margins,)} | {f"evidence.{c}": (margins, s) for c, s in enumerate(layout.sizes)}
    return shapes


def _check_version(layout: Layout, document: _Document, path: str | Path) -> None:
    """Whether what a document says goes together."""
    k, version = layout.classes, document.version
    projected = document.encoding == "projected"
    made = document.mechanism == "slicing"
    new = projected or document.mechanism != "mixture"
    fits = {
        "mechanism and encoding do not fit its format version": new == (version >= SHAPED)
        and made == (version == VERSION),
        "a generator does not fit its mechanism": made == (document.generator is not None),
        "its encoding does not fit its schema": projected == bool(layout.groups)
        and (not new or document.encoding != "affine"),
        "components do not fit its format version": version == 3
        or (document.components is None) == (version in (1, VERSION)),
        "components do not fit the classes of its schema": document.components is None or len(document.components) == k,
        "alpha does not fit its format version": version == SHAPED or (document.alpha is None) == (version < 3 or made),
        "labels of their own do not fit its schema and encoding": document.alpha is None
        or (k > 1 and document.encoding != "affine"),
        "directions do not fit its labels": (document.directions is not None)
        == (projected and document.alpha is not None),
    }
    for what, holds in fits.items():
        if not holds:
            raise ReleaseError(f"{path}: {what}")


def _document(archive: zipfile.ZipFile, path: str | Path) -> tuple[_Document, Schema]:
    if sorted(archive.namelist()) != [ARRAYS_NAME, JSON_NAME]:
        raise ReleaseError(f"{path} is not a release file: it should hold {JSON_NAME} and {ARRAYS_NAME}")
    try:
        most = min(MOST_JSON_BYTES, SMALL_JSON_BYTES + MOST_JSON_INFLATION * Path(path).stat().st_size)
        text = _bounded(archive, JSON_NAME, most, path)
        if text.count(b"[") + text.count(b"{") > MOST_JSON_LISTS:
            raise ReleaseError(f"{path}: {JSON_NAME} is larger than a release of its schema can be")
        data = json.loads(text)
    except RecursionError as error:
        raise ReleaseError(f"{path}: {JSON_NAME} is nested too deeply") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ReleaseError(f"{path} is not a release file: its format is not {FORMAT}")
    version = data.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ReleaseError(f"{path} has format version {version}; this library reads up to {VERSION}: upgrade it")
    try:
        document = _Document.model_validate(data)
        return document, Schema.of(document.data_schema)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ReleaseError(f"{path}: {JSON_NAME} is not valid at {one_line(where)}") from error
    except SchemaError as error:
        raise ReleaseError(f"{path}: the schema inside is not valid: {one_line(str(error))}") from error


def _check_room(schema: Schema, path: str | Path) -> None:
    """Refuse a schema of more bins than the file can hold, before memory is taken for any of them."""
    if 8 * sum(map(_most_bins, schema.columns.values())) > MOST_INFLATION * Path(path).stat().st_size:
        raise ReleaseError(f"{path} is too small to be a release of its schema")


def _most_bins(column: Column) -> float:
    if isinstance(column, Category):
        return len(column.values)
    wanted = column.bins or DEFAULT_BINS
    if isinstance(column, Date):
        return min(wanted, (column.max - column.min).days + 1)
    return wanted if column.step is None else min(wanted, (column.max - column.min) / column.step + 1)


def _bounded(archive: zipfile.ZipFile, name: str, most: int, path: str | Path) -> bytes:
    """The content of an entry that says, and turns out, to be no larger than `most`."""
    if archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ReleaseError(f"{path}: {name} is packed in a way that release files do not use")
    if archive.getinfo(name).file_size > most:
        raise ReleaseError(f"{path}: {name} is larger than a release of its schema can be")
    with archive.open(name) as entry:
        content = entry.read(most + 1)
    if len(content) > most:
        raise ReleaseError(f"{path}: {name} is larger than it says")
    return content


def _load(archive: zipfile.ZipFile, shapes: dict[str, tuple[int, ...]], path: str | Path) -> dict[str, Any]:
    most = HEADER_BYTES + 200 * len(shapes) + 8 * sum(int(np.prod(shape)) for shape in shapes.values())
    content = _bounded(archive, ARRAYS_NAME, most, path)
    try:
        arrays = load_arrays(content)
    except (SafetensorError, KeyError) as error:  # KeyError: a number format that numpy lacks
        raise ReleaseError(f"{path}: {ARRAYS_NAME} is damaged") from error
    if set(arrays) != set(shapes):
        raise ReleaseError(f"{path}: {ARRAYS_NAME} does not hold the arrays of its schema")
    for name, shape in shapes.items():
        expected = np.int64 if name.startswith("order.") else np.float32 if is_small(name) else np.float64
        if arrays[name].shape != shape or arrays[name].dtype != expected:
            raise ReleaseError(f"{path}: array {name} does not fit the schema")
    return arrays


def _release(document: _Document, schema: Schema, layout: Layout, arrays: dict[str, Any], path: str | Path) -> Release:
    insist = _insist(path)
    told = document.generator
    rows = told is not None and told.bought.form == "rows"
    guarantee = _guarantee(document.guarantee, schema, rows, path)
    if told is None:
        return _mixture_release(document, schema, layout, arrays, guarantee, insist)
    check_promise(told, guarantee, 1 if schema.unit is None else schema.unit.rows, insist)
    encoder = _projected(layout, arrays, insist, None) if layout.groups else _scores(layout, arrays, insist)
    return build_generator(told, arrays, schema, layout, guarantee, encoder, insist)


def _scores(layout: Layout, arrays: dict[str, Any], insist: Callable[[Any, str], None]) -> Scores:
    columns = []
    for c, size in enumerate(layout.sizes):
        order, masses = arrays[f"order.{c}"], arrays[f"masses.{c}"]
        insist(np.array_equal(np.sort(order), np.arange(size)), f"order.{c} is not an order of the bins")
        insist((masses > 0).all(), f"masses.{c} are not probabilities")
        insist(np.allclose(masses.sum(axis=1), 1.0, atol=1e-6), f"masses.{c} do not add up to one")
        columns.append(ColumnScores(order, masses))
    return Scores(tuple(columns))


def _projected(
    layout: Layout, arrays: dict[str, Any], insist: Callable[[Any, str], None], mixture: GaussianMixture | None
) -> Projected:
    means, variances = arrays["column_means"], arrays["column_variances"]
    insist((np.abs(means - 0.5) <= 0.5).all(), "column_means are not between 0 and 1")
    insist((variances > 0).all(), "column_variances are not positive")
    return Projected.of(Projection.of(layout.groups), means, variances, mixture)


def _guarantee(given: _Guarantee, schema: Schema, rows: bool, path: str | Path) -> Guarantee:
    insist = _insist(path)
    for value in (given.epsilon, given.delta, given.mu):
        insist(given.secure == (value is not None), "a guarantee has epsilon, delta and mu exactly if it is secure")
    slices = _slices(given, path)
    _check_guarantee(given, slices, schema, rows, insist)
    return Guarantee(
        given.epsilon,
        given.delta,
        given.mu,
        given.adjacency,
        given.unit,
        given.secure,
        tuple(Spend(**spend.model_dump()) for spend in given.spends),
        given.entry,
        slices,
    )


def _mixture_release(
    document: _Document,
    schema: Schema,
    layout: Layout,
    arrays: dict[str, Any],
    guarantee: Guarantee,
    insist: Callable[[Any, str], None],
) -> MixtureRelease:
    weights, means, covariances = arrays["weights"], arrays["means"], arrays["covariances"]
    if document.encoding == "affine":  # in data units: check them in units of each column's range
        bounds = np.array([bins.bounds for bins in layout.bins if isinstance(bins, OrderedBins)])
        span = bounds[:, 1] - bounds[:, 0]
        with np.errstate(over="ignore", under="ignore"):
            means, covariances = (means - bounds[:, 0]) / span, covariances / np.outer(span, span)
    for name, array in (arrays | {"means": means, "covariances": covariances}).items():
        insist((np.abs(array) <= LARGEST_ENTRY).all(), f"array {name} has a value that is no number, or too large")
    insist((weights > 0).all() and abs(weights.sum() - 1) < 1e-6, "weights are not probabilities")
    insist(np.allclose(covariances, covariances.swapaxes(1, 2)), "a covariance is not symmetric")
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    insist((variances > SMALLEST_VARIANCE).all(), "a covariance is not positive definite")
    scale = np.sqrt(variances)
    correlations = covariances / np.einsum("ki,kj->kij", scale, scale)
    insist((np.linalg.eigvalsh(correlations) > SMALLEST_EIGENVALUE).all(), "a covariance is not positive definite")
    if "scales" in arrays:
        insist((arrays["scales"] > SMALLEST_SCALE).all(), "scales are not positive")
    labeller: Labeller | QuadraticLabeller | None = None
    if document.directions is not None:
        insist(arrays["radius"][0] > 0, "the radius of the labels is not positive")
        labeller = QuadraticLabeller(arrays["matrix"], arrays["centre"], arrays["slopes"], float(arrays["radius"][0]))
    elif document.alpha is not None:
        evidence = tuple(arrays[f"evidence.{c}"] for c in range(len(layout.sizes)))
        for table in (arrays["intercepts"], *evidence):
            insist((np.abs(table) <= MOST_EVIDENCE).all(), "the evidence for a label is too large")
        labeller = Labeller(document.alpha, arrays["intercepts"], evidence)
    classes = np.repeat(np.arange(layout.classes), document.components or 1)
    mixture = GaussianMixture(
        weights, arrays["means"], arrays["covariances"], classes, arrays.get("scales", np.zeros(0))
    )
    encoder: Scores | Affine | Projected = Affine()
    if document.encoding == "scores":
        encoder = _scores(layout, arrays, insist)
        encoder = encoder if document.components is None else encoder.matched(mixture)
    elif document.encoding == "projected":
        encoder = _projected(layout, arrays, insist, mixture)
    return MixtureRelease(schema, guarantee, document.mechanism, encoder, mixture, labeller)


def _slices(given: _Guarantee, path: str | Path) -> tuple[Slices, ...]:
    try:
        return tuple(Slices(**each.model_dump()) for each in given.slices)
    except ArgumentError as error:
        raise ReleaseError(f"{path}: its slices are not valid: {one_line(str(error))}") from error


def _check_guarantee(
    given: _Guarantee, slices: tuple[Slices, ...], schema: Schema, rows: bool, insist: Callable[[Any, str], None]
) -> None:
    """Whether a guarantee can be true of a release of its schema."""
    insist(not schema.unconfirmed, "its schema is a draft, of which no release can be made")
    insist(given.unit == (ROW if schema.unit is None else schema.unit.column), "its unit is not that of its schema")
    is_label = given.adjacency is Adjacency.LABEL
    insist(schema.label is not None or not is_label, "label adjacency without a label")
    insist(given.entry is None or given.secure, "a release without a guarantee that a ledger counts")
    insist(given.spends, "the guarantee has no spends")
    least = math.sqrt(2.0) if given.adjacency is Adjacency.REPLACE_ONE else 1.0
    least *= 1 if schema.unit is None else schema.unit.rows
    for spend in given.spends:
        insist(spend.name.isprintable(), "a spend's name cannot be printed")
        # Noisy rows move by another measure, which `check_promise` knows.
        insist(
            spend.sensitivity >= least or (rows and spend.name == "rows"),
            "a spend's sensitivity is less than one unit can move a query",
        )
        insist(spend.sensitivity / spend.sigma <= spend.mu * ROUNDING, "a spend's mu is less than its noise makes it")
    if given.epsilon is not None and given.delta is not None and given.mu is not None:
        spent = math.hypot(*(spend.mu for spend in given.spends))
        insist(spent <= given.mu * ROUNDING, "the guarantee's spends add up to more than its mu")
        insist(not slices or given.adjacency is Adjacency.REPLACE_ONE, "slices in another adjacency than replace-one")
        # Of slices the last bits may differ between machines.
        room = given.delta * (ROUNDING if slices else 1.0)
        covered = delta_of(given.epsilon, given.mu, slices) <= room
        insist(covered, "the guarantee's mu is more than its epsilon and delta")
