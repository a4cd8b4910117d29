"""Districts that differ only in names, order and number of slots, brought to one shape to be solved together."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import permutations

from halftrek.estimation.district.shape import Shape
from halftrek.estimation.plan import PAD, Task

FEW = 4  # up to so many districts, joining them costs more than it saves


@lru_cache(maxsize=128)
def group_tasks(tasks: tuple[Task, ...], beside: int = 0) -> tuple[tuple[Task, ...], ...]:
    """Tasks by shape; ties keep a task alone. ``beside``: how many more the graph has."""
    groups: dict[object, list[Task]] = {}
    for i, task in enumerate(tasks):
        if task.ties is not None:
            groups[i] = [task]
            continue
        one = _arranged(task) if len(tasks) + beside > FEW else task
        s = one.shape
        pattern = (s.size, s.column, s.pairs, s.noisy, s.loadings, tuple(ends for _, ends in one.pair_latents))
        key = (pattern, one.fixed_noise, one.fixed_pairs, one.several_starts, one.about_origin)
        groups.setdefault(key, []).append(one)
    return tuple(map(tuple, groups.values()))


def _arranged(task: Task) -> Task:
    """Members in canonical order, each with as many slots as the one with most, rounded up to 1, 2, 4, 8, ..."""
    s = task.shape
    order = _canonical_order(s.size, s.pairs)
    place = {old: new for new, old in enumerate(order)}
    mine = [[z for z, at in zip(task.slots, s.column, strict=True) if at == old] for old in order]
    most = max(map(len, mine))
    width = 1 << (most - 1).bit_length() if most else 0
    pairs = _moved(s.pairs, place)
    latent_pairs = sorted((_moved((ends,), place)[0], k) for k, ends in task.pair_latents)
    return Task(
        shape=Shape(
            size=s.size,
            column=tuple(j for j in range(s.size) for _ in range(width)),
            pairs=tuple(sorted(pairs)),
            noisy=tuple(sorted(place[j] for j in s.noisy)),
            loadings=tuple((k, place[j]) for k, j in s.loadings),
        ),
        variables=tuple(task.variables[old] for old in order),
        slots=tuple(z for own in mine for z in own + [PAD] * (width - len(own))),
        members=tuple(task.members[old] for old in order),
        latents=task.latents,
        fixed_noise=tuple(sorted((place[j], value) for j, value in task.fixed_noise)),
        fixed_pairs=tuple(sorted((*_moved(((i, j),), place)[0], value) for i, j, value in task.fixed_pairs)),
        pair_latents=tuple((k, ends) for ends, k in latent_pairs),
        several_starts=task.several_starts,
        about_origin=task.about_origin,
        order=tuple(place[old] for old in task.order or range(s.size)),
        before=task.before,
    )


def _moved(pairs: tuple[tuple[int, int], ...], place: dict[int, int]) -> list[tuple[int, int]]:
    return [(min(place[i], place[j]), max(place[i], place[j])) for i, j in pairs]


@lru_cache(maxsize=4096)
def _canonical_order(size: int, pairs: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """The order of members in which the pairs read least; members of large districts only by their number of pairs."""
    if size > 5:
        degree = Counter(j for pair in pairs for j in pair)
        return tuple(sorted(range(size), key=degree.__getitem__))

    def reading(order: tuple[int, ...]) -> list[tuple[int, int]]:
        return sorted(_moved(pairs, {old: new for new, old in enumerate(order)}))

    return min(permutations(range(size)), key=reading)
