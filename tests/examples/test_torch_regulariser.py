"""The example of training with epistemic uncertainty: what it trains, and the page it writes."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

EXAMPLE = Path(__file__).parents[2] / "examples" / "epistemic_regulariser.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("epistemic_regulariser", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    torch.set_num_threads(1)
    yield module
    del sys.modules[spec.name]


def test_torch_task_keeps_unknown_digits_out(example):
    task = example.make_task(4)
    assert set(task.labels.tolist()) == set(task.test_labels.tolist()) == set(range(7))
    assert len(task.images) + len(task.test_images) + len(task.unknown["excluded"]) == 1797
    first = task.test_images[0].reshape(8, 8)
    rotated = task.unknown["rotated"][0].reshape(8, 8)
    assert torch.equal(rotated, torch.rot90(first))
    assert all(images.shape[1] == 64 for images in task.unknown.values())


@pytest.mark.slow
def test_torch_weight_raises_disagreement_outside_of_the_data(example):
    task = example.make_task(0)
    shuffled = example.outside_of_data(task.images, "shuffled")
    assert torch.equal(shuffled.sort(1).values, task.images.sort(1).values)
    off = []
    for weight in (0.0, 1.0):
        ensemble = example.train(task, "shuffled", weight, seed=0, steps=60)
        accuracy, *areas = example.evaluate(ensemble, task)
        assert accuracy > 0.8
        assert all(0 <= area <= 1 for area in areas)
        with torch.no_grad():
            off.append(float(example.epistemic(ensemble(shuffled)).mean()))
    assert off[1] > off[0] + 0.1


def test_torch_page_gives_means_and_paired_gains(example):
    results = np.full((len(example.SETTINGS), 2, len(example.COLUMNS)), 0.5)
    results[1, 0], results[1, 1], results[2] = 0.6, 0.8, 0.4
    page = example.table(results, [2.0, 4.0, *[8.0] * (len(example.SETTINGS) - 2)])
    assert "| shuffled | 0.1 | 0.700 ± 0.141 |" in page
    assert "| 2.0 |" in page
    assert "| shuffled | 0.1 | +0.200 ± 0.141, better in 2, worse in 0 |" in page
    assert "| shuffled | 1 | -0.100 ± 0.000, better in 0, worse in 2 |" in page
