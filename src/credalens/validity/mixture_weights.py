"""Maximum-likelihood weights of a mixture of members."""

from __future__ import annotations

import numpy as np

from credalens._backend import Array

#: Largest duality gap, per instance, of the log-likelihood of constant weights.
EM_GAP = 1e-9
#: Largest number of steps; the likelihood increases with every step.
EM_STEPS = 5000


def constant_weights(likelihoods: Array, start: Array | None = None) -> Array:
    """Return the weights w that maximise ``sum_i log(sum_m w_m L_im)``, ``(..., M)``.

    Expectation-maximisation from uniform weights, or from `start`, for likelihoods ``(..., n, M)``
    of the labels. The mean log-likelihood of w is within ``log(max_m g_m)`` of the largest, where
    ``g_m = mean_i L_im / (L w)_i``. Instances of likelihood 0 under all members are left out.

    Examples
    --------
    >>> import numpy as np
    >>> constant_weights(np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.4]])).round(3)
    array([0.847, 0.153])
    """
    L = np.asarray(likelihoods, np.float64)
    largest = L.max(axis=-1, keepdims=True)
    L = L / np.where(largest > 0, largest, 1.0)
    counts = (largest[..., 0] > 0).sum(axis=-1)[..., None]
    M = L.shape[-1]
    w = np.full((*L.shape[:-2], M), 1 / M) if start is None else np.array(start, np.float64)
    for _ in range(EM_STEPS):
        mixture = (L @ w[..., None])[..., 0]
        shares = np.divide(1.0, mixture, out=np.zeros_like(mixture), where=mixture > 0)
        gain = (shares[..., None, :] @ L)[..., 0, :] / np.maximum(counts, 1)
        if gain.max(initial=0.0) <= 1 + EM_GAP:
            break
        w = w * gain
        w /= w.sum(axis=-1, keepdims=True)
    return w
