"""From whatever users hand over to fits; no mathematics here."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

from numpy.typing import ArrayLike

from halftrek import estimation
from halftrek.bottom.arrays import Floats
from halftrek.bottom.calls import public
from halftrek.bottom.choices import ColumnKind, Divisor, Estimator, Intercepts, Mask, Method, Missing, Noise
from halftrek.bottom.frames import library_of
from halftrek.bottom.words import listed
from halftrek.data import Moments, Patterns, RowReader, read_moments
from halftrek.data.columns.categories import Categories
from halftrek.errors import HalftrekWarning, depth_of_caller
from halftrek.estimation import DistrictReport, Fitted
from halftrek.estimation.given.options import needs_whole
from halftrek.graphs import Graph
from halftrek.notes import note
from halftrek.results.answering import better
from halftrek.results.fit import Fit
from halftrek.results.given.column_kinds import (
    Kinds,
    fit_where_acting,
    layered,
    read_kinds,
    read_twice,
    refuse_estimator,
    refuse_with_kinds,
    without_given,
)
from halftrek.results.given.inputs import (
    is_grouped,
    read_categories,
    read_data,
    read_graph,
    read_grouped,
    read_rows,
    refuse_with_groups,
)

if TYPE_CHECKING:
    from halftrek.data.by_group.grouping import GroupLabels
    from halftrek.data.by_group.groups import GroupMoments
    from halftrek.estimation import BatchFit
    from halftrek.results.groups import GroupFits


class Batch(TypedDict, total=False):
    """What a fit of many data sets may be told; see ``estimation.fit_batch``."""

    cov: ArrayLike | None
    mean: ArrayLike | None
    n: ArrayLike | None
    noise: Noise
    intercepts: Intercepts
    starts: int | None
    max_iter: int
    start: Floats | None


class Weighted(TypedDict):
    """What rows are told beside their names, each time they are read."""

    weights: str | ArrayLike | None
    sampling_weights: str | ArrayLike | None
    categories: Categories


class Fitting(TypedDict, total=False):
    """What a fit may be told beside its graph, its data and its groups; see ``fit``."""

    cov: object
    n: float | None
    mean: ArrayLike | None
    names: Sequence[str] | None
    divisor: Divisor
    weights: str | ArrayLike | None
    sampling_weights: str | ArrayLike | None
    categories: Mapping[str, object] | None
    kinds: Kinds | None
    missing: Missing
    cluster: str | ArrayLike | None
    estimator: Estimator
    method: Method
    noise: Noise | None
    intercepts: Intercepts
    coefficients: Mapping[str, float | str] | None
    starts: int | None
    max_iter: int | None
    finish: bool | None
    mask: Mask | None
    random_state: int


class Steps(TypedDict, total=False):
    """How a fit is searched for; see ``estimation.fit``."""

    method: Method
    noise: Noise | None
    intercepts: Intercepts
    coefficients: Mapping[str, float | str] | None
    starts: int | None
    max_iter: int | None
    finish: bool | None
    mask: Mask | None
    random_state: int


@overload
def fit(source: object, data: object = None, *, by: None = None, **fitting: Unpack[Fitting]) -> Fit: ...
@overload
def fit(source: object, data: object = None, *, by: GroupLabels, **fitting: Unpack[Fitting]) -> GroupFits: ...
@public
def fit(
    source: object,
    data: object = None,
    *,
    cov: object = None,
    n: float | None = None,
    mean: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    divisor: Divisor = "n",
    weights: str | ArrayLike | None = None,
    sampling_weights: str | ArrayLike | None = None,
    categories: Mapping[str, object] | None = None,
    kinds: Kinds | None = None,
    missing: Missing = "fiml",
    cluster: str | ArrayLike | None = None,
    by: GroupLabels | None = None,
    estimator: Estimator = "ml",
    method: Method = "em",
    noise: Noise | None = None,
    intercepts: Intercepts = "free",
    coefficients: Mapping[str, float | str] | None = None,
    starts: int | None = None,
    max_iter: int | None = None,
    finish: bool | None = None,
    mask: Mask | None = None,
    random_state: int = 0,
) -> Fit | GroupFits:
    """Fit the graph's model to data, or to a covariance with ``n`` (and ``mean``).

    An array without names is taken in the order of the graph's variables (``graph.observed``: of their first mention).
    ``cov`` is in the order of ``names``, or of the graph's variables, or carries names itself; its divisor is ``n``
    unless ``divisor="n-1"`` (as most published matrices).

    ``weights`` (a column, or one number for each row) count rows that are alike; ``sampling_weights`` say how large a
    share of a population each row stands for, and make errors robust. Texts such as yes and no are read as 1 and 0;
    ``categories={"region": "north"}`` replaces the variable ``region`` by indicators ``region=south`` and so on of its
    levels other than ``north``, each of which causes what ``region`` causes.

    ``kinds={"y": "ordered", "income": "ranked"}`` says which columns are not continuous: a linear model then holds for
    the normal variables behind them. "ordered" is yes/no or a scale (a list of its levels says their order), "ranked"
    a skewed column or a count of many values; a cause in categories is "behind" if it is a cut of a continuous cause,
    and "acts" if being in the category is the cause. Ordered categoricals are recognised. ``estimator="dwls"`` fits
    such columns by diagonally weighted least squares, as lavaan does by default, in place of maximum likelihood.

    ``cluster`` (a column, or one label for each row) says which
    rows belong together, for robust errors and the bootstrap. ``missing``: use every value that is there ("fiml", full
    information maximum likelihood), leave out rows with missing values ("drop"), or refuse them ("error"). For the
    other options see ``halftrek.estimation.fit``.

    ``by`` (a column, several, or one label for each row; or data that are moments by group, ``{"north": moments,
    ...}``) fits one model for each group and gives ``GroupFits``, see ``fit_groups``.
    """
    if by is not None or is_grouped(data):
        refuse_with_groups(
            cov=cov, n=n, mean=mean, names=names, divisor=divisor, method=method, finish=finish, mask=mask,
        )  # fmt: skip
        return fit_groups(
            source, data, by=by, weights=weights, sampling_weights=sampling_weights, categories=categories,
            kinds=kinds, missing=missing, cluster=cluster, estimator=estimator, noise=noise, intercepts=intercepts,
            coefficients=coefficients, starts=starts, max_iter=max_iter,
        )  # fmt: skip
    chosen, levels = read_categories(read_graph(source), data, names, categories)
    taken, in_order = read_kinds(chosen, data, kinds)
    levels = (*levels, *in_order)
    weighted: Weighted = {"weights": weights, "sampling_weights": sampling_weights, "categories": levels}
    read = read_data(chosen, data, cov=cov, n=n, mean=mean, names=names, divisor=divisor, missing=missing, **weighted)
    rows = read_rows(chosen, data, names=names, missing=missing, cluster=cluster, read=read, **weighted)
    if taken:
        refuse_with_kinds(method=method, noise=noise, intercepts=intercepts, coefficients=coefficients)
        taken = without_given(chosen, taken)
    refuse_estimator(estimator, taken)
    found = _fit_read(
        chosen, read, rows, taken, levels, estimator, method=method, noise=noise, intercepts=intercepts,
        coefficients=coefficients, starts=starts, max_iter=max_iter, finish=finish, mask=mask,
        random_state=random_state,
    )  # fmt: skip
    return Fit.of(replace(found, frame=library_of(data, cov)))


def _fit_read(
    chosen: Graph,
    read: Moments | Patterns,
    rows: RowReader | None,
    taken: Mapping[str, ColumnKind],
    levels: Categories,
    estimator: Estimator,
    **steps: Unpack[Steps],
) -> Fitted:
    """The fit to what was read of some rows, whose columns are taken for what ``taken`` says."""
    if "acts" in taken.values():
        return fit_where_acting(chosen, read, rows, taken, levels)
    if taken:
        read = layered(chosen, read, rows, taken, levels, weighted=estimator == "dwls")
    fit_once = partial(estimation.fit, chosen, read, **steps)
    found = fit_once()
    if (
        steps.get("method", "em") == "em"
        and steps.get("finish") is not False
        and not needs_whole(found.graph)
        and (unsure := [d for d in found.districts if _troubled(d)])
    ):
        from halftrek.results.formulas import formula_values  # here, for few fits need it

        start = formula_values(found, unsure)
        again = fit_once(start=start) if start else found
        found = again if better(again, found) else found
    if estimator == "dwls":
        from halftrek.estimation.dwls import fit_dwls

        found = fit_dwls(found)
        if found.status.code == "not converged":
            warnings.warn(str(found.status.notes[0]), HalftrekWarning, stacklevel=depth_of_caller())
    return replace(found, rows=None if rows is None else rows.select(found.moments.names))


@public
def fit_groups(
    source: object,
    data: object,
    *,
    by: GroupLabels | None = None,
    weights: str | ArrayLike | None = None,
    sampling_weights: str | ArrayLike | None = None,
    categories: Mapping[str, object] | None = None,
    kinds: Kinds | None = None,
    missing: Missing = "fiml",
    cluster: str | ArrayLike | None = None,
    estimator: Estimator = "ml",
    noise: Noise | None = None,
    intercepts: Intercepts = "free",
    coefficients: Mapping[str, float | str] | None = None,
    starts: int | None = None,
    max_iter: int | None = None,
) -> GroupFits:
    """Fit the graph's model to every group of rows: complete groups in one array program, others one by one.

    ``by`` is a column of the data or one label for each row; ``["site", "sex"]`` (or labels for each row by name,
    ``{"site": labels, ...}``) makes a group of every combination that occurs, whose key is a tuple of labels. Without
    it ``data`` are moments by group. ``missing`` is as in ``fit``: full information in each group that lacks values,
    unless such rows are left out or refused. ``cluster`` as in ``fit``, within each group. ``kinds`` too: each
    group has cuts and correlations of its own, so that effects on ordered and ranked columns are in standard
    deviations of the group. Where hidden variables have causes, or variances or intercepts are equal, groups are
    fitted one after the other. A label ties parameters of one group; ``ht.fit_together`` has parameters that groups
    share.
    """
    from halftrek.estimation.fit import MAX_ITER
    from halftrek.estimation.many.groups import fit_groups as fit_each
    from halftrek.results.groups import GroupFits

    chosen, levels = read_categories(read_graph(source), data, None, categories)
    if chosen.definitions and not needs_whole(chosen):
        left = note("group definitions", names=listed(list(chosen.definitions), 6, quote=False))
        warnings.warn(str(left), HalftrekWarning, stacklevel=depth_of_caller())
    taken, in_order = read_kinds(chosen, data, kinds)
    levels = (*levels, *in_order)
    groups, rows = read_grouped(
        chosen, data, by=by, weights=weights, sampling_weights=sampling_weights, categories=levels, missing=missing,
        cluster=cluster,
    )  # fmt: skip
    if taken:
        refuse_with_kinds(noise=noise, intercepts=intercepts, coefficients=coefficients)
        taken = without_given(chosen, taken)
    refuse_estimator(estimator, taken)
    each = None
    if taken:
        from halftrek.data.by_group.groups import rows_by_group

        apart = rows_by_group(read_twice(rows), groups)
        each = partial(_fit_group, chosen, groups, apart, taken, levels, estimator, starts)
    found = fit_each(
        chosen, groups, noise=noise or "free", intercepts=intercepts, coefficients=coefficients, starts=starts,
        max_iter=max_iter or MAX_ITER, frame=library_of(data), each=each,
    )  # fmt: skip
    return GroupFits.of(replace(found, rows=rows))


def _fit_group(
    chosen: Graph,
    groups: GroupMoments,
    rows: Mapping[Hashable, RowReader],
    taken: Mapping[str, ColumnKind],
    levels: Categories,
    estimator: Estimator,
    starts: int | None,
    i: int,
) -> Fitted:
    """The fit of one group whose columns are taken for what ``taken`` says."""
    found = _fit_read(chosen, groups[i], rows[groups.keys[i]], taken, levels, estimator, starts=starts)
    return replace(found, rows=None)  # all rows are kept once, with the group of each


def _troubled(district: DistrictReport) -> bool:
    """True if a district may have a higher maximum than the one that was found."""
    unsettled = district.code in ("flat", "no finite maximum", "not converged") or district.doubtful
    return unsettled and not (district.certain and district.code in ("converged", "flat", "boundary"))


@public
def fit_batch(source: object, data_sets: Iterable[object] | None = None, **options: Unpack[Batch]) -> BatchFit:
    """Fit many data sets, or their moments, of one graph in one array program; see ``estimation.fit_batch``."""
    chosen = read_graph(source)
    if data_sets is None:
        return estimation.fit_batch(chosen, **options)
    sets = [d if isinstance(d, Moments) else read_moments(d, chosen.observed) for d in data_sets]
    return estimation.fit_batch(chosen, sets, **options)
