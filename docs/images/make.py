"""Draws the pictures of docs/pictures.md and docs/gallery.md again: python docs/images/make.py."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes

import halftrek as ht
from halftrek.reporting import (
    draw_graph,
    plot_adjustments,
    plot_dose_response,
    plot_effects,
    plot_paths,
    plot_residuals,
    plot_sensitivity,
    save,
)
from halftrek.reporting.plots.figures import new_figure
from halftrek.simulation import random_model

FOLDER = Path(__file__).parent
GRAPH = """
    z -> x -> m -> y; x <-> y; a -> y
    a -> b; a <-> b
    latent F; F -> {m, c, d, e}
"""
DAGITTY = """
dag {
  X [exposure,pos="0.3,0.5"]
  Y [outcome,pos="0.7,0.5"]
  Z [pos="0.1,0.5"]
  X -> Y
  X <-> Y
  Z -> X
}
"""


def main() -> None:
    """One picture after the other."""
    mpl.use("Agg")
    graph = ht.graph(GRAPH)
    fit = ht.fit(graph, random_model(graph, random_state=2).sample(3_000, random_state=1))
    save(draw_graph(fit, cause="x", effect="y").figure, FOLDER / "graph.png", dpi=100, overwrite=True)
    instrument = ht.graph(DAGITTY)
    slopes = [[0.0, 0.8, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]
    world = ht.CGLSCM.from_parameters(names=["Z", "X", "Y"], T=slopes, omega={("X", "Y"): 0.6})
    ax = draw_graph(ht.fit(instrument, world.sample(2_000, random_state=1)), cause="X", effect="Y")
    save(ax.figure, FOLDER / "dagitty.png", dpi=100, overwrite=True)
    smoking = ht.dataset("front_door")
    front_door = ht.fit(smoking.graph, smoking.data)
    save(plot_dose_response(front_door, "smoking", "cancer_risk").figure, FOLDER / "dose.png", dpi=90, overwrite=True)
    effects()
    adjustments()
    air = ht.dataset("airquality")
    save(
        plot_residuals(ht.fit(air.graph, air.data, missing="drop")).figure,
        FOLDER / "residuals.png",
        dpi=90,
        overwrite=True,
    )
    mroz = ht.dataset("mroz")
    ax = plot_sensitivity(mroz.graph, mroz.data, "educ -> lwage", arc=("fatheduc", "lwage"))
    save(ax.figure, FOLDER / "sensitivity.png", dpi=90, overwrite=True)
    assumptions()
    gallery()


def assumptions() -> None:
    """What the pages on assumptions show."""
    study = ht.dataset("tal_or")
    fit = ht.fit("cond -> pmi -> reaction; cond -> reaction", study.data)
    kept("mediator", ht.plot.sensitivity(fit.sensitivity("cond -> pmi -> reaction", "pmi <-> reaction")))
    both = ["pmi <-> reaction", "cond <-> pmi"]
    kept("contours", ht.plot.sensitivity(fit.sensitivity("cond -> pmi -> reaction", both)))
    truth = ht.CGLSCM.from_parameters(
        names=["age", "weight", "activity", "pressure"],
        T=[[0, 0.2, -0.4, 3.0], [0, 0, -0.3, 2.0], [0, 0, 0, -2.0], [0, 0, 0, 0]],
        omega={("activity", "pressure"): -1.5},
        psi=[1.0, 1.0, 1.0, 30.0],
    )
    graph = "age -> {weight, activity, pressure}; weight -> {activity, pressure}; activity -> pressure"
    rows = ht.fit(graph, truth.sample(800, random_state=4))
    kept("confounder", ht.plot.sensitivity(rows.sensitivity("activity -> pressure", "activity <-> pressure")))


def gallery() -> None:
    """What docs/gallery.md shows beside these."""
    smoking = ht.dataset("front_door")
    front_door = ht.fit(smoking.graph, smoking.data)
    near = smoking.data[(smoking.data["smoking"] - 3).abs() < 0.25]["cancer_risk"]
    done = front_door.query("P(cancer_risk | do(smoking=3))").distribution
    assert done is not None
    kept("densities", ht.plot.densities({"rows with smoking near 3": near, "smoking set to 3": done}))
    card = ht.dataset("card")
    schooling = ht.fit(card.graph, card.data)
    kept("instruments", ht.plot.effects(schooling.instruments("educ -> lwage"), title="A year of school, log wage"))
    air = ht.dataset("airquality")
    months = ht.fit("Wind -> Ozone; Temp -> Ozone; Wind <-> Temp", air.data, by="Month", missing="drop")
    kept("groups", ht.plot.effects(months.effect("Temp", "Ozone"), title="Ozone for one degree more, May to September"))
    ozone = ht.fit(air.graph, air.data, missing="drop")
    kept("constraints", ht.plot.constraints(ozone.tests()))
    mroz = ht.dataset("mroz")
    profile = ht.fit(mroz.graph, mroz.data).profile("educ -> lwage", points=21)
    kept("profile", ht.plot.profile(profile, name="educ -> lwage"))


def kept(name: str, ax: Axes) -> None:
    """A small picture."""
    save(ax.figure, FOLDER / f"{name}.png", dpi=80, overwrite=True)


def effects() -> None:
    """A forest and a decomposition side by side."""
    study = ht.dataset("tal_or")
    fit = ht.fit(study.graph, study.data)
    figure = new_figure(11.0, 2.6, columns=2)
    answers = {
        "total": fit.effect("cond", "reaction"),
        "through presumed influence": fit.effect("cond -> pmi -> reaction"),
        "direct": fit.query("cond -> reaction"),
    }
    plot_effects(answers, ax=figure.axes[0])
    plot_paths(fit.decompose("cond", "reaction"), ax=figure.axes[1])
    save(figure, FOLDER / "effects.png", dpi=80, overwrite=True)


def adjustments() -> None:
    """Crude beside adjusted."""
    graph = ht.graph("age -> smoking -> cancer; age -> habits -> cancer; latent wealth; wealth -> {age, habits}")
    rows = random_model(graph, random_state=30).sample(500, random_state=2)
    ax = plot_adjustments(ht.fit(graph, rows).adjustments("smoking ~> cancer"))
    save(ax.figure, FOLDER / "adjustments.png", dpi=90, overwrite=True)


if __name__ == "__main__":
    main()
