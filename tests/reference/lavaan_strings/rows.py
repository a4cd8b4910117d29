"""Draws the rows that the strings are fitted to:  python -m tests.reference.lavaan_strings.rows"""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def school(rng: np.random.Generator, n: int = 300) -> dict[str, np.ndarray]:
    """Verbal, maths and speed items of pupils in two towns, with age, home, grade and income."""
    west = rng.integers(0, 2, n)
    age, home = rng.normal(size=(2, n))
    home = 0.3 * age + home
    general = 0.4 * home + rng.normal(size=n)
    verbal = 0.8 * general + 0.3 * age + 0.3 * west + 0.6 * rng.normal(size=n)
    maths = 0.7 * general + 0.3 * verbal + 0.6 * rng.normal(size=n)
    speed = 0.4 * verbal + 0.4 * maths + 0.9 * rng.normal(size=n)
    items = {}
    for name, factor, loadings in (
        ("v", verbal, (1.0, 0.9, 1.1)),
        ("m", maths, (1.0, 1.2, 0.8)),
        ("s", speed, (1.0, 0.8, 0.9, 1.1)),
    ):
        for k, loading in enumerate(loadings, 1):
            items[f"{name}{k}"] = 2.0 + 0.5 * k + loading * factor + 0.7 * rng.normal(size=n)
    items["m3"] += 0.4 * west
    shared = 0.5 * rng.normal(size=n)
    items["v1"] += shared
    items["m1"] += shared
    grade = 0.5 * verbal + 0.3 * home + rng.normal(size=n)
    luck = 0.6 * rng.normal(size=n)
    income = 0.3 * verbal + 0.2 * grade + luck + rng.normal(size=n)
    grade = grade + luck
    level = np.digitize(speed, [-1.0, 0.0, 1.0]) + 1
    return {
        "town": west, "age": age, "home": home, **items, "grade": grade, "income": income, "level": level,
        "class": np.arange(n) // 10 + 1,
    }  # fmt: skip


def growth(rng: np.random.Generator, n: int = 250) -> dict[str, np.ndarray]:
    """Two scores on four occasions, with two causes of their growth and one of each occasion."""
    x1, x2 = rng.normal(size=(2, n))
    level = 1.0 + 0.4 * x1 + 0.2 * x2 + 0.9 * rng.normal(size=n)
    slope = 0.5 + 0.2 * x1 - 0.1 * x2 + 0.2 * level + 0.5 * rng.normal(size=n)
    columns = {"x1": x1, "x2": x2}
    for k in range(4):
        columns[f"c{k + 1}"] = 0.3 * x2 + rng.normal(size=n)
    for k in range(4):
        columns[f"t{k + 1}"] = level + k * slope + 0.3 * columns[f"c{k + 1}"] + 0.6 * rng.normal(size=n)
    start = 0.5 * level + 0.8 * rng.normal(size=n)
    pace = 0.3 + 0.4 * slope + 0.4 * rng.normal(size=n)
    for k in range(4):
        columns[f"u{k + 1}"] = start + k * pace + 0.6 * rng.normal(size=n)
    return columns


def panel(rng: np.random.Generator, n: int = 250) -> dict[str, np.ndarray]:
    """Two traits that last, and around them two states that act on each other from one occasion to the next."""
    trait = rng.multivariate_normal([2.0, 3.0], [[1.0, 0.4], [0.4, 0.8]], n)
    state = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.3], [0.3, 1.0]], n)
    columns = {}
    for k in range(4):
        if k:
            state = state @ [[0.4, 0.2], [0.15, 0.35]] + 0.8 * rng.normal(size=(n, 2))
        columns[f"a{k + 1}"], columns[f"b{k + 1}"] = (trait + state).T
    return columns


def sites(rng: np.random.Generator, n: int = 390) -> dict[str, np.ndarray]:
    """Items of two factors, a score on four occasions and a grade at three sites, which differ a little."""
    site = rng.integers(1, 4, n)
    site[:3] = (2, 3, 1)  # groups are in the order of their first rows
    columns: dict[str, np.ndarray] = {"site": site}
    verbal = 0.3 * (site == 3) + (0.8 + 0.2 * site) * rng.normal(size=n)
    maths = 0.5 * verbal + 0.8 * rng.normal(size=n)
    for name, factor, loadings in (("v", verbal, (1.0, 0.9, 1.1)), ("m", maths, (1.0, 1.2, 0.8))):
        for k, loading in enumerate(loadings, 1):
            columns[f"{name}{k}"] = 1.0 + 0.4 * k + loading * factor + 0.7 * rng.normal(size=n)
    level, slope = 1.0 + 0.9 * rng.normal(size=n), 0.5 + 0.1 * site + 0.5 * rng.normal(size=n)
    for k in range(4):
        columns[f"t{k + 1}"] = level + k * slope + 0.6 * rng.normal(size=n)
    return {**columns, "grade": 0.2 * site * verbal + 0.3 * maths + rng.normal(size=n)}


def write(name: str, columns: dict[str, np.ndarray], *, holes: np.ndarray | None = None) -> None:
    """A file of comma-separated values, three digits after the point; holes are empty."""
    table = np.column_stack(list(columns.values()))
    lines = [",".join(columns)]
    for i, row in enumerate(table):
        cells = [f"{x:.0f}" if float(x).is_integer() else f"{x:.3f}" for x in row]
        lines.append(",".join("" if holes is not None and holes[i, j] else cell for j, cell in enumerate(cells)))
    (HERE / f"{name}.csv").write_text("\n".join(lines) + "\n")


def main() -> None:
    pupils = school(np.random.default_rng(20))
    write("school", pupils)
    write("growth", growth(np.random.default_rng(21)))
    write("panel", panel(np.random.default_rng(23)))
    rng = np.random.default_rng(22)
    kept = {name: column for name, column in pupils.items() if name[0] in "vms" and name[1:].isdigit()} | {
        name: pupils[name] for name in ("age", "home", "grade")
    }
    write("holes", kept, holes=rng.random((len(pupils["age"]), len(kept))) < 0.12)
    there = sites(np.random.default_rng(24))
    write("sites", there)
    missing = rng.random((len(there["site"]), len(there))) < 0.1
    missing[:, 0] = False
    write("sites_holes", there, holes=missing)


if __name__ == "__main__":
    main()
