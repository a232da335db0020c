"""Policies of the commands: their files are written, and applied to prediction files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from credalens.cli.command_context import note
from credalens.cli.options import Inputs, MeasureOptions, file_digest

if TYPE_CHECKING:
    from credalens.io import Ensemble
    from credalens.policy import Policy
    from credalens.policy.application import PolicyColumns

InputsT = TypeVar("InputsT", bound=Inputs)
OpenedT = TypeVar("OpenedT")
#: Options that change the values that are read, and how their texts are read.
VALUE_OPTIONS: dict[str, Callable[[str], Any]] = {
    "logits": lambda text: text == "True",
    "force_logits": lambda text: text == "True",
    "temperature": float,
    "normalize": lambda text: text == "True",
    "percent": lambda text: text == "True",
}


def value_options(inputs: Inputs) -> dict[str, str]:
    """Return the options other than the default that change the values that are read."""
    defaults = {field: Inputs.__dataclass_fields__[field].default for field in VALUE_OPTIONS}
    return {
        name: str(getattr(inputs, name))
        for name, default in defaults.items()
        if getattr(inputs, name) != default
    }


def read_as(inputs: InputsT, policy: Policy) -> InputsT:
    """Return options that read values, and match classes, as the policy needs."""
    given, needed = value_options(inputs), dict(policy.reading)
    for name, value in given.items():
        if needed.get(name) != value:
            was = f"{name} = {needed[name]}" if name in needed else f"without {name}"
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option}: the policy was chosen {was}; leave the option out")
    known = {name: VALUE_OPTIONS[name](text) for name, text in needed.items()
             if name in VALUE_OPTIONS}  # fmt: skip
    return replace(inputs, **known)


class ClassOrderError(ValueError):
    """The classes of files are those of the policy in another order."""


def with_class_order(
    inputs: InputsT, policy: Policy, open_files: Callable[[InputsT], OpenedT]
) -> OpenedT:
    """Open prediction files for a policy; columns in another order are matched by name."""
    inputs = read_as(inputs, policy)
    try:
        return open_files(inputs)
    except ClassOrderError:
        names = policy.class_names or ()
        if inputs.class_names is not None or any("," in name for name in names):
            raise
        return open_files(replace(inputs, class_names=",".join(names)))


def check_matches(policy: Policy, ensemble: Ensemble, path: Path, quiet: bool) -> None:
    """Raise ValueError if files do not match a policy, with the difference."""
    _check_names(
        "class", "classes", policy.n_classes, policy.class_names,
        ensemble.n_classes, ensemble.class_names, path, ordered=True,
    )  # fmt: skip
    own, found = policy.member_names, ensemble.names
    same = set(own) == set(found)
    if same or len(own) != len(found):
        _check_names("model", "models", len(own), own, len(found), found, path,
                     ordered=policy.repair is not None or policy.weights is not None)  # fmt: skip
    if policy.weights is not None and ensemble.weights is not None:
        raise ValueError("--weights: the policy has weights; leave the option out")
    if not same and (policy.repair is not None or policy.weights is not None):
        pairs = ", ".join(f"{b} for {a}" for a, b in zip(own, found, strict=True))
        note(f"credalens: models are matched to those of the policy by position: {pairs}", quiet)


def check_repair(
    policy: Policy, ensemble: Ensemble, inputs: Inputs, path: Path, quiet: bool
) -> None:
    """Raise ValueError if a policy has no repair, or one for other files or values."""
    if policy.repair is None:
        raise ValueError(f"{path}: has no repair; pass one that validate --fix --policy wrote")
    read_as(inputs, policy)
    missing = set(policy.reading) - set(value_options(inputs))
    if missing:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(missing))
        raise ValueError(f"{path}: was fitted to predictions with {names}; pass the same options")
    check_matches(policy, ensemble, path, quiet)


def _check_names(
    one: str,
    several: str,
    n: int,
    names: tuple[str, ...] | None,
    m: int,
    found: tuple[str, ...] | None,
    path: Path,
    *,
    ordered: bool,
) -> None:
    if n != m:
        listed = "" if names is None else f" ({', '.join(names)})"
        shown = "" if found is None else f" ({', '.join(found)})"
        word = one if m == 1 else several
        raise ValueError(f"{path}: is a policy for {n} {several}{listed}, the files have {m} "
                         f"{word}{shown}; pass files with the {several} of the policy")  # fmt: skip
    if names is None or found is None or names == found:
        return
    missing, new = (sorted(set(a) - set(b)) for a, b in ((names, found), (found, names)))
    if missing:
        raise ValueError(
            f"{path}: is a policy for the {several} {', '.join(names)}; the files lack "
            f"{', '.join(missing)} and have {', '.join(new)}; pass files with its {several}"
        )
    if ordered:
        kind = ClassOrderError if one == "class" else ValueError
        raise kind(f"{path}: is a policy for the {several} {', '.join(names)}, in this order; the "
                   f"files have {', '.join(found)}; pass them in its order")  # fmt: skip


def policy_columns(
    policy: Policy, path: Path, measure_options: MeasureOptions, summary: str, quiet: bool
) -> Callable[[Ensemble], PolicyColumns]:
    """Return a function that makes the columns of a policy for matching files."""
    if measure_options.distance != "tv":
        raise ValueError("--distance: the policy has its own; leave the option out")
    named = measure_options.measures.split(",")
    extra = [] if measure_options.measures == "tv" else [name.strip() for name in named if name]

    def columns(ensemble: Ensemble) -> PolicyColumns:
        from credalens.policy.application import PolicyColumns

        check_matches(policy, ensemble, path, quiet)
        return PolicyColumns(policy, extra, summary)

    return columns


def load_policy(path: Path) -> Policy:
    """Read a policy file."""
    from credalens.policy import Policy

    return Policy.load(path)


def calibration_files(inputs: Inputs, ensemble: Ensemble) -> tuple[tuple[str, str | None], ...]:
    """Return the names and digests of the prediction files, and of the labels."""
    paths: list[Path] = []
    for source in ensemble.sources:
        spans = source.row_ranges(0, source.n_rows or 0)
        paths += [Path(name) for name, _, _ in spans] or [Path(source.path)]
    if inputs.labels is not None:
        paths.append(Path(inputs.labels))
    return tuple((path.name, file_digest(path)) for path in dict.fromkeys(paths))


def policy_base(inputs: Inputs, ensemble: Ensemble) -> dict[str, Any]:
    """Return the arguments of `Policy` that the files determine."""
    return {
        "n_classes": ensemble.n_classes,
        "member_names": ensemble.names,
        "class_names": ensemble.class_names,
        "weights": ensemble.weights,
        "reading": value_options(inputs),
    }


def check_policy_file(path: Path | None, inputs: Inputs, others: list[Path]) -> None:
    """Raise ValueError, before any row is read, if a policy file cannot be written."""
    if path is None:
        return
    from credalens._files import check_folder
    from credalens.io.output import check_not_inputs

    check_folder(path.parent)
    if path.is_dir():
        raise ValueError(f"--policy: {path} is a folder; pass a file, e.g. policy.json")
    named = [Path(name) for name in getattr(inputs, "files", []) if name != "-"]
    check_not_inputs([path], [*named, *inputs.other_files, *others])


def save_policy(policy: Policy, path: Path, quiet: bool) -> None:
    """Write a policy file, and describe it."""
    policy.save(path)
    note(f"wrote {path}", quiet)


def check_targets(text: str | None, option: str) -> None:
    """Raise ValueError for targets whose numbers are invalid, before the classes are known."""
    for part in () if text is None else text.split(","):
        _share(part.rpartition("=")[2], option)


def parse_targets(text: str | None, option: str, names: tuple[str, ...]) -> dict[int, float]:
    """Return targets by class index: one number for all classes, or CLASS=NUMBER,..."""
    if text is None:
        return {}
    found: dict[int, float] = {}
    if "=" not in text:
        return dict.fromkeys(range(len(names)), _share(text, option))
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        if name.strip() not in names:
            listed = ", ".join(names)
            raise ValueError(f"{option}: {name.strip()!r} is not a class; choose from {listed}")
        found[names.index(name.strip())] = _share(number, option)
    return dict(sorted(found.items()))


def _share(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ValueError(f"{option}: is {text!r}; pass a number between 0 and 1, e.g. 0.95, or "
                         "CLASS=0.95,CLASS=0.9")  # fmt: skip
    return value
