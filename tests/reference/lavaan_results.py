"""Makes ``lavaan_results.json``: random texts as lavaan reads them, texts of random graphs as ``sem()`` fits them.

Needs R with lavaan and jsonlite (Debian: r-cran-lavaan, r-cran-jsonlite):  python -m tests.reference.lavaan_results
"""

import json
import random
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import halftrek as ht
from halftrek.data import Moments, read_moments
from halftrek.graphs import Graph
from halftrek.simulation import random_graph, random_model
from halftrek.syntax import format_graph

HERE = Path(__file__).parent
N_READ, N_WRITTEN, N_HIDDEN, ROWS = 300, 150, 60, 400
NAMES = ("x.1", "größe", "a_b", ".x", "T", "c")  # in place of x1, x2, ... in some graphs: words that R can read


def random_text(rng: random.Random) -> str:
    """A text of lavaan's with regressions, factors of any order, covariances, variances and intercepts."""
    observed = [f"v{i}" for i in range(rng.randint(2, 7))]
    factors = ["f", "g", "h"][: rng.choice([0, 1, 1, 2, 2, 3])]
    numbers = ("NA*", "1*", "0*", "0.5*", "a*", "b*", "start(0.7)*")
    lines = []
    for i, factor in enumerate(factors):
        kids = rng.sample(observed, rng.randint(0, min(3, len(observed))))
        kids += [other for other in factors[:i] if rng.random() < 0.25]
        lines.append(f"{factor} =~ {_terms(rng, kids, numbers) or '0'}")
        lines += rng.choice([[f"{factor} ~~ {said}{factor}"] for said in ("1*", "2*", "", "a*")] + [[]] * 4)
        lines += rng.choice([[f"{factor} ~ {said}1"] for said in ("", "0*", "0.5*", "c*")] + [[]] * 12)
        if i and rng.random() < 0.4:
            other = rng.choice(factors[:i])
            lines.append(f"{factor} {rng.choice(['~~ 0*', '~~ ', '~ ', '~~ 0.2*'])}{other}")
        lines += [f"{factor} ~ {v}" for v in observed if rng.random() < 0.1]
    for i, v in enumerate(observed):
        causes = [u for u in (*observed[:i], *factors) if rng.random() < 0.2]
        if causes:
            lines.append(f"{v} ~ {_terms(rng, causes, ('NA*', '1*', '0*', 'a*', 'b*'))}")
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        u, v = rng.choice(observed), rng.choice([*observed, *factors])
        said = rng.choice(["", "", "0.3*", "c*"]) if u == v else rng.choice(["", "", "0*", "a*", "0.3*"])
        lines.append(f"{u} ~~ {said}{v}")
    lines += rng.choice([[f"{rng.choice(observed)} ~ {said}1"] for said in ("", "0*", "c*")] + [[]] * 4)
    rng.shuffle(lines)
    return "\n".join(lines)


def random_reading(rng: random.Random) -> list[str | bool]:
    """The function of lavaan that reads a text, ``std.lv`` and ``orthogonal``."""
    return [rng.choice(["sem", "sem", "cfa", "growth"]), rng.random() < 0.2, rng.random() < 0.2]


def _terms(rng: random.Random, names: Sequence[str], modifiers: Sequence[str]) -> str:
    return " + ".join(rng.choice(["", "", "", "", *modifiers]) + name for name in names)


def random_case(seed: int) -> tuple[Graph, Moments]:
    """A random graph with fixed and equal coefficients, and the covariance of a sample."""
    rng = random.Random(seed)
    size = rng.randint(2, 6)
    bare = random_graph(
        size,
        n_bidirected=rng.randint(0, size // 2),
        n_latents=rng.choice([0, 0, 1, 2]),
        latent_children=(1, min(4, size)),
        bow_free=rng.random() < 0.8,
        random_state=seed,
    )
    words = dict(zip(bare.observed, NAMES if rng.random() < 0.2 else bare.observed, strict=False))
    order = rng.sample(list(words.values()), size)
    latents = {u: [words[v] for v in kids] for u, kids in bare.latents.items()} | ({"Z": []} if seed % 7 == 0 else {})
    pieces = (
        [(words[u], words[v]) for u, v in bare.directed],
        [(words[u], words[v]) for u, v in bare.bidirected],
        latents,
        order,
    )
    marks = [rng.choice([None, None, None, None, "a", "b", 0.3]) for _ in bare.edges()]
    keys = [" ".join(e) for e in Graph(*pieces).edges()]
    graph = Graph(*pieces, {key: mark for key, mark in zip(keys, marks, strict=True) if mark is not None})
    seen = read_moments(random_model(graph, random_state=seed).sample(ROWS, random_state=seed))
    return graph, seen


def hidden_case(seed: int) -> tuple[Graph, Moments]:
    """Factors with three effects each that cause each other or covary, with causes and outcomes; and a sample."""
    rng = random.Random(seed)
    factors = ["F", "G", "H"][: rng.choice([1, 2, 2, 3])]
    arrows = [(f, f"{f.lower()}{k}") for f in factors for k in range(1, 4)]
    arcs: list[tuple[str, str]] = []
    known: dict[str, float | str] = {}
    for i, f in enumerate(factors):
        if rng.random() < 0.6:
            known[f"{f} -> {f.lower()}1"] = 1.0
        for other in factors[:i]:
            kind = rng.choice(["->", "->", "<->", ""])
            arrows += [(other, f)] if kind == "->" else []
            arcs += [(other, f)] if kind == "<->" else []
    arrows += [("x", f) for f in factors if rng.random() < 0.5] + [("z", f) for f in factors if rng.random() < 0.2]
    arrows += [(f, "y") for f in factors if rng.random() < 0.4]
    if rng.random() < 0.3:
        known |= {f"{factors[0]} -> {factors[0].lower()}{k}": "l" for k in (2, 3)}
    variances = {f"{factors[0].lower()}{k}": "e" for k in (1, 2)} if rng.random() < 0.3 else {}
    intercepts: dict[str, float | str] = {f"{factors[-1].lower()}2": 0.0} if rng.random() < 0.2 else {}
    graph = Graph(arrows, arcs, coefficients=known, hidden=factors, variances=variances, intercepts=intercepts)
    rows = _sampled(graph, np.random.default_rng(seed))
    return graph, read_moments(rows.round(4), graph.observed)


def _sampled(graph: Graph, rng: np.random.Generator) -> np.ndarray:
    """Rows of the graph's observed variables, with loadings near 1 and structural weights near 0.5."""
    nodes = (*graph.topological_order, *graph.latents)
    noise = dict(zip(nodes, rng.normal(size=(len(nodes), ROWS)), strict=True))
    values = {u: noise[u] for u in graph.latents}
    for u, v in graph.bidirected:
        noise[v] = noise[v] + 0.5 * noise[u]
    hidden = {*graph.hidden, *graph.latents}
    for v in graph.topological_order:
        causes = (*graph.parents(v), *graph.latent_parents(v))
        size = 0.5 if v in hidden or v == "y" else 1.0
        values[v] = noise[v] * (1.0 if v in hidden else 0.7) + sum(size * values[u] for u in causes)
    return np.column_stack([values[v] for v in graph.observed])


def main() -> None:
    rng = random.Random(1)
    texts = [t for t in (random_text(rng) for _ in range(2 * N_READ)) if t][:N_READ]
    readings = [random_reading(rng) for _ in texts]
    cases = []
    for make, seed in [(random_case, k) for k in range(N_WRITTEN)] + [(hidden_case, k) for k in range(N_HIDDEN)]:
        graph, seen = make(seed)
        cases.append(
            {
                "graph": format_graph(graph, "arrows"),
                "text": format_graph(graph, "lavaan"),
                "names": list(seen.names),
                "n": ROWS,
                "cov": (cov := seen.cov.round(5)).tolist(),
                "mean": (mean := seen.mean.round(5).tolist() if graph.intercepts else None),
                "ours": ht.fit(
                    graph, cov=cov, n=ROWS, names=seen.names, mean=mean if graph.intercepts else None
                ).loglik,
            }
        )
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder) / "given.json", Path(folder) / "answer.json"
        keys = ("text", "function", "std_lv", "orthogonal")
        read = [dict(zip(keys, (t, *how), strict=True)) for t, how in zip(texts, readings, strict=True)]
        given.write_text(json.dumps({"read": read, "written": cases}))
        subprocess.run(["Rscript", HERE / "lavaan_results.R", given, answer], check=True)
        found = json.loads(answer.read_text())
    stored = {
        "tool": found["tool"],
        "read": [[text, *how, rows] for text, how, rows in zip(texts, readings, found["read"], strict=True)],
        "written": [
            {key: part for key, part in case.items() if key != "ours"} | fit
            for case, fit in zip(cases, found["written"], strict=True)
        ],
    }
    lines = ",\n".join(
        f'"{key}": ' + (json.dumps(value) if key == "tool" else "[\n" + ",\n".join(map(json.dumps, value)) + "\n]")
        for key, value in stored.items()
    )
    (HERE / "lavaan_results.json").write_text("{" + lines + "}\n")


if __name__ == "__main__":
    main()
