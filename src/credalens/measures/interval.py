"""The set-valued level of aleatoric uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from credalens import _validation


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

    def __init__(self, lower: Any, upper: Any) -> None:
        # What a frozen dataclass does takes longer, which a single instance would notice.
        ends = self.__dict__
        ends["lower"], ends["upper"] = lower, upper

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


#: Summaries by name; the paper's endpoint summary, "interval", loses nothing.
SUMMARIES: dict[str, Callable[[Interval], Any]] = {
    "lower": lambda interval: interval.lower,
    "upper": lambda interval: interval.upper,
    "midpoint": lambda interval: interval.midpoint,
    "width": lambda interval: interval.width,
    "interval": lambda interval: interval,
}


def summarize(interval: Interval, how: str | Callable[[Interval], Any] = "interval") -> Any:
    """Return a summary of aleatoric uncertainty.

    Quantifying gives an interval; a task that needs one number per instance, say to rank them, must
    choose how to read it, and says so here.

    Parameters
    ----------
    interval : Interval
        What `aleatoric_uncertainty` returns.
    how : {"lower", "upper", "midpoint", "width", "interval"} or callable, default="interval"
        ``"interval"`` keeps both ends; a function is given the `Interval`.

    Returns
    -------
    array, Interval, or what the function returns

    References
    ----------
    González-García et al. (2026), section 4, "Aleatoric uncertainty", where it is the operator Phi.

    Examples
    --------
    >>> import credalens as cl
    >>> au = cl.aleatoric_uncertainty([[0.9, 0.1], [0.3, 0.7]])
    >>> round(float(cl.summarize(au, "midpoint")), 3)
    0.3
    >>> round(float(cl.summarize(au, lambda i: 0.9 * i.upper + 0.1 * i.lower)), 3)
    0.46
    """
    if not isinstance(interval, Interval):
        _validation.refuse(
            "interval", f"is a {type(interval).__name__}", "pass what aleatoric_uncertainty returns"
        )
    if callable(how):
        return how(interval)
    return SUMMARIES[_validation.one_of(how, "how", SUMMARIES)](interval)
