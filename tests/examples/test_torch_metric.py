"""The recipes for TorchMetrics: the page's code block, and the example."""

import importlib.util
import re
from pathlib import Path

import pytest

import credalens as cl

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

ROOT = Path(__file__).parents[2]


def members(n, seed=0, dtype=None):
    logits = torch.randn(n, 5, 4, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    return (2 * logits).softmax(-1)


@pytest.fixture(scope="module")
def recipe():
    """Run the code of the page and return its names."""
    page = (ROOT / "docs" / "howto" / "torchmetrics.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(compile(code, "torchmetrics.md", "exec"), names)
    return names


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location(
        "torchmetrics_metric", ROOT / "examples" / "torchmetrics_metric.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("measure", ["tv", "entropy", "hartley"])
def test_torch_means_over_batches_are_those_of_all_instances(recipe, measure):
    batch = members(101)
    metric = recipe["MeanUncertainty"](measure)
    for part in batch.split(30):  # of unequal sizes: no mean of means
        metric.update(part)
    u = cl.quantify(batch, measure)
    ends = u.aleatoric if measure == "tv" else (u.aleatoric, u.aleatoric)
    wanted = [u.total, *ends, u.epistemic]
    got = metric.compute()
    assert list(got) == ["total", "aleatoric_lower", "aleatoric_upper", "epistemic"]
    for value, numbers in zip(got.values(), wanted, strict=True):
        assert float(value) == pytest.approx(float(numbers.double().mean()), abs=1e-7)


def test_torch_metrics_reset_and_go_on(recipe):
    metric = recipe["MeanUncertainty"]()
    metric.update(members(10))
    metric.reset()
    assert metric.count == 0
    on_step = metric(members(20, 1))
    assert float(on_step["total"]) == pytest.approx(float(metric.compute()["total"]))


def test_torch_metrics_take_sets_and_training_batches(recipe):
    metric = recipe["MeanUncertainty"]()
    metric.update(cl.ProbabilityIntervals.from_members(members(10)))
    metric.update(members(10).requires_grad_())
    assert metric.count == 20
    assert not metric.sums.requires_grad


def test_torch_metrics_add_up_over_processes(recipe):
    """What TorchMetrics does when it gathers: states are summed."""
    one, two, both = (recipe["MeanUncertainty"]() for _ in range(3))
    one.update(members(10, 1))
    two.update(members(30, 2))
    both.update(torch.cat([members(10, 1), members(30, 2)]))
    summed = (one.sums + two.sums) / (one.count + two.count)
    assert torch.allclose(summed, torch.stack(list(both.compute().values())))


@pytest.mark.parametrize("score", ["total", "epistemic"])
def test_torch_rejection_curves_over_batches(example, score):
    batch = members(90, 3)
    target = torch.randint(4, (90,), generator=torch.Generator().manual_seed(4))
    metric = example.RejectionAUC(score)
    for part, labels in zip(batch.split(25), target.split(25), strict=True):
        metric.update(part, labels)
    u = cl.quantify(batch)
    wanted = cl.rejection_curve(target, cl.majority_vote(batch), getattr(u, score)).auc
    assert float(metric.compute()) == pytest.approx(float(wanted), abs=1e-6)


@pytest.mark.slow
def test_the_torch_example_runs(example, capsys):
    example.main()
    area = float(re.search(r"0\.\d+", capsys.readouterr().out).group())
    assert 0.9 < area <= 1
