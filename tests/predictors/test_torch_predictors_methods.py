"""Deep ensembles, dropout, interval heads, and variational networks under several priors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credalens as cl

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import networks  # noqa: E402
from credalens.predictors.torch import (  # noqa: E402
    CredalBayesianEnsemble,
    CredalDeepEnsemble,
    DeepEnsemble,
    IntervalHead,
    MCDropout,
    interval_bounds,
    interval_loss,
    make_bayesian,
)
from credalens.predictors.torch.bayesian import Normal, Prior, kl_divergence  # noqa: E402


def digits():
    return networks.digits(600)


def factory():
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def accuracy(P):
    return (P.argmax(-1).numpy() == digits()[3]).mean()


# ---------------------------------------------------------------- deep ensembles


def test_deep_ensemble():
    X, y, X_test, _ = digits()
    ensemble = DeepEnsemble(factory, 3, epochs=12, learning_rate=0.01, random_state=0).fit((X, y))
    P = ensemble.predict_members(X_test)
    assert P.shape == (200, 3, 10)
    assert all(accuracy(P[:, m]) > 0.85 for m in range(3))
    assert not torch.equal(P[:, 0], P[:, 1])
    assert isinstance(ensemble.predict_credal(X_test), cl.ConvexHull)


# ---------------------------------------------------------------- dropout


def dropping():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 10)
    )


def test_dropout_samples_are_the_networks_own():
    _, _, X, _ = digits()
    model = dropping().train()
    model[0].eval()
    modes = [m.training for m in model.modules()]
    state = {k: v.clone() for k, v in model.state_dict().items()}
    before = torch.get_rng_state()
    P = MCDropout(model, n_samples=4, batch_size=20, random_state=5).predict_members(X)
    assert torch.equal(torch.get_rng_state(), before)
    assert [m.training for m in model.modules()] == modes
    assert all(torch.equal(state[k], v) for k, v in model.state_dict().items())  # running means too
    assert P.shape == (200, 4, 10)
    model.eval()
    model[3].train()
    torch.manual_seed(5)
    with torch.no_grad():  # 80 instances a batch, as there are no gradients to hold
        expected = [
            torch.stack([torch.softmax(model(x), -1) for _ in range(4)], dim=1)
            for x in torch.tensor(X).split(80)
        ]
    torch.testing.assert_close(P, torch.cat(expected))


def test_dropout_is_random_but_seeded():
    _, _, X, _ = digits()
    model = dropping()
    P = MCDropout(model, n_samples=5, random_state=0).predict_members(X)
    assert all(not torch.equal(P[:, 0], P[:, m]) for m in range(1, 5))
    assert torch.equal(P, MCDropout(model, n_samples=5, random_state=0).predict_members(X))
    assert not torch.equal(P, MCDropout(model, n_samples=5, random_state=1).predict_members(X))
    free = MCDropout(model, n_samples=5)
    assert not torch.equal(free.predict_members(X), free.predict_members(X))
    assert free.predict_credal(X).members.shape == (200, 5, 10)


def test_dropout_refusals():
    with pytest.raises(ValueError, match="model: has no dropout layer with p > 0"):
        MCDropout(factory())
    with pytest.raises(ValueError, match="model: has no dropout layer with p > 0"):
        MCDropout(nn.Sequential(nn.Dropout(0.0), factory()))
    with pytest.raises(ValueError, match=r"model: is function; pass a trained nn\.Module"):
        MCDropout(factory)
    with pytest.raises(ValueError, match="n_samples: is 0"):
        MCDropout(dropping(), n_samples=0)


# ---------------------------------------------------------------- interval heads


def literal_interval_softmax(centre, half):
    """The formula, one class at a time, in float64."""
    lower, upper = np.empty_like(centre), np.empty_like(centre)
    for k in range(len(centre)):
        others = np.exp(np.delete(centre, k) - centre.max()).sum()
        for bounds, sign in ((lower, -1), (upper, 1)):
            own = np.exp(centre[k] + sign * half[k] - centre.max())
            bounds[k] = own / (own + others)
    return lower, upper


def head_with(centre, width):
    """A head in float64 whose linear layer says these for any input."""
    head = IntervalHead(1, len(centre)).double()
    with torch.no_grad():
        head.linear.weight.zero_()
        head.linear.bias.copy_(torch.tensor([*centre, *width]))
    return head


numbers = st.floats(-30, 30)


@given(
    st.integers(2, 6).flatmap(lambda k: st.tuples(*[st.lists(numbers, min_size=k, max_size=k)] * 2))
)
def test_interval_softmax(logits):
    centre, width = (np.array(part) for part in logits)
    half = np.logaddexp(0, width)
    ends = head_with(centre, width)(torch.zeros(1, 1, dtype=torch.float64)).detach()
    raw_lower, raw_upper = literal_interval_softmax(centre, half)
    raw = torch.sigmoid(ends[0]).numpy()
    # PyTorch's softplus leaves out what is below 2e-9.
    np.testing.assert_allclose(raw, [raw_lower, raw_upper], rtol=1e-8)
    lower, upper = (bound[0].numpy() for bound in interval_bounds(ends))
    point = np.exp(centre - centre.max()) / np.exp(centre - centre.max()).sum()
    eps = 1e-12
    assert (lower <= upper).all()
    assert (lower <= point + eps).all()
    assert (point <= upper + eps).all()
    assert lower.sum() <= 1 + eps
    assert upper.sum() >= 1 - eps
    # Reachable: each bound leaves room for the others, between theirs.
    assert (lower + upper.sum() - upper >= 1 - eps).all()
    assert (upper + lower.sum() - lower <= 1 + eps).all()
    # And the same set as before, as the library itself narrows it.
    Q = cl.ProbabilityIntervals(raw_lower, raw_upper)
    np.testing.assert_allclose([Q.lower(), Q.upper()], [lower, upper], atol=1e-9)


def test_narrowing_is_needed():
    # By hand: centres 0, only class 0 open by h = log 2. l = (1/5, 1/3, 1/3), u = (1/2, 1/3, 1/3).
    raw_lower, raw_upper = literal_interval_softmax(np.zeros(3), np.array([np.log(2), 0, 0]))
    np.testing.assert_allclose(raw_lower, [1 / 5, 1 / 3, 1 / 3])
    np.testing.assert_allclose(raw_upper, [1 / 2, 1 / 3, 1 / 3])
    ends = torch.logit(torch.tensor(np.stack([raw_lower, raw_upper])))
    lower, upper = interval_bounds(ends)
    np.testing.assert_allclose(lower, [1 / 3] * 3)
    np.testing.assert_allclose(upper, [1 / 3] * 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_logits_stay_finite(dtype):
    centre = torch.tensor([[90.0, -90.0, 0.0], [300.0, 300.0, 0.0], [0.0, 0.0, 0.0]], dtype=dtype)
    head = IntervalHead(6, 3).to(dtype)
    with torch.no_grad():
        head.linear.weight.copy_(torch.eye(6))
        head.linear.bias.zero_()
    x = torch.cat([centre, torch.tensor([[50.0, -50.0, 0.0]], dtype=dtype).expand(3, 3)], dim=1)
    ends = head(x.requires_grad_())
    loss = interval_loss(ends, torch.tensor([1, 2, 0]))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(head.linear.weight.grad).all()
    assert torch.isfinite(x.grad).all()
    lower, upper = interval_bounds(ends.detach())
    assert (lower <= upper).all()
    assert torch.isfinite(lower).all()
    assert torch.isfinite(upper).all()


@pytest.mark.parametrize("hardest", [0.1, 0.5, 1.0])
def test_interval_loss_against_the_definition(hardest):
    rng = np.random.default_rng(0)
    ends = np.sort(rng.normal(size=(9, 2, 4)), axis=1)
    y = rng.integers(4, size=9)
    bounds = 1 / (1 + np.exp(-ends))
    low, high = (-np.log(bounds[np.arange(9), side, y]) for side in (0, 1))
    worst = np.sort(low)[::-1][: max(1, int(hardest * 9))]
    loss = interval_loss(torch.tensor(ends), torch.tensor(y), hardest)
    assert float(loss) == pytest.approx(high.mean() + worst.mean())


def interval_factory():
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), IntervalHead(32, 10))


def test_credal_deep_ensemble():
    X, y, X_test, _ = digits()
    settings = {"epochs": 10, "learning_rate": 0.01, "random_state": 0}
    ensemble = CredalDeepEnsemble(interval_factory, 3, **settings).fit((X, y))
    bounds = ensemble.predict_members(X_test)
    assert bounds.shape == (200, 3, 2, 10)
    Q = ensemble.predict_credal(X_test)
    assert isinstance(Q, cl.ProbabilityIntervals)
    mean = bounds.mean(1)
    torch.testing.assert_close(Q.lower(), mean[:, 0], atol=1e-5, rtol=0)
    torch.testing.assert_close(Q.upper(), mean[:, 1], atol=1e-5, rtol=0)
    # The means of reachable bounds are reachable.
    lower, upper = mean[:, 0], mean[:, 1]
    assert (lower + upper.sum(1, keepdim=True) - upper >= 1 - 1e-5).all()
    assert (upper + lower.sum(1, keepdim=True) - lower <= 1 + 1e-5).all()
    assert accuracy(Q.upper()) > 0.85
    # A distribution in each member's box, averaged, is in the mean box.
    assert Q.contains(torch.softmax(_centres(ensemble, X_test), -1).mean(1)).all()
    # Wider where there is nothing to see.
    noise = np.random.default_rng(0).random((200, 64), np.float32)
    assert cl.imprecision_bound(ensemble.predict_credal(noise)).mean() > 1.5 * (
        cl.imprecision_bound(Q).mean()
    )


def _centres(ensemble, X):
    outputs = []
    with torch.no_grad():
        for member in ensemble.members_:
            outputs.append(member[2].linear(member[:2](torch.tensor(X)))[:, :10])
    return torch.stack(outputs, dim=1)


def test_the_share_of_hard_instances_opens_the_intervals():
    X, y, X_test, _ = digits()
    settings = {"epochs": 8, "learning_rate": 0.01, "random_state": 0}
    width = {}
    for hardest in (0.1, 1.0):
        ensemble = CredalDeepEnsemble(interval_factory, 1, hardest=hardest, **settings).fit((X, y))
        bounds = ensemble.predict_members(X_test)
        width[hardest] = float((bounds[:, :, 1] - bounds[:, :, 0]).mean())
    assert width[0.1] != width[1.0]


def test_interval_refusals():
    X, y, _, _ = digits()
    with pytest.raises(ValueError, match=r"hardest: is 1\.5; pass a number in \(0, 1\]"):
        CredalDeepEnsemble(interval_factory, hardest=1.5)
    with pytest.raises(ValueError, match="n_classes: is 1"):
        IntervalHead(4, 1)
    with pytest.raises(ValueError, match="it must end in an IntervalHead"):
        CredalDeepEnsemble(factory, 1, epochs=1).fit((X, y))
    with pytest.raises(ValueError, match="y: contains class 9, but the model has 3 outputs"):
        CredalDeepEnsemble(lambda: IntervalHead(64, 3), 1, epochs=1).fit((X, y))


# ---------------------------------------------------------------- variational networks


def convolutional():
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular"),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 10),
    )


def test_weights_are_drawn_around_their_means():
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    mean = model.weight.detach().clone()
    make_bayesian(model, initial_scale=0.2)
    draws = torch.stack([model.weight.detach() for _ in range(4000)])
    np.testing.assert_allclose(draws.mean(0), mean, atol=0.02)
    np.testing.assert_allclose(draws.std(0), 0.2, atol=0.01)
    assert torch.equal(model.parametrizations.weight.original, mean)


def test_layers_become_random_and_others_stay():
    model = make_bayesian(convolutional())
    drawn = [name for name, m in model.named_modules() if isinstance(m, Normal)]
    assert drawn == [
        "1.parametrizations.weight.0",
        "1.parametrizations.bias.0",
        "5.parametrizations.weight.0",
        "5.parametrizations.bias.0",
    ]
    x = torch.zeros(2, 64)
    assert not torch.equal(model(x), model(x))
    with pytest.raises(ValueError, match="model: has no linear or convolutional layer"):
        make_bayesian(nn.ReLU())


def test_divergence_against_pytorchs_own():
    torch.manual_seed(0)
    model = make_bayesian(convolutional(), initial_scale=0.3)
    prior = Prior(0.4, 0.7)
    expected = 0.0
    for layer in (model[1], model[5]):
        for name in ("weight", "bias"):
            part = layer.parametrizations[name]
            q = torch.distributions.Normal(part.original, part[0].scale)
            p = torch.distributions.Normal(prior.mean, prior.scale)
            expected = expected + torch.distributions.kl_divergence(q, p).sum()
    torch.testing.assert_close(kl_divergence(model, prior), expected)
    # None from the prior itself.
    same = make_bayesian(nn.Linear(2, 2), initial_scale=0.7)
    with torch.no_grad():
        same.parametrizations.weight.original.fill_(0.4)
        same.parametrizations.bias.original.fill_(0.4)
    assert abs(float(kl_divergence(same, prior).detach())) < 1e-5


def bayesian(**changes):
    settings = {"epochs": 12, "learning_rate": 0.02, "kl_weight": 0.01, "random_state": 0}
    return CredalBayesianEnsemble(factory, 3, 4, **{**settings, **changes})


def test_credal_bayesian_ensemble():
    X, y, X_test, _ = digits()
    ensemble = bayesian().fit((X, y))
    assert [prior.mean for prior in ensemble.priors_] == [0.0, 0.5, 1.0]
    scales = [prior.scale for prior in ensemble.priors_]
    assert len(set(scales)) == 3
    assert all(0.1 <= scale <= 1 for scale in scales)
    P = ensemble.predict_members(X_test)
    assert P.shape == (200, 12, 10)
    assert accuracy(P.mean(1)) > 0.8
    assert all(not torch.equal(P[:, 0], P[:, m]) for m in range(1, 12))
    assert torch.equal(ensemble.predict_members(X_test), P)  # seeded
    assert isinstance(ensemble.predict_credal(X_test), cl.ConvexHull)
    # A sample is one network, whatever the batches are.
    ensemble.batch_size = 7
    torch.testing.assert_close(ensemble.predict_members(X_test), P)


def test_the_prior_pulls():
    X, y, _, _ = digits()

    def weights(mean):
        ensemble = CredalBayesianEnsemble(
            factory, 1, 1, prior_means=(mean, mean), prior_scales=(0.1, 0.1), epochs=4,
            learning_rate=0.02, random_state=0,
        )  # fmt: skip
        return ensemble.fit((X, y)).members_[0][0].parametrizations.weight.original.mean()

    assert weights(-0.5) < weights(0.0) - 0.1 < weights(0.5) - 0.2


def test_bayesian_runs_go_on(tmp_path):
    X, y, X_test, _ = digits()
    whole = bayesian(epochs=2).fit((X, y))
    first = bayesian(epochs=2, checkpoint=tmp_path).fit((X, y))
    (tmp_path / "member-001.pt").unlink()
    again = bayesian(epochs=2, checkpoint=tmp_path).fit((X, y))
    for ensemble in (first, again):
        assert torch.equal(ensemble.predict_members(X_test), whole.predict_members(X_test))
        assert ensemble.priors_ == whole.priors_


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prior_means": (1, 0)}, r"prior_means: is \(1, 0\); pass the smaller number first"),
        ({"prior_means": 3}, "prior_means: is 3; pass two numbers"),
        ({"prior_scales": (0, 1)}, "prior_scales: is 0.0; pass a positive number"),
        ({"kl_weight": 0}, "kl_weight: is 0"),
        ({"n_samples": 0}, "n_samples: is 0"),
    ],
)
def test_bayesian_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        CredalBayesianEnsemble(factory, **changes)
