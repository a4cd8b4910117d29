"""Every operation of the public interface, and what it is given at a size; what has none says why.

``unwalked`` names what is public and not listed here: a test keeps it empty.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import halftrek as ht
from benchmarks import growth_given as given
from benchmarks.growth_given import SMALL, far
from halftrek.bottom.choices import ColumnKind
from halftrek.errors import HalftrekError
from halftrek.identification import identify_all
from halftrek.simulation import simulate

VARIABLES = (25, 50, 100, 200, 300)
FEWER = (5, 10, 25, 50, 100)
ROWS = (10_000, 100_000, 1_000_000)
GROUPS = (1_000, 10_000, 100_000)


@dataclass(frozen=True)
class Operation:
    """Something that a user calls: what of the interface it walks, what it is given at a size, and the call."""

    name: str
    sizes: tuple[int, ...]
    prepare: Callable[[int], Any]
    run: Callable[[Any], object]
    walks: tuple[str, ...] = ()


def _op(name: str, walks: str, prepare: Callable[[int], Any], run: Callable[[Any], object],
        sizes: tuple[int, ...] = VARIABLES) -> Operation:  # fmt: skip
    return Operation(name, sizes, prepare, run, tuple(walks.split()))


def _fit(name: str, walks: str, run: Callable[[ht.Fit], object], sizes: tuple[int, ...] = VARIABLES) -> Operation:
    return _op(name, walks, given.fitted, run, sizes)


def _far(name: str, walks: str, ask: Callable[[ht.Fit, str, str], object],
         sizes: tuple[int, ...] = VARIABLES) -> Operation:  # fmt: skip
    """Something that is asked about the first variable and the last one that it causes."""
    return _op(name, walks, given.fitted, lambda fit: ask(fit, *far(fit.graph)), sizes)


def _graph(name: str, walks: str, run: Callable[[ht.Graph], object], sizes: tuple[int, ...] = VARIABLES) -> Operation:
    return _op(name, walks, given.graph_of, run, sizes)


def _picture(name: str, draw: Callable[[ht.Fit], Any], sizes: tuple[int, ...] = VARIABLES) -> Operation:
    def drawn(fit: ht.Fit) -> None:
        import matplotlib as mpl

        mpl.use("Agg")
        ax = draw(fit)
        with tempfile.TemporaryDirectory() as folder:
            ht.plot.save(ax.figure, Path(folder) / "picture.svg")

    return _op(f"ht.plot.{name}(...) and save", f"plot.{name} plot.save", given.fitted, drawn, sizes)


def _in_folder(run: Callable[[Path], object]) -> object:
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder))


def _saved(fit: ht.Fit) -> object:
    return _in_folder(lambda folder: ht.load(fit.save(folder / "fit.json")))


def _model_saved(fit: ht.Fit) -> object:
    return _in_folder(lambda folder: ht.load(ht.save(fit.model, folder / "model.json")))


def _last_arc(fit: ht.Fit) -> str:
    """An arc between the ends of the last arrow, which the graph excludes."""
    return "{} <-> {}".format(*fit.graph.directed[-1])


def _last_arcs(fit: ht.Fit) -> list[str]:
    return ["{} <-> {}".format(*arrow) for arrow in fit.graph.directed[-2:]]


def _compare(fit: ht.Fit) -> object:
    graph = fit.graph
    fewer = [ht.fit(graph.with_(directed=graph.directed[:-k]), fit.moments) for k in (1, 2, 3)]
    return ht.compare({"all": fit, **{f"without {k}": one for k, one in enumerate(fewer, 1)}})


def _answers(fit: ht.Fit) -> object:
    cause, _ = far(fit.graph)
    effects = [v for v in fit.graph.observed[1:40] if v in fit.graph.descendants(cause)]
    found = ht.table([fit.effect(cause, v) for v in effects])
    found.to_latex(), found.to_typst(), found.to_html(), found.to_frame(), found.summary(), found.to_dict()
    found.by_outcome()
    return _in_folder(lambda folder: found.to_word(folder / "table.docx"))


def _small_faces(graph: ht.Graph) -> object:
    v = graph.observed[len(graph) // 2]
    graph.with_(directed=graph.directed[:-1]), graph.edges(), graph.canonical(), graph.induced(graph.observed[::2])
    graph.parents(v), graph.children(v), graph.siblings(v), graph.spouses(v), graph.latent_parents(v)
    graph.ancestors(v), graph.descendants(v), graph.district(v), graph.summary()
    return graph.to_dict()


def _model_faces(fit: ht.Fit) -> object:
    cause, effect = far(fit.graph)
    model = fit.model
    model.total_effect(cause, effect), model.query(f"P({effect} | do({cause}=1))"), model.summary(), model.to_dict()
    joint = model.do({cause: 1.0}).distribution(model.names)
    joint.given({effect: 0.3}), joint.marginal([effect]), joint.sample(1000), joint.summary(), joint.to_dict()
    model.reorder(model.names[::-1])
    return type(model).from_parameters(names=model.names, T=model.T, C=model.C, mu=model.mu, psi=model.psi)


def _verdict(graph: ht.Graph) -> object:
    found = ht.identify(graph, "{} ~> {}".format(*far(graph)))
    found.explain(details=True), found.summary(), found.to_dict()
    return found.adjustment_sets


def _solved(fit: ht.Fit) -> object:
    recipe = ht.identify(fit.graph, "{} ~> {}".format(*far(fit.graph))).recipe
    return None if recipe is None else ht.solve(recipe, fit.moments.cov, fit.moments.names)


def _moments(table: given.Table) -> object:
    found = ht.moments(table)
    other = ht.Moments.from_cov(found.cov, found.n, mean=found.mean, names=found.names)
    return ht.Moments.from_dict(found.merge(other).select(found.names[::-1]).to_dict()).summary()


def _batch(size: int) -> tuple[ht.Graph, list[given.Table]]:
    graph, table = given.graph_and_table(size)
    return graph, [table] * 20


def _batched(given_: tuple[ht.Graph, list[given.Table]]) -> object:
    found = ht.fit_batch(*given_)
    found.total_effect(*far(given_[0])), found.take(np.arange(3)), found.model(1), found.summary()
    return found.to_dict()


def _together(pair: tuple[str, given.Table]) -> object:
    found = ht.fit_together(pair[0], pair[1], by="group", function="cfa", equal=["loadings"])
    found.params(), found.measures(), found.to_frame(), found.to_html(), found.to_latex(), found.to_typst()
    return found.summary(), found.to_dict()


def _bounded(fit: ht.Fit) -> object:
    return fit.bounds("v0 -> v1", assume=["v0 -> v1 >= 0"])


def _kinds(three: tuple[Any, given.Table, dict[str, ColumnKind]]) -> ht.Fit:
    return ht.fit(three[0], three[1], kinds=three[2])


def _refused(run: Callable[[], object]) -> object:
    """What is asked, or the words of its refusal."""
    try:
        return run()
    except HalftrekError as refusal:
        return str(refusal)


def _sum_of_effects(fit: ht.Fit) -> object:
    cause, _ = far(fit.graph)
    below = [v for v in fit.graph.observed[1:] if v in fit.graph.descendants(cause)][:40]
    return fit.query(ht.parse_question(" + ".join(f"({cause} ~> {v})" for v in below)))


FITS = (
    _op("ht.fit(graph, table)", "ht.fit", given.graph_and_table, lambda g: ht.fit(*g), (*VARIABLES, 1_000, 3_000)),
    _op("ht.fit, one hidden cause", "ht.fit", given.children, lambda g: ht.fit(*g), (50, 100, 200, 300, 600)),
    _op("ht.fit, one district", "ht.fit", given.one_district, lambda g: ht.fit(*g), (50, 100, 200, 400, 800)),
    _op("ht.fit of factors, five items each", "ht.fit ht.from_lavaan", given.items,
        lambda g: ht.fit(ht.from_lavaan(g[0], "cfa"), g[1])),
    _op("ht.fit, ordered columns", "ht.fit", given.ordered, _kinds),
    _op("ht.fit_batch, 20 tables", "ht.fit_batch BatchFit.total_effect BatchFit.take BatchFit.model BatchFit.summary "
        "BatchFit.to_dict", _batch, _batched),
    _op("ht.fit(by=...), two groups", "ht.fit_groups", given.graph_and_table,
        lambda g: ht.fit_groups(g[0], {**g[1], "group": np.repeat(["one", "two"], 500)}, by="group")),
    _op("ht.fit_together, two groups", "ht.fit_together FitsTogether.params FitsTogether.measures FitsTogether.summary "
        "FitsTogether.to_frame FitsTogether.to_dict FitsTogether.to_html FitsTogether.to_latex FitsTogether.to_typst",
        given.items, _together),
    _op("ht.measurement_invariance, two groups", "ht.measurement_invariance", given.items,
        lambda g: ht.measurement_invariance(ht.from_lavaan(g[0], "cfa"), g[1], by="group")),
    _op("ht.moments", "ht.moments Moments.from_cov Moments.from_dict Moments.merge Moments.select Moments.summary "
        "Moments.to_dict", lambda size: given.table_of(given.graph_of(size)), _moments),
)  # fmt: skip

GRAPHS = (
    _op("ht.graph, a text of arrows", "ht.graph", given.text_of("arrows"), ht.graph),
    _op("ht.graph, a text of lavaan", "ht.graph", given.text_of("lavaan"), ht.graph),
    _op("ht.graph, a text of dagitty", "ht.graph", given.text_of("dagitty"), ht.graph),
    _graph("ht.format_graph(graph)", "ht.format_graph", ht.format_graph),
    _graph("ht.identify, far effect", "ht.identify Verdict.explain Verdict.summary Verdict.to_dict", _verdict),
    _graph("halftrek identify --all", "ht.identify", identify_all, (25, 50, 100)),
    _op("halftrek identify --all, two parents and an arc each", "ht.identify", given.dense, identify_all, (10, 25, 50)),
    _op("ht.identify, not identified", "ht.identify", given.confounded, lambda g: ht.identify(g, "v0 -> v1")),
    _op('ht.identify(scope="non-normal")', "ht.identify", given.confounded,
        lambda g: ht.identify(g, "v0 -> v1", scope="non-normal")),
    _graph("graph.implied_independences()", "Graph.implied_independences", lambda g: g.implied_independences()),
    _graph("graph.m_separated(...)", "Graph.m_separated",
           lambda g: g.m_separated(*far(g), g.observed[2 : len(g) // 2])),
    _graph("graph.project(half)", "Graph.project", lambda g: g.project(g.observed[::2])),
    _graph("graph.to_networkx() and back", "Graph.to_networkx Graph.from_networkx",
           lambda g: ht.Graph.from_networkx(g.to_networkx())),
    _graph("graph.to_tikz()", "Graph.to_tikz", lambda g: g.to_tikz()),
    _graph("what else a graph has", "Graph.with_ Graph.edges Graph.canonical Graph.induced Graph.parents "
           "Graph.children Graph.siblings Graph.spouses Graph.latent_parents Graph.ancestors Graph.descendants "
           "Graph.district Graph.summary Graph.to_dict", _small_faces),
    _fit("ht.solve(recipe, cov)", "ht.solve", _solved),
    _fit("ht.cgl_edge(B, graph)", "ht.cgl_edge", lambda f: ht.cgl_edge(f.model.B, f.graph)),
)  # fmt: skip

ANSWERS = (
    _far("fit.effect, far", "Fit.effect", lambda f, x, y: f.effect(x, y)),
    _far("fit.effect, far, explained", "Answer.explain", lambda f, x, y: f.effect(x, y).explain()),
    _far("fit.effect, far, profile", "Fit.effect", lambda f, x, y: f.effect(x, y, interval="profile")),
    _far("fit.effect, far, bootstrap of 100", "Fit.effect",
         lambda f, x, y: f.effect(x, y, interval="bootstrap", replicates=100), (*VARIABLES, 500)),
    _far("fit.query, an intervention", "Fit.query", lambda f, x, y: f.query(f"P({y} | do({x}=1), v1=0.3)")),
    _far("fit.query, a counterfactual", "Fit.query", lambda f, x, y: f.query(f"P({y}_{{{x}=1}} | {x}=0, {y}=2)")),
    _fit("fit.query, a sum of 40 effects", "Fit.query ht.parse_question", _sum_of_effects),
    _op('fit.query(errors="independent")', "Fit.query", given.not_normal,
        lambda f: _refused(lambda: f.query("v0 -> v1", errors="independent"))),
    _far("fit.profile, far", "Fit.profile", lambda f, x, y: f.profile(f"{x} ~> {y}")),
    _far("fit.decompose, far", "Fit.decompose", lambda f, x, y: f.decompose(x, y)),
    _far("fit.mediation, far", "Fit.mediation", lambda f, x, y: f.mediation(x, y)),
    _far("fit.adjustments, far", "Fit.adjustments", lambda f, x, y: f.adjustments(f"{x} ~> {y}")),
    _op("fit.instruments", "Fit.instruments", given.with_instrument, lambda f: f.instruments("x -> y")),
    _far("fit.predict(table)", "Fit.predict", lambda f, _, y: f.predict(given.table_of(f.graph), y)),
    _far("fit.counterfactual(table)", "Fit.counterfactual CGLSCM.counterfactual",
         lambda f, x, y: f.counterfactual(given.table_of(f.graph), {x: 1.0}, y)),
    _op("fit.bounds", "Fit.bounds ht.bounds", given.confounded_fit, lambda f: f.bounds("v0 -> v1")),
    _op("fit.bounds(assume=...)", "Fit.bounds", given.confounded_fit, _bounded),
    _far("fit.sensitivity, far", "Fit.sensitivity ht.sensitivity",
         lambda f, x, y: f.sensitivity(f"{x} ~> {y}", _last_arc(f))),
    _far("fit.sensitivity, two edges", "Fit.sensitivity", lambda f, x, y: f.sensitivity(f"{x} ~> {y}", _last_arcs(f)),
         FEWER),
    _far("fit.assumptions, far", "Fit.assumptions", lambda f, x, y: f.assumptions(f"{x} ~> {y}")),
    _far("fit.robustness, one edge", "Fit.robustness", lambda f, x, y: f.robustness(f"{x} ~> {y}", _last_arc(f))),
    _far("fit.robustness, all edges", "Fit.robustness", lambda f, x, y: f.robustness(f"{x} ~> {y}"), FEWER),
    _op("fit.benchmark", "Fit.benchmark", given.with_regression, lambda f: f.benchmark("x", "y", ["v0", "v1"])),
)  # fmt: skip

TABLES = (
    _fit("fit.params()", "Fit.params", lambda f: f.params(), (*VARIABLES, 1_000, 3_000)),
    _fit('fit.params(interval="robust")', "Fit.params", lambda f: f.params(interval="robust")),
    _fit("fit.effects()", "Fit.effects", lambda f: f.effects()),
    _fit('fit.effects(interval="robust")', "Fit.effects", lambda f: f.effects(interval="robust")),
    _fit("fit.tests()", "Fit.tests", lambda f: f.tests()),
    _far("fit.tests(question)", "Fit.tests", lambda f, x, y: f.tests(f"{x} ~> {y}")),
    _fit('fit.tests(beyond="correlation")', "Fit.tests", lambda f: f.tests(beyond="correlation"), FEWER),
    _fit('fit.tests(beyond="linearity")', "Fit.tests", lambda f: f.tests(beyond="linearity")),
    _fit("fit.modifications()", "Fit.modifications", lambda f: f.modifications()),
    _fit("fit.residuals()", "Fit.residuals", lambda f: f.residuals()),
    _fit("fit.measures()", "Fit.measures", lambda f: f.measures()),
    _fit("fit.measures(robust=True)", "Fit.measures", lambda f: f.measures(robust=True)),
    _fit("fit.r2()", "Fit.r2", lambda f: f.r2()),
    _fit("fit.summary() and to_dict()", "Fit.summary Fit.to_dict", lambda f: (f.summary(), f.to_dict())),
    _fit("fit.report(path)", "Fit.report", lambda f: _in_folder(lambda folder: f.report(folder / "report.html"))),
    _fit("ht.compare, four graphs", "ht.compare", _compare),
    _fit("fit.save and ht.load", "Fit.save ht.load", _saved, (*VARIABLES, 1_000, 2_000)),
    _fit("model.save and ht.load", "ht.save CGLSCM.save", _model_saved),
    _fit("what else a model has", "CGLSCM.total_effect CGLSCM.query CGLSCM.summary CGLSCM.to_dict CGLSCM.do "
         "CGLSCM.distribution CGLSCM.reorder CGLSCM.from_parameters Gaussian.given Gaussian.marginal Gaussian.sample "
         "Gaussian.summary Gaussian.to_dict", _model_faces),
    _fit("ht.table of 40 answers, all its forms", "ht.table AnswerTable.to_latex AnswerTable.to_typst "
         "AnswerTable.by_outcome AnswerTable.to_html AnswerTable.to_word AnswerTable.to_frame AnswerTable.summary "
         "AnswerTable.to_dict", _answers),
    _op("fit.scores() of factors", "Fit.scores", given.factors, lambda f: f.scores()),
    _op("fit.reliability() of factors", "Fit.reliability", given.factors, lambda f: f.reliability()),
    _op("fit.params() of factors", "Fit.params", given.factors, lambda f: f.params()),
    _op("fit.modifications() of factors", "Fit.modifications", given.factors, lambda f: f.modifications()),
    _op("fit.residuals() of factors", "Fit.residuals", given.factors, lambda f: f.residuals()),
    _op("groups.params(), two groups", "GroupFits.params", given.two_groups, lambda f: f.params()),
    _op("groups.invariance(), two groups", "GroupFits.invariance", given.two_groups, lambda f: f.invariance()),
)  # fmt: skip

PICTURES = (
    _picture("graph", lambda f: ht.plot.graph(f)),
    _picture("effects", lambda f: ht.plot.effects(f.params()), (25, 50, 100)),
    _picture("residuals", lambda f: ht.plot.residuals(f)),
    _picture("constraints", lambda f: ht.plot.constraints(f.tests()), (5, 10, 25)),
    _picture("paths", lambda f: ht.plot.paths(f.decompose(*far(f.graph)))),
    _picture("dose_response", lambda f: ht.plot.dose_response(f, *far(f.graph))),
    _picture("convergence", lambda f: ht.plot.convergence(f)),
    _picture("adjustments", lambda f: ht.plot.adjustments(f.adjustments("{} ~> {}".format(*far(f.graph))))),
    _picture("profile", lambda f: ht.plot.profile(f.profile("{} ~> {}".format(*far(f.graph)))), (25, 50, 100)),
    _picture("sensitivity", lambda f: ht.plot.sensitivity(
        f, "{} ~> {}".format(*far(f.graph)), edge=_last_arc(f)), (25, 50, 100)),
    _picture("densities", lambda f: ht.plot.densities(
        {"as it is": f.model.distribution("v3"), "do(v0=1)": f.model.do({"v0": 1.0}).distribution("v3")})),
)  # fmt: skip

BY_ROWS = (
    _op("ht.fit(graph, table), rows", "ht.fit", given.small_table, lambda table: ht.fit(SMALL, table), ROWS),
    _op("ht.moments(table), rows", "ht.moments", given.small_table, ht.moments, ROWS),
    _op("ht.fit, 20 variables, 20 % missing, rows", "ht.fit", given.with_holes, lambda g: ht.fit(*g),
        (1_000, 10_000, 100_000)),
    _op("ht.fit, an ordered outcome, rows", "ht.fit", given.ordered_rows, _kinds, ROWS),
    _op("ht.fit, a category that acts, rows", "ht.fit", given.acting_rows, _kinds, ROWS),
    _op("fit.predict(table), rows", "Fit.predict", given.by_rows,
        lambda f: f.predict(given.small_table(round(f.n)), "y"), ROWS),
    _op("fit.counterfactual(table), rows", "Fit.counterfactual", given.by_rows,
        lambda f: f.counterfactual(given.small_table(round(f.n)), {"x": 1.0}, "y"), ROWS),
    _op("fit.effect, robust, rows", "Fit.effect", given.by_rows, lambda f: f.effect("x", "y", interval="robust"), ROWS),
    _op("fit.effect, bootstrap of 200, rows", "Fit.effect", given.by_rows,
        lambda f: f.effect("x", "y", interval="bootstrap", replicates=200), ROWS),
    _op("fit.tests(), rows", "Fit.tests", given.by_rows, lambda f: f.tests(), ROWS),
    _op('fit.tests(beyond="correlation"), rows', "Fit.tests", given.by_rows, lambda f: f.tests(beyond="correlation"),
        ROWS),
    _op("fit.measures(robust=True), rows", "Fit.measures", given.by_rows, lambda f: f.measures(robust=True), ROWS),
    _op("fit.report(path), rows", "Fit.report", given.by_rows,
        lambda f: _in_folder(lambda folder: f.report(folder / "report.html", ["x ~> y"])), ROWS),
    _op("model.sample and simulate, rows", "CGLSCM.sample", lambda rows: (given.by_rows(1000).model, rows),
        lambda g: (g[0].sample(g[1], random_state=1), simulate(g[0], g[1], random_state=1)), ROWS),
    _op("ht.fit(by=...), groups of ten rows", "ht.fit", given.grouped,
        lambda table: ht.fit(SMALL, table, by="group"), GROUPS),
    _op("groups.effect, groups", "GroupFits.effect GroupFits.query GroupFits.params GroupFits.measures",
        given.many_groups, lambda f: (f.effect("x", "y"), f.query("x ~> y"), f.params(), f.measures()),
        (100, 1_000, 10_000)),
    _op("groups.invariance(), groups", "GroupFits.invariance", given.many_groups, lambda f: f.invariance("x ~> y"),
        (100, 1_000, 10_000)),
    _op("groups.save and summary, groups", "GroupFits.save GroupFits.summary GroupFits.to_dict GroupFits.one "
        "GroupFits.why_not", given.many_groups,
        lambda f: (_in_folder(lambda folder: f.save(folder / "groups.json")), f.summary(), f.one(1)),
        (100, 1_000, 10_000)),
    _op("groups.bounds, groups", "GroupFits.bounds", given.many_groups, lambda f: f.bounds("x -> m"), (10, 100, 1_000)),
)  # fmt: skip

OPERATIONS = (*FITS, *GRAPHS, *ANSWERS, *TABLES, *PICTURES, *BY_ROWS)

NOT_WALKED = {
    "ht.catalog": "examples have the size that they have",
    "ht.dataset": "examples have the size that they have",
    "ht.open_page": "starts a server, which asks what is walked here",
    "plot.bounds": "draws two numbers",
    "Fit.of": "puts what is known into another class",
    "GroupFits.of": "puts what is known into another class",
    "GLSCM.centralize": "adds two vectors",
    "Answer": "says what was found, for one question",
    "Bounds": "says what was found, for one question",
    "Comparison": "says what was found, a line for each model",
    "FitsTogether.to_word": "as to_html",
    "Status": "says what was found",
    "GLSCM": "a model with means of its causes; its methods are those of CGLSCM",
}


def public_operations() -> Iterator[str]:
    """Every function, and every method of every class, that users are offered."""
    for name in ht.__all__:
        found = getattr(ht, name)
        if inspect.isclass(found) and not issubclass(found, BaseException | Warning):
            yield from (f"{name}.{m}" for m in dir(found) if not m.startswith("_") and callable(getattr(found, m)))
        elif inspect.isfunction(found):
            yield f"ht.{name}"
    yield from (f"plot.{name}" for name in ht.plot.__all__)


def unwalked() -> list[str]:
    """What is public, is not walked, and has no reason for it."""
    known = {walk for operation in OPERATIONS for walk in operation.walks} | set(NOT_WALKED)
    return [name for name in public_operations() if name not in known and name.partition(".")[0] not in known]


def idle() -> list[str]:
    """What is said to be walked, or not, and is not public."""
    public = {*public_operations(), *(name.partition(".")[0] for name in public_operations())}
    return [name for name in (*(w for op in OPERATIONS for w in op.walks), *NOT_WALKED) if name not in public]
