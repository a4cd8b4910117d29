"""Makes ``lavaan_results.json``: random texts as lavaan reads them, texts of random graphs as ``sem()`` fits them.

Needs R with lavaan and jsonlite (Debian: r-cran-lavaan, r-cran-jsonlite):  python -m tests.reference.lavaan_results
"""

import json
import random
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import halftrek as ht
from halftrek.data import Moments, read_moments
from halftrek.graphs import Graph
from halftrek.simulation import random_graph, random_model
from halftrek.syntax import format_graph

HERE = Path(__file__).parent
N_READ, N_WRITTEN, ROWS = 240, 150, 400
NAMES = ("x.1", "größe", "a_b", ".x", "T", "c")  # in place of x1, x2, ... in some graphs: words that R can read


def random_text(rng: random.Random) -> str:
    """A text of lavaan's with regressions, factors, covariances, variances and intercepts."""
    observed = [f"v{i}" for i in range(rng.randint(2, 6))]
    factors = ["f", "g"][: rng.choice([0, 0, 0, 1, 1, 2])]
    lines = ["f ~~ 0*g"] if len(factors) == 2 else []
    for factor in factors:
        kids = rng.sample(observed, rng.randint(0, min(3, len(observed))))
        lines.append(f"{factor} =~ {_terms(rng, kids, ('NA*', '1*', '0*', '0.5*', 'a*', 'b*')) or '0'}")
        lines += rng.choice([[f"{factor} ~~ 1*{factor}"], [f"{factor} ~~ {factor}"], []])
        lines += rng.choice([[f"{factor} ~ 1"], *[[]] * 6])
    for i, v in enumerate(observed):
        causes = [u for u in (*observed[:i], *factors) if rng.random() < 0.3]
        if causes:
            lines.append(f"{v} ~ {_terms(rng, causes, ('NA*', '1*', '0*', 'a*', 'b*'))}")
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        u, v = rng.choice(observed), rng.choice(observed)
        lines.append(f"{u} ~~ {'' if u == v else rng.choice(['', '', '0*', 'a*', '0.3*'])}{v}")
    lines += rng.choice([[f"{rng.choice(observed)} ~ 1"], *[[]] * 6])
    rng.shuffle(lines)
    return "\n".join(lines)


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
    keys = [str(e) for e in Graph(*pieces).edges()]
    graph = Graph(*pieces, {key: mark for key, mark in zip(keys, marks, strict=True) if mark is not None})
    seen = read_moments(random_model(graph, random_state=seed).sample(ROWS, random_state=seed))
    return graph, seen


def main() -> None:
    rng = random.Random(1)
    texts = [t for t in (random_text(rng) for _ in range(2 * N_READ)) if t][:N_READ]
    cases = []
    for seed in range(N_WRITTEN):
        graph, seen = random_case(seed)
        cases.append(
            {
                "graph": format_graph(graph, "arrows"),
                "text": format_graph(graph, "lavaan"),
                "names": list(seen.names),
                "n": ROWS,
                "cov": (cov := seen.cov.round(5)).tolist(),
                "ours": ht.fit(graph, cov=cov, n=ROWS, names=seen.names).loglik,
            }
        )
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder) / "given.json", Path(folder) / "answer.json"
        given.write_text(json.dumps({"read": texts, "written": cases}))
        subprocess.run(["Rscript", HERE / "lavaan_results.R", given, answer], check=True)
        found = json.loads(answer.read_text())
    stored = {
        "tool": found["tool"],
        "read": [[text, rows] for text, rows in zip(texts, found["read"], strict=True)],
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
