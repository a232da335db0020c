"""A cell of the grid: one measure of one representation at one size, by credalens and all peers."""

from __future__ import annotations

import ctypes
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import IDLE

#: Largest seconds per round of a runner that is still timed after the budget is used up.
SHORT_ROUND = 0.04


class Size(NamedTuple):
    """Instances, members (0 for sets without members) and classes."""

    N: int
    M: int
    K: int

    def __str__(self):
        return f"({self.N}, {self.M}, {self.K})" if self.M else f"({self.N}, K = {self.K})"


@dataclass(frozen=True)
class Peer:
    """Another implementation of the same measure.

    `run` takes arrays with one row per instance and returns one value per instance. A `limit`
    computes something else, such as the sum of the array. `loads` raises ImportError if the package
    is not installed. `most` returns whether the peer is run at a size, `why_not` is the reason if
    it is not. A `whole` peer gets all instances in one call, because its cost per call is high.
    """

    name: str
    run: Callable[..., Any]
    tolerance: float = 1e-6
    most: Callable[[Size], bool] = lambda size: True
    why_not: str = ""
    loads: Callable[[], Any] = lambda: None
    limit: bool = False
    whole: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Case:
    """A measure of a representation, with its data, its peers and its sizes."""

    measure: str
    of: str
    make: Callable[[Size], tuple[Any, ...]]
    ours: Callable[..., Any]
    peers: tuple[Peer, ...]
    sizes: dict[str, tuple[Size, ...]]
    certificate: Callable[..., Any] | None = None
    note: str = ""

    @property
    def name(self):
        return f"{self.measure}, {self.of}"

    def floats(self, size):
        """Return the number of floats of the data of a size, up to a constant factor."""
        by_event = self.of in ("lower probability", "belief function")
        return size.N * max(size.M, 1) * (2**size.K if by_event else size.K)

    def all_sizes(self):
        """Return the distinct sizes of all axes."""
        return list(dict.fromkeys(size for axis in self.sizes.values() for size in axis))


def axes(base: Size, N=(), M=(), K=()) -> dict[str, tuple[Size, ...]]:
    """Return the sizes along each axis through `base`, in increasing order."""
    chosen = {"N": N, "M": M, "K": K}
    return {
        axis: tuple(base._replace(**{axis: x}) for x in sorted({*values, getattr(base, axis)}))
        for axis, values in chosen.items()
        if values
    }


@dataclass
class Result:
    """The result of one implementation in one cell, which processed `instances` of the N.

    `us` is the minimal time per instance, since other load only increases times; `median_us` is the
    median.
    """

    name: str
    us: float | None = None
    median_us: float | None = None
    instances: int = 0
    rounds: int = 0
    megabytes: float | None = None
    difference: float | None = None
    nan: int = 0
    wrong: int = 0
    refused: str = ""
    limit: bool = False
    reason: str = ""


@dataclass
class Cell:
    case: str
    size: Size
    input_megabytes: float
    ours: Result
    peers: list[Result] = field(default_factory=list)
    certificate: float | None = None


class _Runner:
    """An implementation, with as many instances as its share of the budget allows."""

    def __init__(self, name, run, data, share, whole=False):
        self.name, self.run, self.times = name, run, []
        self.count = len(data[0])
        self.data = tuple(a[:1] for a in data)
        self.call()  # imports and compilation are not timed
        count = self.count if whole else min(1, self.count)
        while True:
            self.data = tuple(a[:count] for a in data)
            start = time.perf_counter()
            self.value = self.call()
            spent = time.perf_counter() - start
            if count == self.count or spent > share / 4:
                break
            count = min(self.count, 4 * count)
        self.count = count
        self.slow = spent > share
        if self.slow:  # not timed in turns with the others
            self.times.append(spent)
        for _ in range(4 if self.slow and spent < 0.3 else int(spent < 5)):
            start = time.perf_counter()
            self.value = self.call()
            spent = time.perf_counter() - start
            if self.slow:
                self.times.append(spent)
        self.calls = max(1, int(0.004 / max(spent, 1e-7)))

    def call(self):
        return self.run(*self.data)

    def time(self):
        """Time some calls, after the threads of the previous runner have stopped spinning."""
        time.sleep(IDLE)
        self.call()
        start = time.perf_counter()
        for _ in range(self.calls):
            self.call()
        self.times.append((time.perf_counter() - start) / self.calls)


def measure(case: Case, size: Size, budget: float, memory=None) -> Cell:
    """Time credalens and all peers in turns for about `budget` seconds, and compare the values."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _measure(case, size, budget, memory)


def _measure(case, size, budget, memory):
    data = case.make(size)
    peers = [peer for peer in case.peers if not peer.why_not or peer.most(size)]
    share = budget / (1 + len(peers))
    ours = _Runner("credalens", case.ours, data, share, whole=True)
    cell = Cell(case.name, size, sum(a.nbytes for a in data) / 1e6, Result("credalens"))
    runners, entries = [ours], [cell.ours]
    for peer in case.peers:
        entry = Result(peer.name, limit=peer.limit, reason=peer.reason)
        cell.peers.append(entry)
        if not peer.most(size):
            entry.refused = f"not run: {peer.why_not}"
            continue
        try:
            peer.loads()
            runner = _Runner(peer.name, peer.run, data, share, peer.whole)
        except ImportError as error:
            entry.refused = f"not installed: {error}"
            continue
        except Exception as error:  # an exception of a peer is part of the result
            entry.refused = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
            continue
        runners.append(runner)
        entries.append(entry)
        if not peer.limit:
            compare(entry, _table(runner.value), _table(ours.value), peer.tolerance)
    _rounds(runners, budget)
    for runner, entry in zip(runners, entries, strict=True):
        entry.us = 1e6 * min(runner.times) / runner.count
        entry.median_us = 1e6 * statistics.median(runner.times) / runner.count
        entry.instances, entry.rounds = runner.count, len(runner.times)
        if memory is not None and entry.us * runner.count < 3e6:
            entry.megabytes = memory(case, runner.name, size, runner.count)
    if case.certificate is not None:
        cell.certificate = float(np.max(case.certificate(*data)))
    return cell


def _rounds(runners, budget, most=9):
    """Time all runners in turns, so that other load affects them equally.

    After the budget is used up, fast runners continue, because the minimum of a few short times is
    not reliable.
    """
    deadline = time.perf_counter() + budget
    for _ in range(most):
        late = time.perf_counter() > deadline
        for runner in runners:
            if not (runner.slow or (late and runner.calls * runner.times[-1] > SHORT_ROUND)):
                runner.time()


def _table(value):
    """Return an array with one row per instance; a tuple has several values per instance."""
    return np.stack(value, axis=1) if isinstance(value, tuple) else np.asarray(value)


def compare(entry: Result, theirs, ours, tolerance: float) -> None:
    """Count NaNs and differences larger than the tolerance."""
    difference = np.abs(theirs - ours[: len(theirs)])
    entry.nan = int(np.isnan(theirs).sum())
    entry.wrong = int((difference > tolerance).sum())
    known = difference[~np.isnan(difference)]
    entry.difference = float(known.max()) if known.size else None


def peak_megabytes(run: Callable[[], Any]) -> float:
    """Return the peak increase of the resident memory of the process during `run` (Linux).

    Unlike tracemalloc it includes allocations of C++. Call it in a new process: memory that an
    earlier call has freed but not returned to the system would be reused and not counted.
    """
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    before = _status("VmRSS")
    result = run()
    grown = (_status("VmHWM") - before) / 1024
    del result
    return max(grown, 0.0)


def _status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key))
