"""Maps of segmentation volumes with channels first, and ``credalens map``; CPU times."""

from __future__ import annotations

import math
import multiprocessing
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

import credalens as cl
from benchmarks import peers
from benchmarks.cells import peak_megabytes
from benchmarks.harness import Row, cpu_seconds
from credalens._backend import get_num_threads
from credalens.maps import MapSettings, find_cases, map_cases

#: Members, classes and space: five folds of a network, two structures, one CT volume.
SHAPE = (5, 3, 128, 256, 256)
#: Largest time as a multiple of reading the array, and largest extra memory as a share of it.
TIME, MEMORY = 4.0, 0.5


def volume(shape=SHAPE, seed=0):
    """Return ``(M, K, *space)`` of models that disagree near the edges of two balls."""
    _, K, *space = shape
    rng = np.random.default_rng(seed)
    axes = [np.linspace(-1, 1, n, dtype=np.float32) for n in space]
    radius = np.sqrt(sum(x**2 for x in np.meshgrid(*axes, indexing="ij", sparse=True)))
    found = np.empty(shape, np.float32)
    for plane in found:
        plane[0] = 0
        for k in range(1, K):
            plane[k] = 30 * k * (0.8 - 0.3 * k + 0.03 * rng.standard_normal() - radius)
        plane -= plane.max(axis=0)
        np.exp(plane, out=plane)
        plane /= plane.sum(axis=0)
    return found


def rows():
    yield from _against_reading()
    yield _memory()
    yield _command()


def _against_reading():
    P, threads = volume(), get_num_threads()
    voxels = P[0, 0].size
    votes = P.argmax(axis=1)
    share = float((votes != votes[0]).any(axis=0).mean())
    read = cpu_seconds(lambda: peers.read_once(P, threads))
    ours = cpu_seconds(lambda: cl.quantify(P, axis=0, class_axis=1))
    yield Row(
        f"TV, all components {SHAPE} float32, channels first, validated",
        "sum of the array, NumPy; CPU time",
        1e6 * ours / voxels,
        1e6 * read / voxels,
        f"at most {TIME:g}x the time, i.e. ratio >= {1 / TIME:.2f}",
        ours <= TIME * read,
        f"models disagree in {share:.1%} of the voxels; per voxel",
    )
    contiguous = np.ascontiguousarray(np.moveaxis(P, (0, 1), (-2, -1)))
    copied = cpu_seconds(
        lambda: cl.quantify(np.ascontiguousarray(np.moveaxis(P, (0, 1), (-2, -1)))), repeat=1
    )
    same = cl.quantify(contiguous).total == cl.quantify(P, axis=0, class_axis=1).total
    yield Row(
        f"TV, all components {SHAPE} float32, channels first, validated",
        "transposed copy of the array, then the same measures; CPU time",
        1e6 * ours / voxels,
        1e6 * copied / voxels,
        "faster",
        ours < copied,
        "the same bits" if same.all() else "DIFFERENT VALUES",
    )


def _memory():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        share = pool.apply(measure_share)
    return Row(
        f"peak extra memory of TV maps, all components {SHAPE} float32",
        "size of the input (ratios, not microseconds)",
        share,
        1.0,
        f"at most {MEMORY}x the input",
        share <= MEMORY,
        "five maps are 0.33x",
    )


def measure_share():
    """Return the peak extra memory of the maps as a share of the input."""
    P = volume()
    cl.quantify(P[:, :, :2], axis=0, class_axis=1)  # threads and caches are not counted
    return peak_megabytes(lambda: cl.quantify(P, axis=0, class_axis=1)) * 2**20 / P.nbytes


def _command():
    """Return the peak memory of credalens map for a case of the whole size."""
    with tempfile.TemporaryDirectory() as folder:
        for m, plane in enumerate(volume()):
            (Path(folder) / f"fold_{m}").mkdir()
            np.save(Path(folder) / f"fold_{m}" / "case.npy", plane)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            megabytes, spent = pool.apply(measure_command, (folder,))
    size = 4 * math.prod(SHAPE) / 2**20
    return Row(
        f"peak extra memory of credalens map, a case {SHAPE} float32",
        "size of the input (ratios, not microseconds)",
        megabytes / size,
        1.0,
        f"at most {MEMORY}x the input",
        megabytes <= MEMORY * size,
        f"without pages of memory maps; {spent:.3g} s of CPU time",
    )


def measure_command(folder):
    """Return the peak of anonymous memory in megabytes, and the CPU time, of the maps of a case."""
    root = Path(folder)
    cases = find_cases(sorted(root.glob("fold_*")))
    start = time.process_time()
    map_cases(cases, root / "first", MapSettings())
    spent = time.process_time() - start
    tracemalloc.start()
    map_cases(cases, root / "second", MapSettings())
    return tracemalloc.get_traced_memory()[1] / 2**20, spent
