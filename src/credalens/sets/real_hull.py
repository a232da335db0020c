"""Hulls of predictive distributions of a real-valued target."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from credalens import _validation
from credalens._backend import Array, stop_gradient, to_numpy
from credalens.sets.missing_members import fill_missing, present_members
from credalens.sets.real_queries import RealQueries

if TYPE_CHECKING:
    from credalens.sets.real_normals import RealNormals
    from credalens.sets.real_quantiles import RealQuantiles
    from credalens.sets.real_samples import RealSamples

Missing = Literal["raise", "allow"]


class RealHull(RealQueries):
    """The convex hull of the predictive distributions of M members, for real-valued targets.

    Create it by `from_samples`, `from_quantiles` or `from_normal`. It is not a `CredalSet`, whose
    members are distributions over classes: measures of classes raise ValueError. `quantify`,
    `total_uncertainty`, `aleatoric_uncertainty` and `epistemic_uncertainty` use the Wasserstein
    distance with ``|y - y'|``, in the unit of the target, and ``quantify(Q, "variance")`` the law
    of total variance.

    Notes
    -----
    With the expected absolute error ``g_p(t) = E_p|Y - t|`` of the prediction t::

        total uncertainty    min_t max_p g_p(t)
        aleatoric            [min_p, max_p] of min_t g_p(t), the mean deviation from the median
        epistemic            max_{p,q} W1(p, q) / 2

    By the minimax theorem the upper aleatoric end equals the total uncertainty: unlike the decision
    for a class, a prediction can be any number between those of two members. It is the minimum of a
    convex function of one variable, found by cutting planes. The lines of two members that cross at
    the minimum are its certificate, see `minimax`.

    Weights, missing members, indexing, pickling and array libraries are as in `ConvexHull`.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.RealHull.from_normal(mean=[1.0, 2.0], std=[0.5, 0.5])
    >>> Q
    RealHull(normal, batch_shape=(), n_members=2, dtype=float64)
    >>> u = cl.quantify(Q)
    >>> print(f"{u.total:.3f} {u.aleatoric.lower:.3f} {u.epistemic:.3f}")
    0.583 0.399 0.500
    """

    on_real_line: ClassVar[bool] = True
    truncated: ClassVar[bool] = False
    #: Name of the representation, and of the axis after the members.
    _kind: ClassVar[str]
    _axis_name: ClassVar[str]
    #: The representations, registered by their modules, which import this one.
    _samples_class: ClassVar[type[RealSamples]]
    _quantiles_class: ClassVar[type[RealQuantiles]]
    _normals_class: ClassVar[type[RealNormals]]

    def __new__(cls, *_: Any, **__: Any) -> Self:
        if cls is RealHull:
            raise TypeError(
                "RealHull has no constructor of its own; write RealHull.from_samples(samples), "
                "RealHull.from_quantiles(levels, values) or RealHull.from_normal(mean, std)"
            )
        return super().__new__(cls)

    @staticmethod
    def from_samples(
        samples: Any,
        *,
        axis: int | None = None,
        weights: Any = None,
        mask: Any = None,
        missing: Missing = "raise",
        validate: bool = True,
    ) -> RealSamples:
        """Return the hulls of M empirical distributions of S samples each.

        Parameters
        ----------
        samples : array-like of shape (..., M, S)
            Samples of each member's predictive distribution, in any order and of equal weight.
        axis : int, optional
            Axis of the members, if not the last but one; a sequence of arrays ``(..., S)``, one per
            member, needs ``axis=0``.
        weights : array-like of shape (M,) or (..., M), optional
            Weights of the members, which do not change the set: they are used by the center,
            quantiles of the mixture and the law of total variance.
        mask : array-like of bool, shape (M,) or (..., M), optional
            True for the members that are present. The values of the others are not read.
        missing : {"raise", "allow"}, default="raise"
            With ``"allow"``, members of which all samples are NaN are missing.
        validate : bool, default=True
            ``False`` skips the check that samples are finite.

        Returns
        -------
        RealHull
            Its values are exact, up to rounding. An instance costs O(M S log^2 S + M^2 S).

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.RealHull.from_samples([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
        >>> cl.quantify(Q)
        Uncertainty(total=1.5, aleatoric_lower=0.6667, aleatoric_upper=1.5, epistemic=1.5, error=0)
        """
        return RealHull._samples_class(
            samples, axis=axis, weights=weights, mask=mask, missing=missing, validate=validate
        )

    @staticmethod
    def from_quantiles(
        levels: Any,
        values: Any,
        *,
        axis: int | None = None,
        crossing: Literal["raise", "sort"] = "raise",
        weights: Any = None,
        mask: Any = None,
        missing: Missing = "raise",
        validate: bool = True,
    ) -> RealQuantiles:
        """Return the hulls of M distributions that are given by quantiles.

        Parameters
        ----------
        levels : array-like of shape (L,)
            Increasing levels in [0, 1], the same for all members.
        values : array-like of shape (..., M, L)
            The quantiles of each member. A quantile function is linear between the levels and
            constant outside of them: the tails have their mass at the outer quantiles.
        crossing : {"raise", "sort"}, default="raise"
            What to do about quantiles that decrease, as those of separately fitted quantile
            regressions may: raise ValueError, or sort the quantiles of each member, which brings
            them closer to the true ones (Chernozhukov, Fernandez-Val and Galichon 2010).
        axis, weights, mask, missing, validate
            As in `from_samples`.

        Returns
        -------
        RealHull
            Its values are exact for these quantile functions, up to rounding. An instance costs
            O(M^2 L).

        References
        ----------
        V. Chernozhukov, I. Fernandez-Val, A. Galichon, "Quantile and probability curves without
        crossing", Econometrica 2010.

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.RealHull.from_quantiles([0.05, 0.5, 0.95], [[1.0, 2.0, 3.0], [2.0, 3.0, 5.0]])
        >>> round(float(cl.epistemic_uncertainty(Q)), 4)
        0.6375
        """
        return RealHull._quantiles_class(
            values, levels=levels, crossing=crossing, axis=axis, weights=weights, mask=mask,
            missing=missing, validate=validate,
        )  # fmt: skip

    @staticmethod
    def from_normal(
        mean: Any,
        std: Any,
        *,
        axis: int | None = None,
        weights: Any = None,
        mask: Any = None,
        missing: Missing = "raise",
        validate: bool = True,
    ) -> RealNormals:
        """Return the hulls of M normal distributions.

        Parameters
        ----------
        mean, std : array-like of shape (..., M)
            Means and standard deviations, which broadcast against each other. A standard deviation
            of 0 is a member that is certain of its mean.
        axis : int, optional
            Axis of the members, if not the last: ``axis=0`` for a stack ``(M, n)``.
        weights, mask, missing, validate
            As in `from_samples`; a member is missing if its mean and its standard deviation are
            NaN.

        Returns
        -------
        RealHull
            Distances and expected errors have closed forms: quantile functions are affine in each
            other, so that W1 is the mean of a folded normal distribution. ``return_error=True`` of
            the measures states the error of the minimum and of rounding. An instance costs O(M^2).

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.RealHull.from_normal([[1.0, 2.0], [1.0, 1.0]], [[0.5, 0.5], [0.5, 2.0]])
        >>> cl.epistemic_uncertainty(Q).round(4)
        array([0.5   , 0.5984])
        """
        return RealHull._normals_class.from_parameters(
            mean, std, axis=axis, weights=weights, mask=mask, missing=missing, validate=validate
        )

    # ---------------------------------------------------------------- arrays

    def _prepare_host(
        self, members: Any, mask: Any, missing: str, **options: Any
    ) -> tuple[Array, Array | None]:
        name = self.array_names[0]
        array = _validation.numeric(members, name)
        _validation.check_axes(array, name, ("members", self._axis_name))
        present = present_members(array, mask, missing, name)
        return self._checked(array, present, missing, **options), present

    def _prepare_device(
        self, members: Any, mask: Any, missing: str, **options: Any
    ) -> tuple[Any, Array | None]:
        name = self.array_names[0]
        # Tensors on a device are validated, and measured, on copies in host memory.
        copy = to_numpy(stop_gradient(members), name)
        _, present = self._prepare_host(copy, mask, missing, **options)
        return _validation.native_numeric(members, name), present

    @abstractmethod
    def _checked(
        self, array: Array, present: Array | None, missing: str, *, validate: bool
    ) -> Array:
        """Return a validated array; members that are not present are not read."""

    @cached_property
    def _members(self) -> Array:
        """The members, NaN for those that are missing."""
        array: Array = self._arrays[0]
        return np.asarray(fill_missing(array, self._arrays[2])) if self.backend.ragged else array

    @property
    def n_classes(self) -> int:
        """Raise AttributeError: real-valued targets have no classes."""
        raise AttributeError(
            "RealHull has no classes: its members are distributions on the real line"
        )

    def __repr__(self) -> str:
        return (
            f"RealHull({self._kind}, batch_shape={self.batch_shape}, n_members={self.n_members}, "
            f"{self._repr_present()}{self._repr_size()}dtype={self.dtype})"
        )

    def _repr_size(self) -> str:
        return f"n_{self._axis_name}={self._arrays[0].shape[-1]}, "
