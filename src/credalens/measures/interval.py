"""The set-valued level of aleatoric uncertainty."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Interval:
    """A batch of closed intervals: all values that the members of each credal set attain.

    Examples
    --------
    >>> import credalens as cl
    >>> au = cl.aleatoric_uncertainty([[0.9, 0.1], [0.3, 0.7]])
    >>> round(float(au.lower), 3), round(float(au.upper), 3), round(float(au.midpoint), 3)
    (0.1, 0.5, 0.3)
    """

    #: Smallest values, ``(...)``.
    lower: Any
    #: Largest values, ``(...)``.
    upper: Any

    @property
    def midpoint(self) -> Any:
        """Middle of the interval."""
        return (self.lower + self.upper) / 2

    @property
    def width(self) -> Any:
        """Upper end minus lower end."""
        return self.upper - self.lower

    def __iter__(self) -> Iterator[Any]:
        return iter((self.lower, self.upper))
