"""What every predictor of networks does with its credal sets: labels, uncertainty, accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from credalens._validation import raise_invalid
from credalens.decisions import admissible
from credalens.decisions.rules import AdmissibilityRule
from credalens.measures import quantify
from credalens.predictors.torch.data import Data, as_data
from credalens.predictors.torch.inputs import count
from credalens.predictors.torch.training import labels


class NetworkPredictor:
    """Predictions of networks; subclasses implement `predict_members` and `_as_credal`.

    ``data`` is an array or a tensor, a dict of these for networks with several inputs, a pair
    ``(X, y)``, a Dataset or a DataLoader. The dataset of a loader is predicted as a whole and in
    order. Labels are ignored except by `score`.
    """

    batch_size: int

    def predict_members(self, data: Any) -> Any:
        """Return the predictions of all members, a tensor ``(N, M, K)`` on the CPU."""
        raise NotImplementedError

    def _as_credal(self, members: Any) -> Any:
        """Return the credal sets of the members' predictions."""
        raise NotImplementedError

    def predict_credal(self, data: Any) -> Any:
        """Return the credal set of each instance; `data` as in `predict_members`."""
        return self._as_credal(self.predict_members(data))

    def predict_proba(self, data: Any) -> Any:
        """Return one distribution of each credal set, a tensor ``(N, K)``.

        The mean of the members; for probability intervals their intersection probability.
        """
        return self.predict_credal(data).center()

    def predict(self, data: Any) -> Any:
        """Return the most probable class of `predict_proba`, a tensor of int ``(N,)``."""
        return self.predict_proba(data).argmax(dim=-1)

    def predict_uncertainty(self, data: Any, measure: Any = "tv", **options: Any) -> Any:
        """Return total, aleatoric and epistemic uncertainty of each instance.

        Parameters
        ----------
        data : array-like, tensor, dict, pair (X, y), Dataset or DataLoader
            As in `predict_members`.
        measure : str, distance, or a sequence of these, default="tv"
            As in `credalens.quantify`, which also accepts the further options.

        Returns
        -------
        Uncertainty, or a dict of them for a sequence of measures
            Of tensors ``(N,)``.
        """
        return quantify(self.predict_credal(data), measure, **options)

    def predict_set(
        self, data: Any, rule: AdmissibilityRule = "e_admissible", *, cost: Any = None
    ) -> Any:
        """Return a set of labels for each instance, a tensor of bool ``(N, K)``.

        Parameters
        ----------
        data : array-like, tensor, dict, pair (X, y), Dataset or DataLoader
            As in `predict_members`.
        rule, cost
            As in `credalens.admissible`.
        """
        return admissible(self.predict_credal(data), cost, rule)

    def score(self, data: Any) -> float:
        """Return the accuracy of `predict`.

        Parameters
        ----------
        data : pair (X, y), dict with labels, Dataset or DataLoader
            Instances with class indices.
        """
        labelled = as_data(data, self.batch_size, labels=True)
        known = _Labels(labelled)
        predicted = self.predict(known)
        return float((predicted == torch.cat(known.seen)).double().mean())


class _Labels:
    """Data whose labels are kept while its batches are read, so that these are read once."""

    def __init__(self, data: Data) -> None:
        self._data, self.seen = data, list[Any]()

    def __len__(self) -> int:
        return len(self._data)

    def in_order(self) -> Any:
        """Yield the batches."""
        self.seen.clear()
        for x, y in self._data.in_order():
            self.seen.append(labels(y, count(x), torch.device("cpu")))
            yield x, y


def predict_batches(predict: Callable[[Any], Any], data: Any, batch_size: int) -> Any:
    """Return ``predict(x)`` of all batches as one tensor on the CPU."""
    known = data if isinstance(data, _Labels) else as_data(data, batch_size, labels=False)
    with torch.no_grad():
        return torch.cat([predict(x).cpu() for x, _ in known.in_order()])


def softmax(outputs: Any) -> Any:
    """Return probabilities, at least in float32."""
    return torch.softmax(outputs, -1, torch.promote_types(outputs.dtype, torch.float32))


def load_network(model: Any, state: Any, name: str) -> Any:
    """Load the state of a network; raise ValueError if it does not fit."""
    try:
        model.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError, KeyError) as error:
        reason = " ".join(str(error).split())
        raise_invalid(
            name,
            f"does not fit the network ({reason[:200]})",
            "pass the state of the same networks",
        )
    return model


def check_state(state: Any, method: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the state of a predictor; raise ValueError if it is that of another one."""
    if not isinstance(state, dict) or not {"method", "members"} <= state.keys():
        raise_invalid("state", "has no 'method' and 'members'", "pass what state_dict() returned")
    missing = set(names) - set(state.get("attributes", {}))
    if state["method"] != method or missing:
        raise_invalid(
            "state",
            f"is that of {state['method']}, not of {method}",
            "pass what state_dict() returned",
        )
    return state
