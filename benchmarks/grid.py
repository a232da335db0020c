"""Compare every measure of every representation with its peers over sizes (N, M, K).

``python -m benchmarks grid`` writes ``results/grid.json``, ``docs/comparison.md``, the pages that
it links and their figures. ``--quick`` uses the smaller sizes and writes to ``build/grid-quick``.
``--only CASE`` runs some cases again and replaces their results, which the pages report.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import platform
import time
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import cases_hull, cases_sets, peers_probly
from benchmarks.cells import measure, peak_megabytes
from credalens import _kernels
from credalens._backend import get_num_threads

CASES = {case.name: case for case in (*cases_hull.CASES, *cases_sets.CASES)}
RESULTS = Path(__file__).parent / "results"
#: Seconds per cell, for all implementations together.
BUDGET = 0.4


def run(names=None, *, budget=BUDGET, most=None, memory=True, log=print):
    """Return the record of the grid: the environment, and a cell for every case and size.

    `names` selects cases, `most` is an upper bound of ``N M K``.
    """
    started, load = time.time(), os.getloadavg()[0]
    cells, failed = [], []
    with MemoryMeter() if memory else _NoMeter() as peak:
        for name in names or CASES:
            case = CASES[name]
            largest = max(case.all_sizes(), key=case.floats)
            for size in case.all_sizes():
                if most is not None and size.N * max(size.M, 1) * size.K > most:
                    continue
                try:
                    cell = measure(case, size, budget, peak if size == largest else None)
                except Exception as error:  # listed on the page; the run continues
                    failed.append([name, list(size), f"{type(error).__name__}: {error}"])
                    log(f"{name} {size}: FAILED, {error}")
                    continue
                cells.append(asdict(cell) | {"size": list(size)})
                log(line(cells[-1]))
    facts = {
        "date": time.strftime("%Y-%m-%d", time.gmtime(started)),
        "seconds": round(time.time() - started),
        "load": [round(load, 1), round(os.getloadavg()[0], 1)],
        "instruction_set": _kernels.instruction_set(),
        "threads": get_num_threads(),
        "cpu": _cpu(),
        "versions": versions(),
    }
    axes = {
        name: {axis: [list(size) for size in sizes] for axis, sizes in case.sizes.items()}
        for name, case in CASES.items()
    }
    notes = {name: case.note for name, case in CASES.items() if case.note}
    return {"facts": facts, "axes": axes, "notes": notes, "cells": cells, "failed": failed}


def versions():
    """Return the versions of all packages."""
    found = {"python": platform.python_version()}
    for name in ("credalens", "numpy", "scipy", "highspy", "POT", "torch", "probly"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    found["probly, newest"] = peers_probly.new_version() or "not installed"
    return found


def _cpu():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def line(cell):
    """Return a cell as one line of text."""
    parts = [f"{cell['case']} {tuple(cell['size'])}: {cell['ours']['us']:.3g} us"]
    for peer in cell["peers"]:
        if peer["us"] is None:
            parts.append(f"{peer['name']}: {peer['refused']}")
        else:
            ratio = peer["us"] / cell["ours"]["us"]
            problems = f", {peer['nan']} NaN" * bool(peer["nan"])
            problems += f", {peer['wrong']} beyond tolerance" * bool(peer["wrong"])
            parts.append(f"{peer['name']} {ratio:.3g}x{problems}")
    return "; ".join(parts)


class _NoMeter:
    def __enter__(self):
        return None

    def __exit__(self, *_):
        return None


class MemoryMeter:
    """Measures the peak memory of calls, each in a new process.

    The processes are forked from a server that has imported all packages and called nothing, so
    that threads and memory of earlier calls have no effect.
    """

    def __enter__(self):
        context = multiprocessing.get_context("forkserver")
        # PyTorch's optimisers import torch._dynamo on their first step.
        heavy = ["torch", "torch._dynamo"] if importlib.util.find_spec("torch") else []
        heavy += [name for name in ("ot", "highspy") if importlib.util.find_spec(name)]
        context.set_forkserver_preload(["benchmarks.grid", *heavy])
        self.pool = context.Pool(1, maxtasksperchild=1)
        return self.measure

    def __exit__(self, *_):
        self.pool.terminate()
        self.pool.join()

    def measure(self, case, implementation, size, count):
        """Return the megabytes of a call, or None if they cannot be measured."""
        try:
            return self.pool.apply_async(_peak, (case.name, implementation, size, count)).get(60)
        except Exception:  # no /proc, or a timeout; the times are valid
            return None


def _peak(name, implementation, size, count):
    case = CASES[name]
    run, loads = case.ours, None
    for peer in case.peers:
        if peer.name == implementation:
            run, loads = peer.run, peer.loads
    if loads is not None:
        loads()
    small = case.make(size._replace(N=1))
    run(*small)  # imports and caches are not counted
    data = tuple(a[:count].copy() for a in case.make(size))
    return peak_megabytes(lambda: run(*data))


def merged(record, again):
    """Return the record with the cases that were run again replaced."""
    names = {cell["case"] for cell in again["cells"]}
    kept = {name: [c for c in record["cells"] if c["case"] == name] for name in CASES}
    kept |= {name: [c for c in again["cells"] if c["case"] == name] for name in names}
    later = set(record["facts"].get("again", ())) | names
    load = [max(pair) for pair in zip(record["facts"]["load"], again["facts"]["load"], strict=True)]
    facts = record["facts"] | {"again": sorted(later & set(CASES)), "load": load}
    cells = [cell for name in CASES for cell in kept[name]]
    failed = [f for f in record["failed"] if f[0] not in names] + again["failed"]
    return again | {"facts": facts, "cells": cells, "failed": failed}


def main(*, quick=False, only=None):
    """Run the grid or some of its cases; write record, page and figures; return missed targets."""
    from benchmarks import report

    if quick:
        record = run(only, budget=0.08, most=3000, memory=False)
        target = RESULTS.parents[1] / "build" / "grid-quick"
        target.mkdir(parents=True, exist_ok=True)
        (target / "grid.json").write_text(json.dumps(record) + "\n")
        for path, text in report.pages(record).items():
            (target / path.name).write_text(text)
        print(f"wrote {target}")
        return 0
    unknown = set(only or ()) - set(CASES)
    if unknown:
        raise SystemExit(f"unknown case {min(unknown)!r}; choose from {', '.join(CASES)}")
    record = run(only)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "grid.json"
    if only:
        record = merged(json.loads(path.read_text()), record)
    path.write_text(json.dumps(record) + "\n")
    report.write(record)
    return len(record["failed"]) + sum(not row["met"] for row in report.required(record))
