"""Total variation in tensor operations only, for compilers and transformations of PyTorch.

`torch.compile`, `torch.export` and the transformations of `torch.func` trace tensors, which then
have no values: nothing is validated, and no kernel can read them. These functions replace the
measures of the same names there. They are differentiable; where choices tie, the gradient is the
mean of those of the choices.
"""

from __future__ import annotations

from typing import Any, NoReturn

from credalens._backend import half_kind
from credalens.distances import Distance, TotalVariation


def total(Q: Any, distance: str | Distance = "tv", *, return_error: bool = False) -> Any:
    """Return ``1 - max_y min_m p_m(y)`` of tensors ``(..., M, K)``."""
    members = _members(Q, distance, "total_uncertainty")
    value = (1 - members.amin(-2).amax(-1)).clamp(min=0)
    return (value, value.new_zeros(value.shape)) if return_error else value


def aleatoric(
    Q: Any,
    distance: str | Distance = "tv",
    *,
    end: str = "both",
    return_error: bool = False,
) -> Any:
    """Return the lower end, ``1 - max_m max_y p_m(y)``, of tensors ``(..., M, K)``."""
    members = _members(Q, distance, "aleatoric_uncertainty")
    if end != "lower":
        _raise("the upper aleatoric end is the value of a matrix game", "pass end='lower'")
    value = (1 - members.amax((-2, -1))).clamp(min=0)
    return (value, value.new_zeros(value.shape)) if return_error else value


def epistemic(Q: Any, distance: str | Distance = "tv", *, return_error: bool = False) -> Any:
    """Return ``max_{m, n} sum_y |p_m(y) - p_n(y)| / 4`` of tensors ``(..., M, K)``."""
    members = _members(Q, distance, "epistemic_uncertainty")
    wide = members.double() if members.device.type != "mps" else members
    n_members = members.shape[-2]
    widest = wide.new_zeros(wide.shape[:-2])
    # A compiler fuses each step into one pass, without an array of differences.
    for m in range(1, n_members):
        differences = (wide[..., m:, :] - wide[..., : n_members - m, :]).abs()
        widest = widest.maximum(differences.sum(-1).amax(-1))
    value = (widest / 4).to(members.dtype)
    return (value, value.new_zeros(value.shape)) if return_error else value


def _members(Q: Any, distance: str | Distance, name: str) -> Any:
    """Return the members, in single precision if they are in half precision."""
    if not (isinstance(distance, TotalVariation) or distance == "tv"):
        _raise(f"{name} of this distance is not traced", "use 'tv'")
    return Q.float() if half_kind(Q) else Q


def _raise(problem: str, fix: str) -> NoReturn:
    raise ValueError(f"Q: is traced by PyTorch, and {problem}; {fix}, or call it outside")
