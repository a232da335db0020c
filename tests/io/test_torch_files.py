"""Tensors that ``torch.save`` wrote."""

import numpy as np
import pytest

import credalens as cl
import real_files as real
from prediction_files import call, read

torch = pytest.importorskip("torch")
MEMBERS = real.MEMBERS


def saved(folder, make):
    return real.each(folder, "m{}.pt", lambda path, m: torch.save(make(m), path))


@pytest.mark.parametrize(
    ("make", "tolerance"),
    [
        (lambda m: torch.from_numpy(MEMBERS[:, m].copy()), 0),
        (lambda m: {"logits": torch.from_numpy(real.LOGITS[:, m].copy()), "epoch": 3}, 1e-12),
        (lambda m: {"probs": torch.from_numpy(MEMBERS[:, m].copy()).bfloat16()}, 2e-2),
        (lambda m: [torch.from_numpy(MEMBERS[:, m].copy())], 0),
        (lambda m: {"val": {"probs": torch.from_numpy(MEMBERS[:, m].copy())}, "args": [1]}, 0),
    ],
    ids=["tensor", "dict", "bfloat16", "list", "nested"],
)
def test_predictions(make, tolerance, tmp_path):
    call("score", *saved(tmp_path, make), "-o", tmp_path / "s.npz")
    found = read(tmp_path / "s.npz")["tv_total"]
    assert np.allclose(found, cl.total_uncertainty(MEMBERS), rtol=0, atol=tolerance)


def test_labels_with_them(tmp_path):
    paths = saved(
        tmp_path,
        lambda m: {
            "softmax": torch.from_numpy(MEMBERS[:, m].copy()),
            "targets": torch.from_numpy(real.LABELS),
        },
    )
    call("score", *paths, "-o", tmp_path / "s.npz")
    right = cl.majority_vote(MEMBERS) == real.LABELS
    assert np.array_equal(read(tmp_path / "s.npz")["correct"], right)


def test_other_objects_are_not_loaded(tmp_path):
    (path, *_) = saved(tmp_path, lambda m: {"probs": torch.ones(2, 2), "folder": tmp_path})
    message = call("score", path, "-q", code=2).stderr
    assert "m0.pt: contains Python objects besides tensors, which are not loaded because" in message


def test_a_list_of_batches_or_models(tmp_path):
    P = torch.from_numpy(MEMBERS.copy())
    (path, *_) = saved(tmp_path, lambda m: [P[:15, m], P[15:, m]])
    message = call("score", path, "-q", code=2).stderr
    assert (
        "m0.pt: contains a list of 2 tensors (15, 3), (25, 3); save torch.cat(list) if" in message
    )
    for make in (lambda m: torch.cat([P[:15, m], P[15:, m]]), lambda m: P[:, m]):
        call("score", *saved(tmp_path, make), "-o", tmp_path / "s.npz")
        found = read(tmp_path / "s.npz")["tv_total"]
        assert np.allclose(found, cl.total_uncertainty(MEMBERS), rtol=0, atol=1e-15)
    torch.save(torch.stack([P[:, 0], P[:, 1], P[:, 2]], 1), path)
    call("score", path, "-o", tmp_path / "s.npz")
    assert np.allclose(read(tmp_path / "s.npz")["tv_total"], found)


def test_a_checkpoint_has_no_predictions(tmp_path):
    (path, *_) = saved(tmp_path, lambda m: {"conv.weight": torch.ones(2, 3, 4, 5)})
    message = call("score", path, "-q", code=2).stderr
    assert "contains conv.weight (2, 3, 4, 5); save predictions (rows, classes)" in message
