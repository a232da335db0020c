"""The ensemble of Figures 3 and 4: networks of growing relative likelihood, trained once."""

from __future__ import annotations

import importlib
import time
import warnings
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens._files import replacing
from credalens.datasets import Images, Predictions, load_images
from credalens.experiments.networks import SMALL, find_factory, standardized
from credalens.experiments.pieces import check_settings, keep_settings

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Size:
    """How much is trained, and how often a member's likelihood is looked at."""

    #: Images taken from the front of each part; None takes all.
    n_train: int | None = None
    n_test: int | None = None
    #: Of the maximum-likelihood model, and at most of any other.
    epochs: int = 8
    member_epochs: int = 24
    batch_size: int = 128
    learning_rate: float = 1e-3
    #: How far members are pushed towards a class at first. 100 is the value of the method's
    #: authors, from which so small a network recovers too slowly to reach the upper levels.
    bias: float = 10.0
    #: "epoch", as the method's authors do, "batch", or so many batches. Within the first epoch a
    #: member passes most of the levels: looked at more often, it stops where it is asked to, and
    #: the lower levels get members that have hardly learnt anything.
    check_every: str | int = "epoch"


FULL = Size()
QUICK = Size(n_train=10_000, n_test=2_000)


@dataclass(frozen=True)
class Settings:
    """What decides the numbers of an ensemble."""

    dataset: str = "fashion-mnist"
    backbone: str = SMALL
    levels: tuple[float, ...] = LEVELS
    seed: int = 0
    size: Size = FULL

    def describe(self) -> dict[str, Any]:
        """Return it as it is written beside the results."""
        content = asdict(self)
        return {**content.pop("size"), **content, "levels": list(self.levels)}


@dataclass(frozen=True, eq=False)
class Trained:
    """The members' predictions of the test images, by growing level, and how they came to be."""

    settings: Settings
    predictions: Predictions
    class_names: tuple[str, ...]
    levels: Array
    relative_likelihoods: Array
    #: Class to which each member was pushed at first; -1 for the maximum-likelihood model.
    pushed: Array
    #: Levels without a member.
    unreached: Array
    n_train: int
    #: Of the clock and of the processor; not known of a training that was interrupted.
    seconds: float
    processor_seconds: float

    @property
    def accuracies(self) -> Array:
        """Accuracy of each member on the test images."""
        best = self.predictions.members.argmax(axis=2)
        return np.asarray(np.mean(best == self.predictions.labels[:, None], axis=0))  # type: ignore[index]


def obtain(
    settings: Settings,
    folder: Path,
    *,
    data: str | Path | None = None,
    device: str | None = None,
    progress: bool | None = None,
) -> Trained:
    """Return the ensemble in `folder`; train what is not there yet.

    A finished ensemble needs neither the images nor PyTorch. One that was interrupted goes on from
    its last epoch.

    Parameters
    ----------
    settings : Settings
        A folder that holds an ensemble with other settings is refused.
    folder : Path
    data : str or Path, optional
        A folder with the images; see `load_images`.
    device : str, optional
        Such as ``cuda``; the CPU by default.
    progress : bool, optional
        A progress bar; by default on a terminal only.
    """
    described = folder / "settings.json", settings.describe(), "an ensemble", "--ensemble"
    check_settings(*described)
    path = folder / "predictions.npz"
    if not path.exists():
        images = _cut(load_images(settings.dataset, data), settings.size)
        # Without PyTorch or the network there will be no training, and no folder is made for it.
        importlib.import_module("credalens.predictors.torch")
        find_factory(settings.backbone)
        keep_settings(*described)
        fitted, times = _fit(settings, images, folder / "checkpoints", device, progress)
        _write(path, fitted, images, times)
    return _read(path, settings)


def _cut(images: Images, size: Size) -> Images:
    train, test = slice(size.n_train), slice(size.n_test)
    return Images(
        images.name,
        images.train[train],
        images.train_labels[train],
        images.test[test],
        images.test_labels[test],
        images.class_names,
    )


def _fit(
    settings: Settings, images: Images, checkpoint: Path, device: str | None, progress: bool | None
) -> tuple[Any, tuple[float, float]]:
    """Return the fitted ensemble, and the seconds of the clock and of the processor."""
    from credalens.predictors.torch import RelativeLikelihoodEnsemble

    size = settings.size
    factory = find_factory(settings.backbone)
    # In float64 a colour at a time: all of SVHN at once would take gigabytes.
    colours = [images.train[:, i] for i in range(images.train.shape[1])]
    mean = [float(colour.mean()) for colour in colours]
    spread = [float(colour.std()) or 1.0 for colour in colours]
    shape, classes = images.train.shape[1:], len(images.class_names)
    ensemble = RelativeLikelihoodEnsemble(
        lambda: standardized(factory(shape, classes), mean, spread),
        levels=settings.levels,
        bias=size.bias,
        epochs=size.epochs,
        member_epochs=size.member_epochs,
        batch_size=size.batch_size,
        learning_rate=size.learning_rate,
        check_every=size.check_every,
        device=device,
        random_state=settings.seed,
        checkpoint=checkpoint,
        progress=progress,
    )
    begun = checkpoint.exists()
    clock, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        # Levels that were not reached, and members above 1, are in the tables.
        warnings.simplefilter("ignore", UserWarning)
        ensemble.fit((images.train, images.train_labels))
    if begun:
        return ensemble, (np.nan, np.nan)
    return ensemble, (time.perf_counter() - clock, time.process_time() - processor)


def _write(path: Path, ensemble: Any, images: Images, times: tuple[float, float]) -> None:
    order = np.argsort(ensemble.levels_, kind="stable")
    members = np.asarray(ensemble.predict_members(images.test))[:, order]
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file,
            members=members,
            labels=images.test_labels,
            class_names=np.array(images.class_names),
            levels=np.array(ensemble.levels_)[order],
            relative_likelihoods=np.array(ensemble.relative_likelihoods_)[order],
            pushed=np.array([-1 if c is None else c for c in ensemble.classes_])[order],
            unreached=np.array(ensemble.unreached_, dtype=np.float64),
            n_train=len(images.train),
            seconds=times[0],
            processor_seconds=times[1],
        )


def _read(path: Path, settings: Settings) -> Trained:
    try:
        # NumPy leaves a file open that it cannot read; ours is closed in any case.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        members, labels = found.pop("members"), found.pop("labels")
        names = tuple(f"level {level:g}" for level in found["levels"])
        return Trained(
            settings,
            Predictions(names, members, labels),
            tuple(found.pop("class_names").tolist()),
            **{name: value if value.ndim else value.item() for name, value in found.items()},
        )
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        reason = str(error).splitlines()[0]
        _validation.refuse(str(path), f"cannot be read ({reason})", "remove it and run again")


def parse_check(text: str) -> str | int:
    """Return "epoch", "batch" or a number of batches from a text.

    Examples
    --------
    >>> from credalens.experiments.relative_likelihood import parse_check
    >>> parse_check("epoch"), parse_check("10")
    ('epoch', 10)
    """
    if text in ("epoch", "batch"):
        return text
    if not text.isdecimal() or int(text) < 1:
        _validation.refuse(
            "check-every", f"is {text!r}", "pass epoch, batch or a number of batches"
        )
    return int(text)


def parse_levels(text: str) -> tuple[float, ...]:
    """Return the levels in a text such as ``0.2,0.6,1``, in growing order.

    Examples
    --------
    >>> from credalens.experiments.relative_likelihood import parse_levels
    >>> parse_levels("1, 0.2")
    (0.2, 1.0)
    """
    try:
        levels = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        levels = []
    if not levels or not all(0 < level <= 1 for level in levels):
        _validation.refuse("levels", f"are {text!r}", "pass numbers in (0, 1] such as 0.2,0.6,1")
    return tuple(levels)
