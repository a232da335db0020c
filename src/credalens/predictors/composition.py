"""Members that are given as a list, as one estimator to be cloned, or by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.metaestimators import _BaseComposition

from credalens import _validation
from credalens.predictors import members as _members


def is_sequence(estimators: Any) -> bool:
    """Return whether `estimators` is a list of members."""
    return isinstance(estimators, Sequence) and not isinstance(estimators, str)


class MemberComposition(_BaseComposition):  # type: ignore[misc]
    """An ensemble with ``estimators``, ``n_members``, ``members`` and ``bootstrap``."""

    estimators: Any
    n_members: int
    members: str
    bootstrap: bool

    def _check_composition(self, kind: str) -> None:
        """Raise for invalid members; `kind` is what has trees as members."""
        _validation.one_of(self.members, "members", ("estimators", "trees"))
        _validation.whole_number(self.n_members, "n_members", least=1)
        if not is_sequence(self.estimators):
            return
        if len(self.estimators) == 0:
            _validation.raise_invalid("estimators", "is empty", "pass at least one estimator")
        if self.members == "trees":
            _validation.raise_invalid(
                "estimators", "is a list, members are 'trees'", f"pass one {kind}"
            )

    def _default_pairs(self, rng: np.random.RandomState) -> list[tuple[str, Any]]:
        """Return the members, and their names, if there are no ``estimators``."""
        raise NotImplementedError

    def _default_prototype(self) -> Any:
        """Return an estimator with the tags of the default members."""
        raise NotImplementedError

    def _pairs(self, rng: np.random.RandomState) -> list[tuple[str, Any]]:
        """Return the unfitted members and their names."""
        if is_sequence(self.estimators):
            pairs = _members.with_names(self.estimators)
            self._validate_names([name for name, _ in pairs])
            return [(n, _members.seeded(e, rng, reseed=False)) for n, e in pairs]
        if self.estimators is not None and self.members == "trees":
            return [("ensemble", _members.seeded(self.estimators, rng, reseed=False))]
        if self.estimators is not None:
            self._check_clones_differ()
            one, count = self.estimators, self.n_members
            clones = [_members.seeded(one, rng, reseed=True) for _ in range(count)]
            return _members.with_names(clones)
        pairs = self._default_pairs(rng)
        if _routing_enabled():  # users cannot request weights for forests created here
            for _, forest in pairs:
                forest.set_fit_request(sample_weight=True)
        return pairs

    def _check_clones_differ(self) -> None:
        seeds = any(_members.is_seed(key) for key in self.estimators.get_params(deep=True))
        if not seeds and not self.bootstrap and self.n_members > 1:
            _validation.raise_invalid(
                "estimators",
                f"{type(self.estimators).__name__} has no random_state: its clones are all equal",
                "pass bootstrap=True, or a list of different estimators",
            )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, including those of named members as ``name__parameter``."""
        if _members.named(self.estimators) is None:
            return dict(super().get_params(deep=deep))
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including those of named members as ``name__parameter``."""
        if _members.named(params.get("estimators", self.estimators)) is None:
            super().set_params(**params)
        else:
            self._set_params("estimators", **params)
        return self

    def _prototypes(self) -> list[Any]:
        """Return estimators with the tags of the members."""
        members = self._default_prototype() if self.estimators is None else self.estimators
        return [e for _, e in _members.with_names(members)] if is_sequence(members) else [members]
