"""What is asked of every kind: one row of the grid each, the operation as a user writes it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import halftrek as ht
from benchmarks.grid.columns import Kind

Operation = Callable[[Kind], Any]

DRAWN = {"random_state": 1, "replicates": 60}  # the question is whether it works
INTERVALS = ("delta", "t", "robust", "sandwich", "jackknife", "bootstrap", "parametric", "profile", "influence")


class Same(Exception):
    """The column has this already."""


class Suspect(Exception):
    """It worked, but the result is doubtful."""


def operations() -> dict[str, Operation]:
    """Every operation by its name."""
    return _fitting() | _questions() | _tables() | _units() | _checks() | _bounds() | _keeping()


def _by_interval(name: str, ask: Callable[..., Any], intervals: tuple[str, ...] = INTERVALS) -> dict[str, Operation]:
    """One row for each kind of interval."""

    def asked(interval: str) -> Operation:
        return lambda K: ask(K, interval=interval, **(DRAWN if interval in ("bootstrap", "parametric") else {}))

    return {f"{name}, interval={interval}": asked(interval) for interval in intervals}


# Fits, and what may be said while fitting.


def _fitting() -> dict[str, Operation]:
    return {
        "fit": lambda K: K.fit,
        "fit(missing='drop')": lambda K: K.made(K.graph, missing="drop"),
        "fit(missing='error')": lambda K: K.made(K.graph, missing="error"),
        "fit(method='cgl-go')": lambda K: K.made(K.graph, method="cgl-go", max_iter=300),
        "fit(estimator='dwls')": lambda K: K.made(K.graph, estimator="dwls"),
        "fit(noise='unit')": lambda K: K.made(K.graph, noise="unit"),
        "fit(noise={..})": lambda K: K.made(K.graph, noise={K.outcome: 1.0}),
        "fit(intercepts='zero')": lambda K: K.made(K.graph, intercepts="zero"),
        "fit(coefficients= fixed)": lambda K: K.made(K.graph, coefficients={K.present: 0.4}),
        "fit(coefficients= equal)": lambda K: K.made(K.graph, coefficients=dict.fromkeys(K.tied, "q")),
        "fit(starts=3)": lambda K: K.made(K.graph, starts=3),
        "fit(max_iter=, finish=False)": lambda K: K.made(K.graph, max_iter=50, finish=False),
        "fit(random_state=)": lambda K: K.made(K.graph, random_state=3),
        "fit(auxiliary=)": lambda K: K.made(K.graph, auxiliary=[K.other]),
        "fit(cluster=) + effect": _crossed("cluster"),
        "fit(sampling_weights=) + effect": _crossed("sampling_weights"),
        "fit(weights=) + effect": _crossed("weights"),
        "fit(by=) + effect": _crossed("by"),
        "fit(by=, cluster=) + effect": _crossed("by", "cluster"),
        "fit(cluster=, sampling_weights=) + effect": _crossed("cluster", "sampling_weights"),
        "fit_groups": lambda K: ht.fit_groups(K.graph, K.data, **{"by": _halves(K)} | K.options),
        "fit_batch": _batch,
        "fit_together": lambda K: _together(K, equal=["regressions"]),
        "fit_together().params": lambda K: _together(K).params(),
        "fit_together().measures": lambda K: _together(K).measures(),
        "measurement_invariance": _invariance,
        "from_lavaan -> fit": lambda K: K.made(ht.from_lavaan(K.lavaan)),
        "moments(data)": lambda K: ht.moments(
            K.options["cov"] if K.data is None else K.data, names=sorted(ht.graph(K.graph).observed)
        ),
        "identify": lambda K: ht.identify(K.graph, K.effect),
    }


def _crossed(*names: str) -> Operation:
    """A fit with clusters, weights or groups that the column has not."""

    def ask(K: Kind) -> Any:
        n = K.size
        made = {
            "cluster": np.arange(n) // 5,
            "sampling_weights": np.linspace(0.5, 2, n),
            "weights": np.arange(n) % 3 + 1,
            "by": _halves(K),
        }
        weighted = {"weights", "sampling_weights"}
        if set(names) & set(K.options) or (set(names) & weighted and set(K.options) & weighted):
            raise Same
        return K.made(K.graph, **{name: made[name] for name in names}).query(K.asked)

    return ask


def _halves(K: Kind) -> np.ndarray:
    return np.array(["A", "B"])[np.arange(K.size) % 2]


def _batch(K: Kind) -> Any:
    if K.data is None:
        return ht.fit_batch(K.graph, [K.moments, K.moments])
    return ht.fit_batch(K.graph, [K.data, K.data], **{k: v for k, v in K.options.items() if k != "by"})


def _together(K: Kind, **more: Any) -> Any:
    if K.data is None:
        return ht.fit_together(K.lavaan, {"A": K.moments, "B": K.moments}, **more)
    return ht.fit_together(K.lavaan, K.data, **{"by": _halves(K)} | K.options, **more)


def _invariance(K: Kind) -> Any:
    if K.data is None:
        return ht.measurement_invariance(K.graph, {"A": K.moments, "B": K.moments})
    return ht.measurement_invariance(K.graph, K.data, **{"by": _halves(K)} | K.options)


# Questions to a fit.

QUESTIONS = {
    "E[y|do(x)]": "E[{o} | do({c}=1)]",
    "E contrast": "E[{o} | do({c}=1)] - E[{o} | do({c}=0)]",
    "P(y|do(x)) distribution": "P({o} | do({c}=1))",
    "Var": "Var[{o} | do({c}=1)]",
    "SD": "SD[{o} | do({c}=1)]",
    "Cov": "Cov[{o}, {w} | do({c}=1)]",
    "Corr": "Corr[{o}, {w}]",
    "P(y > k | do)": "P({o} > {k} | do({c}=1))",
    "P(y = k | do)": "P({o} = 1 | do({c}=1))",
    "P(a<y<b, w<0 | do)": "P(-1 < {o} < {k}, {w} < 0 | do({c}=1))",
    "RD": "RD({o} > {k} | do({c}=1) : do({c}=0))",
    "RR": "RR({o} > {k} | do({c}=1) : do({c}=0))",
    "OR": "OR({o} > {k} | do({c}=1) : do({c}=0))",
    "Q(0.9)": "Q(0.9, {o} | do({c}=1))",
    "x ~> y": "{c} ~> {o}",
    "x -> y": "{c} -> {o}",
    "x -> m -> y": "{c} -> {m} -> {o}",
    "x ~> m ~> y": "{c} ~> {m} ~> {o}",
    "std(x ~> y)": "std({c} ~> {o})",
    "x <-> y": "{c} <-> {o}",
    "E[y | x] (seen)": "E[{o} | {c}=1]",
    "E[y | do(x), w]": "E[{o} | do({c}=1), {w}=1]",
    "E[y | do(x), w>0]": "E[{o} | do({c}=1), {w} > 0]",
    "E[y_x | x, y]": "E[{o}_{{{c}=1}} | {c}=0, {o}=1]",
    "ETT": "E[{o}_{{{c}=1}} - {o}_{{{c}=0}} | {c}=1]",
    "PN": "P({o}_{{{c}=0}} < {k} | {c}=1, {o} > {k})",
    "PS": "P({o}_{{{c}=1}} > {k} | {c}=0, {o} < {k})",
    "E[y_x - y | x<1]": "E[{o}_{{{c}=1}} - {o} | {c} < 1]",
    "NDE": "E[{o}_{{{c}=1, {m}_{{{c}=0}}}} - {o}_{{{c}=0}}]",
    "NIE": "E[{o}_{{{c}=0, {m}_{{{c}=1}}}} - {o}_{{{c}=0}}]",
    "CDE": "E[{o} | do({c}=1, {m}=0)] - E[{o} | do({c}=0, {m}=0)]",
    "do(x += 1)": "E[{o} | do({c} += 1)] - E[{o}]",
    "do(x *= 2)": "E[{o} | do({c} *= 2)]",
    "do(x ~ N(0,1))": "Var[{o} | do({c} ~ N(0, 1))]",
    "do(x -> y = 1)": "E[{o} | do({c} -> {o} = 1)]",
    "arithmetic": "({c} -> {m}) * ({m} -> {o}) / 2",
}
RISK = "P({o} > {k} | do({c}=1))"
MEAN = "E[{o} | do({c}=1)]"


def _questions() -> dict[str, Operation]:
    def question(text: str) -> Operation:
        return lambda K: K.fit.query(K.q(text))

    return (
        {f"query: {name}": question(text) for name, text in QUESTIONS.items()}
        | _by_interval("effect", lambda K, **how: K.fit.effect(K.cause, K.outcome, **how))
        | _by_interval("query P(y>k|do)", lambda K, **how: K.fit.query(K.q(RISK), **how))
        | {
            "effect, ends=bca": lambda K: K.fit.effect(K.cause, K.outcome, interval="bootstrap", ends="bca", **DRAWN),
            "effect, information=expected": lambda K: K.fit.effect(
                K.cause, K.outcome, interval="delta", information="expected"
            ),
            "effect, information=observed": lambda K: K.fit.effect(
                K.cause, K.outcome, interval="delta", information="observed"
            ),
            "effect, level=0.9": lambda K: K.fit.effect(K.cause, K.outcome, level=0.9),
            "effect, crude=True": lambda K: K.fit.effect(K.cause, K.outcome, crude=True),
            "query, bounds=True": lambda K: K.bow_fit.query(K.bow_effect, bounds=True),
            "query, assume=": lambda K: K.bow_fit.query(K.bow_effect, assume=K.assume),
            "query, errors=independent": lambda K: K.fit.query(K.asked, errors="independent"),
            "query, errors=independent, bow graph": lambda K: K.bow_fit.query(K.bow_effect, errors="independent"),
            "effect in an IV graph": lambda K: K.iv_fit.query(K.iv_effect),
            "unidentified question (refusal expected)": _expected_refusal,
            "answer.explain": lambda K: K.fit.query(K.asked).explain(),
            "answer.to_*": lambda K: _answer_forms(K.fit.query(K.asked)),
            "answer.to_word": lambda K: K.fit.query(K.asked).to_word("a.docx", overwrite=True),
            "ht.table(answers)": lambda K: ht.table([K.fit.query(K.asked), K.fit.query(K.q(MEAN))]).to_latex(),
            "answer.save + load": lambda K: _loaded_answer(K.fit.query(K.asked)),
        }
    )


def _expected_refusal(K: Kind) -> str:
    try:
        found = K.bow_fit.query(K.bow_effect)
    except ht.NotIdentifiedError as error:
        return f"refused as it should be: {len(str(error)) > 0}"
    raise Suspect(f"a number for an unidentified question: {found}")


def _answer_forms(answer: Any) -> tuple[Any, ...]:
    return (
        answer.to_latex(),
        answer.to_typst(),
        answer.to_html(),
        answer.to_frame(),
        json.dumps(answer.to_dict()),
        answer.summary(),
    )


def _loaded_answer(answer: Any) -> Any:
    path = "answer.json"
    answer.save(path, overwrite=True)
    back = ht.load(path)
    if not _same(answer.value, back.value):
        raise Suspect(f"loaded value {back.value} is not {answer.value}")
    return back


def _same(a: Any, b: Any) -> bool:
    return np.array_equal(np.asarray(a, float), np.asarray(b, float), equal_nan=True)


# Tables.


def _tables() -> dict[str, Operation]:
    kinds = ("all", "direct", "indirect", "total", "through")
    few = ("robust", "bootstrap", "profile")

    def effects(kind: str) -> Operation:
        return lambda K: K.fit.effects(kind)

    return (
        {f"effects({kind})": effects(kind) for kind in kinds}
        | _by_interval("effects", lambda K, **how: K.fit.effects("total", **how))
        | {"params": lambda K: K.fit.params()}
        | _by_interval("params", lambda K, **how: K.fit.params(**how))
        | {
            "params, information=expected": lambda K: K.fit.params(interval="delta", information="expected"),
            "decompose": lambda K: K.fit.decompose(K.cause, K.outcome),
            "decompose, robust": lambda K: K.fit.decompose(K.cause, K.outcome, interval="robust"),
            "decompose, bootstrap": lambda K: K.fit.decompose(K.cause, K.outcome, interval="bootstrap", **DRAWN),
            "mediation": lambda K: K.fit.mediation(K.cause, K.outcome),
            "mediation, mediators=": lambda K: K.fit.mediation(K.cause, K.outcome, [K.mediator]),
        }
        | _by_interval("mediation", lambda K, **how: K.fit.mediation(K.cause, K.outcome, **how), few)
        | {
            "adjustments": lambda K: K.fit.adjustments(K.asked),
            "adjustments, robust": lambda K: K.fit.adjustments(K.asked, interval="robust"),
            "instruments (IV graph)": lambda K: K.iv_fit.instruments(K.iv_effect),
            "instruments, robust (IV graph)": lambda K: K.iv_fit.instruments(K.iv_effect, robust=True),
        }
    )


# Single units.


def _units() -> dict[str, Operation]:
    def changed(K: Kind, rows: Any, to: Any = 1, outcome: Any = None, **how: Any) -> Any:
        return K.fit.counterfactual(rows, do={K.cause: to}, outcome=outcome or K.outcome, **how)

    return {
        "counterfactual, one unit": lambda K: changed(K, {K.cause: 0, K.outcome: 1}),
        "counterfactual, table": lambda K: changed(K, K.few),
        "counterfactual, table, do=+1": lambda K: changed(K, K.few, "+1"),
        "counterfactual, table, robust": lambda K: changed(K, K.few, interval="robust"),
        "counterfactual, table, bootstrap": lambda K: changed(K, K.few, interval="bootstrap", **DRAWN),
        "counterfactual, two outcomes": lambda K: changed(K, K.few, outcome=[K.mediator, K.outcome]),
        "predict": lambda K: K.fit.predict(K.few, K.outcome),
        "predict, do=": lambda K: K.fit.predict(K.few, K.outcome, do={K.cause: 1}),
        "predict, given=": lambda K: K.fit.predict(K.few, K.outcome, given=[K.covariate]),
        "predict, robust": lambda K: K.fit.predict(K.few, K.outcome, interval="robust"),
        "predict, bootstrap": lambda K: K.fit.predict(K.few, K.outcome, interval="bootstrap", **DRAWN),
        "scores": lambda K: K.fit.scores(),
        "scores(bartlett)": lambda K: K.fit.scores(method="bartlett"),
        "scores(rows)": lambda K: K.fit.scores(K.few),
        "reliability": lambda K: K.fit.reliability(),
    }


# Does the model fit?


def _checks() -> dict[str, Operation]:
    def compared(K: Kind) -> Any:
        graphs = {"a": K.graph, "b": K.alt}
        return ht.compare(graphs, **K.options) if K.data is None else ht.compare(graphs, K.data, **K.options)

    return {
        "measures": lambda K: K.fit.measures(),
        "measures(robust=True)": lambda K: K.fit.measures(robust=True),
        "measures(robust=False)": lambda K: K.fit.measures(robust=False),
        "measures(satorra-bentler)": lambda K: K.fit.measures(robust="satorra-bentler"),
        "r2": lambda K: K.fit.r2(),
        "residuals": lambda K: K.fit.residuals(),
        "residuals(robust=True)": lambda K: K.fit.residuals(robust=True),
        "tests": lambda K: K.fit.tests(),
        "tests(question)": lambda K: K.fit.tests(K.asked),
        "tests(robust=True)": lambda K: K.fit.tests(robust=True),
        "tests(multiplicity=bh)": lambda K: K.fit.tests(multiplicity="bh"),
        "tests(beyond=correlation)": lambda K: K.fit.tests(beyond="correlation"),
        "tests(beyond=linearity)": lambda K: K.fit.tests(beyond="linearity"),
        "modifications": lambda K: K.fit.modifications(),
        "modifications(robust=True)": lambda K: K.fit.modifications(robust=True),
        "modifications(information=expected)": lambda K: K.fit.modifications(information="expected"),
        "inference.contradictions": lambda K: ht.inference.contradictions(K.fit, ht.parse_question(K.asked)),
        "compare(fits, question)": lambda K: ht.compare({"a": K.fit, "b": K.alt_fit}, query=K.asked),
        "compare(fits, robust=True)": lambda K: ht.compare({"a": K.fit, "b": K.alt_fit}, robust=True),
        "compare(graphs, data)": compared,
        "groups.invariance()": lambda K: K.fit.invariance(),
        "groups.invariance(question)": lambda K: K.fit.invariance(K.asked),
    }


# What an answer rests on, and bounds.


def _bounds() -> dict[str, Operation]:
    def near_zero(edge: str) -> str:
        return f"abs(corr({edge})) <= 0.2" if "<->" in edge else f"abs({edge}) <= 0.2"

    def parts(K: Kind) -> tuple[str, str]:
        cause, _, outcome = K.bow_effect.split()
        return cause, outcome

    def of_mean(K: Kind) -> Any:
        cause, outcome = parts(K)
        return K.bow_fit.bounds(f"E[{outcome} | do({cause}=1)]", assume=[K.assume])

    def of_risk(K: Kind) -> Any:
        cause, outcome = parts(K)
        return K.bow_fit.bounds(f"P({outcome} > {K.cut} | do({cause}=1))", assume=[K.assume])

    few = [-0.1, 0.0, 0.1]
    return {
        "bounds (bow graph)": lambda K: K.bow_fit.bounds(K.bow_effect),
        "bounds, assume= (bow graph)": lambda K: K.bow_fit.bounds(K.bow_effect, assume=[K.assume]),
        "bounds, interval=stoye": lambda K: K.bow_fit.bounds(K.bow_effect, assume=[K.assume], interval="stoye"),
        "bounds of E[y|do]": of_mean,
        "bounds of P(y>k|do)": of_risk,
        "bounds, absent edge (main graph)": lambda K: K.fit.bounds(K.asked, assume=[near_zero(K.absent2)]),
        "bounds, two assumptions": lambda K: K.fit.bounds(
            K.asked, assume=[near_zero(K.absent2), f"abs(corr({K.absent})) <= 0.2"]
        ),
        "ht.bounds(graph, data)": lambda K: ht.bounds(K.bow, K.data, K.bow_effect, assume=[K.assume], **K.options),
        "profile": lambda K: K.fit.profile(K.asked, points=7),
        "sensitivity, absent arc": lambda K: K.fit.sensitivity(K.asked, K.absent2),
        "sensitivity, present edge": lambda K: K.fit.sensitivity(K.asked, K.present),
        "sensitivity, two edges": lambda K: K.fit.sensitivity(K.asked, [K.absent, K.absent2]),
        "sensitivity, two edges, intervals": lambda K: K.fit.sensitivity(
            K.asked, [K.absent, K.absent2], values=[few, few], intervals=True
        ),
        "sensitivity of a risk": lambda K: K.fit.sensitivity(K.q(RISK), K.absent2, values=few),
        "robustness, all edges": lambda K: K.fit.robustness(K.asked),
        "robustness, one edge": lambda K: K.fit.robustness(K.asked, K.absent2),
        "robustness, target=": lambda K: K.fit.robustness(K.asked, K.absent2, target=0.2),
        "assumptions": lambda K: K.fit.assumptions(K.asked),
        "benchmark": lambda K: K.fit.benchmark(K.cause, K.outcome, K.covariate),
    }


# Saved, reported, drawn.


def _keeping() -> dict[str, Operation]:
    plot = ht.plot

    def report(K: Kind, *questions: str, **how: Any) -> Any:
        return K.fit.report("r.html", list(questions), overwrite=True, **how)

    return {
        "summary": lambda K: K.fit.summary(),
        "to_dict -> JSON": lambda K: json.dumps(K.fit.to_dict()),
        "repr, _repr_html_": lambda K: (repr(K.fit), K.fit._repr_html_()),
        "save + load + effect equal": lambda K: _saved(K),
        "save(rows=True) + load + robust equal": lambda K: _saved(K, rows=True),
        "pickle": lambda K: _as_before(K, pickle.loads(pickle.dumps(K.fit))),
        "report": lambda K: report(K, K.asked, K.q(MEAN)),
        "report, bootstrap": lambda K: report(K, K.asked, interval="bootstrap", **DRAWN),
        "plot.graph": lambda K: plot.graph(K.fit),
        "plot.dose_response": lambda K: plot.dose_response(K.fit, K.cause, K.outcome),
        "plot.effects": lambda K: plot.effects(K.fit.effects()),
        "plot.paths": lambda K: plot.paths(K.fit.decompose(K.cause, K.outcome)),
        "plot.residuals": lambda K: plot.residuals(K.fit),
        "plot.constraints": lambda K: plot.constraints(K.fit.tests()),
        "plot.convergence": lambda K: plot.convergence(K.fit),
        "plot.profile": lambda K: plot.profile(K.fit.profile(K.asked, points=7)),
        "plot.bounds": lambda K: plot.bounds(K.bow_fit.bounds(K.bow_effect, assume=[K.assume])),
        "plot.sensitivity": lambda K: plot.sensitivity(K.fit.sensitivity(K.asked, K.absent2)),
        "plot.adjustments": lambda K: plot.adjustments(K.fit.adjustments(K.asked)),
        "plot.densities": lambda K: plot.densities({"do": K.fit.query(K.q("P({o} | do({c}=1))")).distribution}),
        "reporting.to_tikz(fit)": lambda K: ht.reporting.to_tikz(K.fit),
        "model.sample": lambda K: K.fit.model.sample(10, random_state=1),
        "model.query": lambda K: K.fit.model.query(K.q(MEAN)),
        "model.do": lambda K: K.fit.model.do({K.cause: 1.0}),
        "model.counterfactual": lambda K: K.fit.model.counterfactual(
            {K.cause: 0, K.outcome: 1}, do={K.cause: 1.0}, outcome=K.outcome
        ),
        "fit.implied": lambda K: K.fit.implied,
        "open_page(browser=False)": _opened,
    }


def _saved(K: Kind, **rows: bool) -> Any:
    path = "fit.json"
    K.fit.save(path, overwrite=True, **rows)
    robust = rows and not isinstance(K.fit, Mapping) and "kinds" not in K.options
    return _as_before(K, ht.load(path), **({"interval": "robust"} if robust else {}))


def _as_before(K: Kind, back: Any, **how: Any) -> Any:
    """The answer of a fit that went somewhere and came back, to the last bit what it was."""
    a, b = K.fit.query(K.asked, **how), back.query(K.asked, **how)
    frame = hasattr(a, "columns")
    for name in ("estimate", "se") if frame else ("value", "se"):
        before, after = (a[name], b[name]) if frame else (getattr(a, name), getattr(b, name))
        if not _same(before, after):
            raise Suspect(f"{name} was {before!r} and is {after!r}")
    return b


def _opened(K: Kind) -> str:
    with ht.open_page(K.graph, K.data, browser=False) as page:
        return "opened" if page.address else "no address"
