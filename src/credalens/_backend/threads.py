"""The number of threads of the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from credalens import _kernels


def get_num_threads() -> int:
    """Return the largest number of threads that a call uses.

    Returns
    -------
    int
        The first of these that is set: the number of `set_num_threads`; the environment variable
        ``CREDALENS_NUM_THREADS``; ``OMP_NUM_THREADS``, which joblib and Dask set in their workers;
        the number of CPUs that the affinity and the control group of the process allow.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.get_num_threads() >= 1
    True
    """
    return _kernels.default_num_threads()


def set_num_threads(n: int | None) -> None:
    """Set the largest number of threads that a call uses, for this process.

    Parameters
    ----------
    n : int or None
        At least 1; None restores the default, see `get_num_threads`.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.set_num_threads(1)
    >>> cl.get_num_threads()
    1
    >>> cl.set_num_threads(None)
    """
    if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
        raise ValueError(f"n: is {n!r}; pass a whole number >= 1, or None for the default")
    global _limit
    _limit = n
    _kernels.set_num_threads(n or 0)


@contextmanager
def limit_threads(n: int) -> Iterator[None]:
    """Limit the number of threads in a ``with`` block, or in a function as its decorator.

    Parameters
    ----------
    n : int
        At least 1. The limit holds for all Python threads of the process.

    Examples
    --------
    >>> import credalens as cl
    >>> with cl.limit_threads(1):
    ...     u = cl.quantify([[0.6, 0.4], [0.2, 0.8]])
    """
    previous = _limit
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(previous)


#: The number of `set_num_threads`.
_limit: int | None = None
