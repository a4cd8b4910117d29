"""What users hand over, recognised: graphs as text, files or networkx, questions, rows or covariances."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from halftrek.bottom.choices import AnySyntax, Divisor, Missing
from halftrek.data import Moments, Patterns, RowReader, read_moments, read_patterns, row_reader
from halftrek.data.columns.categories import Categories, bare_names, expanded_names
from halftrek.data.read import resolve_categories
from halftrek.data.weights import Sampled, one_kind
from halftrek.errors import DataError, HalftrekWarning, InputError, QueryError, depth_of_caller
from halftrek.graphs import Graph, with_indicators
from halftrek.models import Rows
from halftrek.queries import Query
from halftrek.syntax import parse_graph, parse_question

if TYPE_CHECKING:
    from halftrek.data.by_group.grouping import GroupLabels
    from halftrek.data.by_group.groups import GroupMoments


def read_graph(source: object, syntax: AnySyntax = "auto") -> Graph:
    """A graph from text in any syntax, from a file that holds such text, or from a networkx graph.

    What its text says and the graph does not hold, or holds in another way, is warned of; ``graph.notes`` keeps it.
    """
    if syntax != "auto" and not isinstance(source, str | os.PathLike):
        raise InputError(f"syntax={syntax!r} goes with text, not with a {type(source).__name__}: leave it out")
    if isinstance(source, Graph):
        return source
    if isinstance(source, str | os.PathLike):
        return with_warnings(parse_graph(text_of(source), syntax))
    if hasattr(source, "is_directed"):
        return Graph.from_networkx(source)
    raise InputError(f"a graph is text, a path, or a networkx graph, not {type(source).__name__}")


def text_of(source: str | os.PathLike[str]) -> str:
    """The text itself, or that of the file which it names."""
    if isinstance(source, os.PathLike):
        return _read_text(Path(source))
    short = "\n" not in source and len(source) < 1024
    return _read_text(Path(source)) if short and (_is_file(source) or _is_file_name(source)) else source


def with_warnings(graph: Graph) -> Graph:
    """The graph; its notes are warned of, at the user's line of code."""
    for note in graph.notes:
        warnings.warn(str(note), HalftrekWarning, stacklevel=depth_of_caller())
    return graph


def refuse_defined(question: str | Query, graph: Graph) -> None:
    """Raise for the name of a number that the graph's text makes of parameters: it stands among these."""
    text = graph.definitions.get(question.strip()) if isinstance(question, str) else None
    if text is not None:
        name = str(question).strip()
        raise QueryError(
            f"{name!r} is no question but made of parameters ({name} := {text}): its number stands among these, in "
            f"fit.params(), the summary and every report; to ask for it, write the effect that it is, for instance "
            f"x -> m -> y"
        )


def read_question(question: str | Query) -> Query:
    if isinstance(question, str):
        return parse_question(question)
    if not isinstance(question, Query):
        raise QueryError(f"a question is text such as 'P(y | do(x=1))', not {type(question).__name__}")
    return question


def read_data(
    chosen: Graph,
    data: object,
    *,
    cov: object = None,
    n: float | None = None,
    mean: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    divisor: Divisor = "n",
    weights: str | ArrayLike | None = None,
    missing: Missing = "fiml",
    sampling_weights: str | ArrayLike | None = None,
    categories: Categories = (),
) -> Moments | Patterns:
    """The moments of the graph's variables, from rows of any kind or from a covariance; patterns if rows have holes."""
    _refuse_missing(missing)
    if (data is None) == (cov is None):
        raise DataError("give either data or cov with n, for instance ht.fit(g, data) or ht.fit(g, cov=S, n=412)")
    weighted = weights is not None or sampling_weights is not None
    _refuse_idle(data, n=n, mean=mean, divisor=divisor, weighted=weighted, missing=missing)
    if isinstance(data, Moments | Patterns) and names is None:
        return data
    if data is None:
        own = _has_names(cov)
        return Moments.from_cov(
            cov, n, mean=mean, names=names if names is not None or own else chosen.observed, divisor=divisor
        )
    unnamed = names is None and len(_shape(data)) == 2 and not _has_names(data)
    if unnamed:
        _refuse_wrong_width(data, bare_names(chosen.observed, categories) or ())
    _refuse_covariance(data)
    columns = names if names is not None else chosen.observed
    options: Any = {"weights": weights, "sampling_weights": sampling_weights, "categories": categories}
    if missing == "fiml" or isinstance(data, Patterns):
        return read_patterns(data, columns, **options)
    return read_moments(data, columns, missing=missing, **options)


def read_categories(
    chosen: Graph, data: object, names: Sequence[str] | None, given: Mapping[str, object] | None
) -> tuple[Graph, Categories]:
    """The graph with a node for each indicator of the columns of categories, and these with their levels."""
    if not given:
        return chosen, ()
    if data is None or isinstance(data, Moments | Patterns) or is_grouped(data):
        raise DataError("categories go with rows; moments and covariances have numbers already")
    found = resolve_categories(data, chosen.observed if names is None else names, given)
    return with_indicators(chosen, {c.column: c.names for c in found}), found


def _refuse_idle(data: object, *, n: object, mean: object, divisor: str, weighted: bool, missing: str) -> None:
    """Raise for what has no meaning for data of this kind: rows, moments, or (None) a covariance."""
    if data is not None and (n is not None or mean is not None):
        raise DataError("n and mean go with cov; data bring their own")
    if data is not None and divisor != "n":
        raise DataError(
            f"divisor={divisor!r} goes with cov; the moments of data are divided by their number: leave it out"
        )
    if data is None or isinstance(data, Moments | Patterns):
        if weighted:
            raise DataError("weights go with rows; give them where the rows are read: ht.moments(data, weights=...)")
        if missing != "fiml":
            raise DataError(f"missing={missing!r} goes with rows, and there are none any more: leave it out")


def _refuse_missing(missing: str) -> None:
    if missing not in ("fiml", "drop", "error"):
        raise DataError(f'missing must be "fiml", "drop" or "error", not {missing!r}')


def read_rows(
    chosen: Graph,
    data: object,
    *,
    names: Sequence[str] | None,
    weights: str | ArrayLike | None,
    missing: Missing,
    cluster: str | ArrayLike | None,
    sampling_weights: str | ArrayLike | None = None,
    categories: Categories = (),
    read: Moments | Patterns | None = None,
) -> RowReader | None:
    """How to read the rows again, as those behind ``read`` were; None where there are none, only moments."""
    if data is None or isinstance(data, Moments | Patterns):
        if cluster is not None:
            raise DataError("cluster goes with rows; moments and covariances do not say which row is in which cluster")
        return None
    weighting = None if read is None else read.weighting
    if missing == "fiml" and isinstance(read, Moments) and read.dropped:
        missing = "drop"  # what was left out has no value at all, and no row has some
    reader = row_reader(
        data,
        chosen.observed if names is None else expanded_names(names, categories) or (),
        weights=one_kind(weights, sampling_weights).given,
        missing=missing,
        cluster=cluster,
        sampling=weighting.mean if isinstance(weighting, Sampled) else None,
        categories=categories,
    )
    reader.check()
    return reader


def is_grouped(data: object) -> TypeGuard[Mapping[object, Moments | Patterns]]:
    """True for moments by group."""
    return isinstance(data, Mapping) and bool(data) and all(isinstance(m, Moments | Patterns) for m in data.values())


def read_grouped(
    chosen: Graph,
    data: object,
    *,
    by: GroupLabels | None,
    weights: str | ArrayLike | None,
    missing: Missing,
    sampling_weights: str | ArrayLike | None = None,
    categories: Categories = (),
    cluster: str | ArrayLike | None = None,
) -> tuple[GroupMoments, RowReader | None]:
    """What each group has (moments, or patterns where rows have holes), and how to read its rows again."""
    from halftrek.data.by_group.grouping import group_reader
    from halftrek.data.by_group.groups import read_groups, stack_groups

    _refuse_missing(missing)
    if is_grouped(data):
        parts = [str(name) for name in by if isinstance(name, str)] if isinstance(by, list | tuple) else []
        if (
            (by is not None and (not isinstance(by, list | tuple) or len(parts) < len(by)))
            or weights is not None
            or sampling_weights is not None
        ):
            raise DataError(
                "moments by group say their groups and weights themselves: leave out by and weights; where keys are "
                "tuples, by may name their parts, as in by=['site', 'sex']"
            )
        if cluster is not None:
            raise DataError("cluster goes with rows; moments by group do not say which row is in which cluster")
        return stack_groups(data, chosen.observed, parts), None
    if data is None or isinstance(data, Moments | Patterns):
        raise DataError("by goes with rows, or give moments by group: ht.fit(g, {'north': moments, ...})")
    if by is None:
        raise DataError("say what tells the groups apart: by='column', or one label for each row")
    reader, names = group_reader(
        data, by, chosen.observed, weights=weights, sampling_weights=sampling_weights, categories=categories,
        cluster=cluster,
    )  # fmt: skip
    return read_groups(reader, missing=missing, by=names), reader


def refuse_with_groups(**given: object) -> None:
    """Raise for options of one fit that fits by group do not have."""
    usual = {"method": "em", "divisor": "n"}
    for name, value in given.items():
        if value is not usual.get(name) and value != usual.get(name):
            raise InputError(f"{name} cannot be used with groups; leave it out, or fit each group on its own")


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def _is_file_name(text: str) -> bool:
    """True for one word with a file's ending, which nobody would call a variable."""
    return not text.strip().count(" ") and Path(text).suffix in (
        ".txt",
        ".dot",
        ".gv",
        ".dag",
        ".lav",
        ".lavaan",
        ".md",
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"there is no file {str(path)!r}") from None
    except UnicodeDecodeError:
        raise InputError(f"the graph file {str(path)!r} is not text in UTF-8; save it as UTF-8") from None
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise InputError(
            f"the graph file {str(path)!r} cannot be read: {reason}. Check the path and its permissions"
        ) from None


def _has_names(data: object) -> bool:
    return getattr(data, "columns", None) is not None or getattr(data, "names", None) is not None


def _shape(data: object) -> tuple[int, ...]:
    """Rows and columns of a table in memory; nothing for a query, which would have to be run to know them."""
    if type(data).__module__.partition(".")[0] in ("duckdb", "_duckdb"):
        return ()
    shape = getattr(data, "shape", ())
    return shape if isinstance(shape, tuple) and all(isinstance(k, int) for k in shape) else ()


def _refuse_covariance(data: object) -> None:
    """A square symmetric table is a covariance or correlation matrix, not rows."""
    shape = _shape(data)
    if len(shape) == 2 and 1 < shape[0] == shape[1] <= 500 and not isinstance(data, Rows):
        try:
            values = np.asarray(data, dtype=float)
        except (TypeError, ValueError, OverflowError):
            return
        sd = np.sqrt(np.maximum(np.diag(values), 0.0))
        if np.isfinite(values).all() and (np.abs(values - values.T) <= 1e-6 * np.outer(sd, sd)).all() and sd.all():
            raise DataError(
                "the data are a square symmetric matrix, a covariance by its looks: give it as "
                "ht.fit(graph, cov=matrix, n=number_of_rows)"
            )


def _refuse_wrong_width(data: object, variables: Sequence[str]) -> None:
    width = _shape(data)[1]
    if width != len(variables):
        raise DataError(
            f"the array has {width} columns and the graph {len(variables)} variables ({', '.join(variables[:8])}); "
            f"give names= for the columns"
        )
