"""What all predictors of networks have: labels, uncertainty, accuracy, states, named inputs."""

import copy
import functools
import io
from types import SimpleNamespace

import numpy as np
import pytest

import credalens as cl

torch = pytest.importorskip("torch")

from sklearn.exceptions import NotFittedError  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Dataset, TensorDataset  # noqa: E402

from credalens.predictors.torch import (  # noqa: E402
    CredalBayesianEnsemble,
    CredalDeepEnsemble,
    DeepEnsemble,
    IntervalHead,
    MCDropout,
    RelativeLikelihoodEnsemble,
)

generator = torch.Generator().manual_seed(0)
X = torch.randn(90, 6, generator=generator)
Y = (X[:, 0] > 0).long() + (X[:, 1] > 1).long()


def factory():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))


def lazy():
    return nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.Linear(8, 3))


def interval():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), IntervalHead(8, 3))


SETTINGS = {"epochs": 2, "learning_rate": 0.01, "random_state": 0}
MAKE = {
    "deep": lambda: DeepEnsemble(factory, 2, **SETTINGS),
    "lazy": lambda: DeepEnsemble(lazy, 2, **SETTINGS),
    "levels": lambda: RelativeLikelihoodEnsemble(factory, levels=(0.2,), bias=2.0, **SETTINGS),
    "bayesian": lambda: CredalBayesianEnsemble(factory, 2, 3, **SETTINGS),
    "interval": lambda: CredalDeepEnsemble(interval, 2, **SETTINGS),
    "dropout": lambda: MCDropout(fitted("deep").members_[0], 4, random_state=0),
}


@functools.cache
def fitted(name):
    made = MAKE[name]()
    return made if name == "dropout" else made.fit((X, Y))


@pytest.mark.parametrize("name", MAKE)
def test_predictions_follow_from_the_credal_sets(name):
    model = fitted(name)
    Q = model.predict_credal(X)
    P = model.predict_proba(X)
    assert torch.equal(P, Q.center())
    predicted = model.predict(X)
    assert torch.equal(predicted, P.argmax(-1))
    assert predicted.dtype == torch.int64
    expected = float((predicted == Y).double().mean())
    every = [(X, Y), (X.numpy(), Y.numpy()), TensorDataset(X, Y)]
    if name != "dropout":  # whose samples depend on the size of batches
        every.append(DataLoader(TensorDataset(X, Y), batch_size=7, shuffle=True))
    for data in every:
        assert model.score(data) == pytest.approx(expected, abs=1e-15)
        assert torch.equal(model.predict(data), predicted)
    u = model.predict_uncertainty(X, ["tv", "entropy"])
    assert torch.equal(u["tv"].total, cl.quantify(Q).total)
    assert torch.equal(u["entropy"].epistemic, cl.quantify(Q, "entropy").epistemic)
    assert torch.equal(model.predict_set(X, "maximal"), cl.admissible(Q, rule="maximal"))


@pytest.mark.parametrize("name", MAKE)
def test_a_saved_state_gives_the_same_predictions(name):
    model, file = fitted(name), io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    before = torch.get_rng_state()
    if name == "dropout":
        new = MCDropout(factory(), 4, random_state=0)
    else:
        new = MAKE[name]()
        with pytest.raises(NotFittedError):
            new.state_dict()
        before = torch.get_rng_state()
    assert new.load_state_dict(state) is new
    if name != "dropout":
        assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(new.predict_members(X), model.predict_members(X))
    fields = {k: v for k, v in vars(model).items() if k.endswith("_") and k != "members_"}
    assert {k: vars(new)[k] for k in fields} == fields


def test_states_of_other_predictors_raise():
    state = fitted("deep").state_dict()
    with pytest.raises(ValueError, match=r"^state: is that of DeepEnsemble, not of Relative"):
        MAKE["levels"]().load_state_dict(state)
    with pytest.raises(ValueError, match=r"^state: has no 'method'"):
        MAKE["deep"]().load_state_dict({})
    with pytest.raises(ValueError, match=r"^state\['members'\]\[0\]: does not fit the network"):
        DeepEnsemble(lambda: nn.Linear(6, 3), 2).load_state_dict(state)


def test_representations():
    assert repr(DeepEnsemble(factory)) == "DeepEnsemble(not fitted)"
    assert repr(fitted("deep")) == (
        "DeepEnsemble(n_members=2, epochs=2, learning_rate=0.01, random_state=0, 2 members)"
    )
    assert repr(fitted("bayesian")).startswith("CredalBayesianEnsemble(n_priors=2, n_samples=3, ")
    assert repr(fitted("dropout")) == (
        "MCDropout(Sequential, n_samples=4, batch_size=64, random_state=0)"
    )


def test_a_score_needs_labels():
    with pytest.raises(ValueError, match="data: has no labels"):
        fitted("deep").score(X)


# ---------------------------------------------------------------- named inputs


class Text(nn.Module):
    """A network with the inputs, and the outputs, of models of language."""

    def __init__(self):
        super().__init__()
        self.embedding, self.last = nn.Embedding(12, 8), nn.Linear(8, 3)

    def forward(self, input_ids, attention_mask):
        words = self.embedding(input_ids) * attention_mask[..., None]
        return SimpleNamespace(logits=self.last(words.sum(1) / attention_mask.sum(1)[:, None]))


IDS = torch.randint(12, (90, 5), generator=generator)
MASK = (torch.arange(5) < torch.randint(1, 6, (90, 1), generator=generator)).float()
WORDS = (IDS[:, 0] > 5).long() + (IDS[:, 0] > 9).long()
INPUTS = {"input_ids": IDS, "attention_mask": MASK}


class Rows(Dataset):
    """Rows as dicts, with their labels or as pairs."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __len__(self):
        return len(IDS)

    def __getitem__(self, i):
        row = {name: values[i] for name, values in INPUTS.items()}
        return (row, WORDS[i]) if self.pairs else {**row, "labels": int(WORDS[i])}


@pytest.mark.parametrize("method", [DeepEnsemble, RelativeLikelihoodEnsemble])
def test_dicts_of_inputs(method):
    options = {"n_members": 2} if method is DeepEnsemble else {"levels": (0.3,), "bias": 2.0}
    settings = {**SETTINGS, "epochs": 8, "learning_rate": 0.05, **options}
    model = method(Text, **settings).fit((INPUTS, WORDS))
    expected = model.predict_members(INPUTS)
    assert model.score((INPUTS, WORDS)) > 0.5
    arrays = {name: values.numpy() for name, values in INPUTS.items()}
    others = (
        ((arrays, WORDS.numpy())), {**INPUTS, "labels": WORDS}, Rows(True), Rows(False),
        DataLoader(Rows(False), batch_size=8, shuffle=True),
    )  # fmt: skip
    for data in others:
        assert torch.equal(model.predict_members(data), expected)
        assert model.score(data) == model.score((INPUTS, WORDS))
    again = method(Text, **settings).fit({**INPUTS, "label": WORDS})
    assert torch.equal(again.predict_members(INPUTS), expected)
    method(Text, **settings).fit(DataLoader(Rows(False), batch_size=8))


def test_a_checkpoint_depends_on_every_input(tmp_path):
    settings = {**SETTINGS, "checkpoint": tmp_path / "run"}
    DeepEnsemble(Text, 1, **settings).fit((INPUTS, WORDS))
    other = {**INPUTS, "attention_mask": torch.ones_like(MASK)}
    with pytest.raises(ValueError, match="data was"):
        DeepEnsemble(Text, 1, **settings).fit((other, WORDS))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (({**INPUTS, "attention_mask": MASK[:3]}, WORDS), r"^X: has numbers of rows .*: 3\}"),
        (({}, WORDS), "^X: is an empty dict"),
        (({"input_ids": ["a"] * 90}, WORDS), r"^X\['input_ids'\]: is not numeric"),
        (({"input_ids": 3}, WORDS), r"^X\['input_ids'\]: is a single number"),
        (INPUTS, "^data: has no labels"),
        ((INPUTS, WORDS[:4]), r"^y: has shape \(4,\) for 90 instances"),
        ((INPUTS["input_ids"].float(), WORDS[:, None]), r"^y: has shape \(90, 1\)"),
    ],
)
def test_named_inputs_that_do_not_fit(data, message):
    with pytest.raises(ValueError, match=message):
        DeepEnsemble(Text, 1, **SETTINGS).fit(data)


def test_infinite_entries_of_any_input_are_found():
    spoilt = {**INPUTS, "attention_mask": copy.copy(MASK)}
    spoilt["attention_mask"] = MASK * np.nan
    with pytest.raises(ValueError, match="data: contains NaN or infinity"):
        DeepEnsemble(Text, 1, **SETTINGS).fit((spoilt, WORDS))


def test_outputs_that_are_no_logits():
    class Wrong(Text):
        def forward(self, **inputs):
            return SimpleNamespace(hidden=super().forward(**inputs).logits)

    with pytest.raises(ValueError, match=r"maps \{'input_ids': \(.* to SimpleNamespace"):
        DeepEnsemble(Wrong, 1, **SETTINGS).fit((INPUTS, WORDS))
