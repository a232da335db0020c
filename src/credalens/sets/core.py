"""Numbers of all events: checks, sums, and the distributions above a lower probability."""

from __future__ import annotations

import functools
import math

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, Array, blocks
from credalens.sets.events import event_sums

#: Most corners that are listed.
MOST_CORNERS = 1_000_000
#: Most classes for which the simplex is cut with every event.
MOST_CUT_CLASSES = 7
#: A distribution this close to a face lies on it.
ON_FACE = 1e-11


def marginal_corners(values: Array, n_classes: int) -> Array:
    """List the corners above one 2-monotone lower probability ``(2**K,)``.

    They are the marginals over the K! orders of the classes. Many orders share one: event by event
    the distinct ways to fill it are kept, from those of the events with one class less.
    """
    level: dict[int, Array] = {0: np.zeros((1, n_classes))}
    for _ in range(n_classes):
        grown: dict[int, list[Array]] = {}
        for event, ways in level.items():
            for y in range(n_classes):
                if event >> y & 1:
                    continue
                more = ways.copy()
                more[:, y] = values[event | 1 << y] - values[event]
                grown.setdefault(event | 1 << y, []).append(more)
        level = {event: _distinct(np.concatenate(lists)) for event, lists in grown.items()}
        # Distinct ways to fill an event never become equal: each is the start of another corner.
        if max(map(len, level.values())) > MOST_CORNERS:
            most = math.factorial(n_classes)
            _refuse(
                f"has more than {MOST_CORNERS:,} corners, at most {most:,}", "pass fewer classes"
            )
    (corners,) = level.values()
    return np.maximum(corners, 0.0)


def _distinct(points: Array) -> Array:
    _, first = np.unique(np.round(points, 11), axis=0, return_index=True)
    return np.asarray(points[np.sort(first)])


def core_corners(values: Array, n_classes: int) -> Array:
    """List the corners above any lower probability ``(2**K,)``; none if the set is empty.

    The double description method: the simplex is cut with one event after the other. Corners
    outside go, and each edge from one of them to a corner inside gives a new one. Two corners
    share an edge if no third lies on all the faces that both lie on.

    References
    ----------
    T. S. Motzkin et al., "The double description method", 1953; K. Fukuda, A. Prodon, "Double
    description method revisited", 1996.
    """
    K = n_classes
    if K > MOST_CUT_CLASSES:
        _refuse(
            f"of {K} classes is not 2-monotone, and its corners would take too long to list",
            f"pass at most {MOST_CUT_CLASSES} classes, or ask for total variation, the upper "
            "entropy, Hartley or expectations, which need no corners",
        )
    points = np.eye(K)
    on_face = np.eye(K) == 0  # faces p_y = 0
    for event in range(1, (1 << K) - 1):
        inside = (event >> np.arange(K) & 1).astype(np.float64)
        slack = points @ inside - values[event]
        keep, out = slack >= -ON_FACE, np.flatnonzero(slack < -ON_FACE)
        new_points, new_faces = [points[keep]], [on_face[keep]]
        # In double precision: with single ones, OpenBLAS may look at what lies behind a short row
        # and raise the flag of an invalid value.
        faces = on_face.astype(np.float64)
        for i in np.flatnonzero(slack > ON_FACE) if len(out) else ():
            # An edge is where at least K - 2 faces meet; few pairs have so many in common.
            near = out[faces[out] @ faces[i] >= K - 2]
            shared = on_face[i] & on_face[near]
            others = shared.astype(np.float64) @ faces.T == shared.sum(axis=1)[:, None]
            edge = others.sum(axis=1) == 2
            ends = near[edge]
            share = (slack[i] / (slack[i] - slack[ends]))[:, None]
            new_points.append((1 - share) * points[i] + share * points[ends])
            new_faces.append(shared[edge])
        count = sum(map(len, new_points[1:]))
        points = np.concatenate(new_points)
        on_face = np.concatenate(new_faces)
        on_new = np.abs(points @ inside - values[event]) <= ON_FACE
        if count:
            on_new[-count:] = True
        on_face = np.column_stack([on_face, on_new])
    return np.maximum(points, 0.0)


def _refuse(problem: str, fix: str) -> None:
    _validation.refuse("extreme_points", f"the set {problem}", fix)


@functools.cache
def event_sizes(n_classes: int) -> Array:
    """Return the number of classes of every event."""
    sizes = event_sums(np.ones(n_classes)).astype(np.int64)
    sizes.flags.writeable = False
    return sizes


def refuse_first(bad: Array, values: Array, name: str, problem: str, fix: str) -> None:
    """Refuse `name` if something is bad, with the first value and its place."""
    if np.any(bad):
        where = tuple(np.argwhere(bad)[0])
        at = f"index {_validation.place(where)} (zero-based)" if where else "the set"
        _validation.refuse(name, problem.format(float(values[where]), at), fix)


def coherent(values: Array) -> tuple[Array, Array]:
    """Return lower probabilities, refused unless normalised, monotone and coherent.

    And whether each is 2-monotone, which had to be found out.
    """
    K, tolerance = values.shape[-1].bit_length() - 1, _validation.tolerance_of(values.dtype)
    limit = _validation.slack_of(values.dtype)
    found, bad = np.empty(math.prod(values.shape[:-1]), bool), -1
    for start, stop, block in blocks(values, 1, large=True):
        part = found[start:stop]
        bad = max(_kernels.check_capacities(block, tolerance, limit, part, AS_WANTED), bad)
    if bad >= 0:
        _refuse_values(values, K, tolerance)
    flags: Array = found.reshape(values.shape[:-1])
    if values[..., 0].any() or (values[..., -1] != 1).any():
        values = values.copy()
        values[..., 0], values[..., -1] = 0.0, 1.0
    for index in () if flags.all() else np.argwhere(~flags):
        _refuse_incoherent(values[tuple(index)], index, K, tolerance)
    return values, flags


def _refuse_values(values: Array, n_classes: int, tolerance: float) -> None:
    """Refuse what is not finite, normalised and monotone, with the first place."""
    _validation.finite(values, "values")
    empty, sure = values[..., 0], values[..., -1]
    empty_text = "of the impossible event is {:.6g} at {}"
    sure_text = "of the sure event is {:.6g} at {}"
    refuse_first(np.abs(empty) > tolerance, empty, "values", empty_text, "it must be 0")
    refuse_first(np.abs(sure - 1) > tolerance, sure, "values", sure_text, "it must be 1")
    unit = "pass probabilities in [0, 1]"
    outside = (values < -tolerance) | (values > 1 + tolerance)
    refuse_first(outside, values, "values", "is {:.6g} at {}", unit)
    for y in range(n_classes):
        cube = values.reshape(*values.shape[:-1], 1 << (n_classes - 1 - y), 2, 1 << y)
        bad = np.zeros(cube.shape, bool)
        bad[..., 1, :] = cube[..., 1, :] < cube[..., 0, :] - tolerance
        problem = f"is {{:.6g}} at {{}}, less than that of the event without class {y}"
        fix = "pass a monotone set function"
        refuse_first(bad.reshape(values.shape), values, "values", problem, fix)


def _refuse_incoherent(values: Array, index: Array, n_classes: int, tolerance: float) -> None:
    """Refuse the values of one instance if not all of them are attained."""
    where = tuple(int(i) for i in index)
    at = f"instance {_validation.place(where)} (zero-based): " if where else ""
    programme = Core(np.asarray(values, np.float64), n_classes)
    for event in range(1, (1 << n_classes) - 1):
        inside = (event >> np.arange(n_classes) & 1).astype(np.float64)
        p = programme.best(-inside)
        if p is None:
            _validation.refuse("values", f"{at}no distribution has these lower probabilities",
                               "pass a coherent lower probability")  # fmt: skip
        if p @ inside > values[event] + tolerance:
            _validation.refuse(
                "values",
                f"{at}not coherent: that of event {event} is {values[event]:.6g}, but the others "
                f"make it at least {p @ inside:.6g}",
                "pass the attained values",
            )


class Core:
    """All distributions above one lower probability ``(2**K,)``, by linear programmes."""

    def __init__(self, values: Array, n_classes: int) -> None:
        events = np.flatnonzero(values[:-1] > 0.0)
        self._rows = -(events[:, None] >> np.arange(n_classes) & 1).astype(np.float64)
        self._least = -values[events]
        self._sum = np.ones((1, n_classes))

    def best(self, f: Array) -> Array | None:
        """Return the member with the largest expectation of f ``(K,)``, None if there is none."""
        from scipy.optimize import linprog

        found = linprog(
            -f, self._rows, self._least, self._sum, [1.0], bounds=(0.0, 1.0), method="highs"
        )
        return None if found.x is None else np.asarray(found.x / found.x.sum())


def check_masses(masses: Array) -> None:
    """Refuse what is not a distribution over the events but the impossible one."""
    tolerance, empty = _validation.tolerance_of(masses.dtype), np.abs(masses[..., 0])
    if empty.max(initial=0.0) <= tolerance and all(
        _kernels.first_bad_row(block, tolerance, AS_WANTED) < 0
        for _, _, block in blocks(masses, 1, large=True)
    ):
        return
    _validation.finite(masses, "masses")
    refuse_first(masses < 0, masses, "masses", "is {:.6g} at {}", "pass masses >= 0")
    refuse_first(empty > tolerance, empty, "masses",
           "of the empty set is {:.6g} at {}", "give its mass to other sets")  # fmt: skip
    total = masses.sum(axis=-1, dtype=np.float64)
    refuse_first(np.abs(total - 1) > tolerance, total, "masses",
           "sum to {:.6g} at {}", "pass masses that sum to 1")  # fmt: skip


def belief(masses: Array) -> Array:
    """Add up the masses of the subsets of every event."""
    values = np.empty((math.prod(masses.shape[:-1]), masses.shape[-1]), masses.dtype)
    for start, stop, block in blocks(masses, 1, large=True):
        part = values[start:stop]
        some = part if block.dtype == part.dtype else np.empty_like(block)
        _kernels.belief_values(block, some, AS_WANTED)
        if some is not part:
            part[:] = some
    values.flags.writeable = False
    return values.reshape(masses.shape)


def summed(values: Array, weights: Array) -> Array:
    """Return the sum over the events of ``(..., 2**K)`` times weights, float64."""
    total = np.empty(math.prod(values.shape[:-1]))
    for start, stop, block in blocks(values, 1, large=True):
        _kernels.event_dot(block, weights, total[start:stop], AS_WANTED)
    return total.reshape(values.shape[:-1])


def most_even(values: Array, n_classes: int) -> Array:
    """Return the member of each 2-monotone set that all others majorise."""
    n, K = len(values), n_classes
    events, sizes = np.arange(1 << K), event_sizes(K)
    given = np.zeros(n, np.int64)
    even = np.zeros((n, K))
    rows = np.arange(n)
    while len(rows):
        now, base = given[rows], values[rows, given[rows]]
        more = sizes - sizes[now][:, None]
        grows = (events & now[:, None]) == now[:, None]
        grows &= more > 0
        mean = np.where(grows, (values[rows] - base[:, None]) / np.maximum(more, 1), -np.inf)
        top = mean.max(axis=1)
        # Of several best events the largest: their union is one of them.
        chosen = np.where(mean >= top[:, None] - 1e-13, more, -1).argmax(axis=1)
        new = (chosen & ~now)[:, None] >> np.arange(K) & 1
        even[rows] += new * mean[np.arange(len(rows)), chosen][:, None]
        given[rows] = chosen
        rows = rows[chosen != (1 << K) - 1]
    return np.maximum(even, 0.0)
