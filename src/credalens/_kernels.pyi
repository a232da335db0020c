from typing import Any

from numpy import float64
from numpy.typing import NDArray

_Float = NDArray[Any]
_Out = NDArray[float64]

def first_bad_row(rows: _Float, tolerance: float, threads: int) -> int: ...
def closed_forms(
    members: _Float,
    max_lower: _Out | None,
    max_upper: _Out | None,
    diameter: _Out | None,
    method: int,
    threads: int,
) -> None: ...
def solve_games(
    payoff: _Float,
    value: _Out,
    gap: _Out,
    weights: _Out | None,
    dual: _Out | None,
    threads: int,
) -> None: ...
def tv_profile(
    members: _Float,
    max_lower: _Out,
    max_upper: _Out,
    diameter: _Out,
    value: _Out,
    gap: _Out,
    threads: int,
) -> None: ...
def instruction_set() -> str: ...
