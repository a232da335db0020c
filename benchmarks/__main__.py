"""Run the benchmarks: ``python -m benchmarks [NAME ...] [--quick]``.

The suites check required ratios; ``grid`` compares every measure with its peers and writes
``docs/comparison.md``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
from pathlib import Path

import numpy
import scipy

from benchmarks.harness import markdown
from credalens import _kernels
from credalens._backend import get_num_threads

SUITES = {
    "total_variation": "Total variation",
    "entropy_hartley": "Entropy and Hartley families",
    "second_order": "Second-order measures, scoring rules, possibility",
    "measures": "Every row of the measure table",
    "distances": "Other distances",
    "sets": "Other credal sets",
    "tensors": "Tensors and gradients",
    "predictors": "Credal predictors",
    "diagnosis": "Diagnosis of members",
    "selective": "Selective prediction",
    "decisions": "Decisions",
    "validity": "Validity",
    "large_label_spaces": "Large label spaces and truncated predictions",
    "real_line": "Real-valued targets",
    "files": "From files to files",
    "dense_predictions": "Segmentation maps",
    "service": "Scoring service, on the loopback interface",
    "monitoring": "Monitoring",
}
RESULTS = Path(__file__).parent / "results"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", help=f"any of {', '.join(SUITES)}, grid; default all")
    parser.add_argument("--quick", action="store_true", help="only the smaller sizes of the grid")
    parser.add_argument("--only", action="append", help="a case of the grid; can be repeated")
    chosen = parser.parse_args()
    unknown = set(chosen.suites) - {*SUITES, "grid"}
    if unknown:
        parser.error(f"unknown suite {min(unknown)!r}; pass a case of the grid with --only")
    names = chosen.suites or (["grid"] if chosen.quick or chosen.only else [*SUITES, "grid"])
    RESULTS.mkdir(exist_ok=True)
    missed = 0
    for name in names:
        if name == "grid":
            missed += importlib.import_module("benchmarks.grid").main(
                quick=chosen.quick, only=chosen.only
            )
            continue
        rows = []
        for row in importlib.import_module(f"benchmarks.{name}").rows():
            rows.append(row)
            print(
                f"{row.what:62s} {row.ours_us:9.3f} against {row.other_us:11.2f} us: "
                f"{row.ratio:9.2f}x, required {row.required} "
                f"[{'met' if row.met else 'MISSED'}] {row.agreement}",
                flush=True,
            )
        missed += sum(not row.met for row in rows)
        facts = {
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "instruction_set": _kernels.instruction_set(),
            "threads": get_num_threads(),
        }
        record = {"facts": facts, "rows": [row.as_dict() for row in rows]}
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
        (RESULTS / f"{name}.md").write_text(markdown(rows, SUITES[name]))
    return missed


if __name__ == "__main__":
    raise SystemExit(main())
