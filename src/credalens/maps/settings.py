"""What the maps of a run have in common."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

#: Scores that are written as maps, and summarised in the tables.
SCORES = ("total", "aleatoric_lower", "aleatoric_upper", "epistemic")
#: Maps of whole numbers: the class that most models vote for, and the number of labels that remain.
COUNTS = ("vote", "set_size")
MAPS = (*SCORES, *COUNTS)
#: What the values in the files are.
KINDS = ("probabilities", "normalize", "logits")


@dataclass(frozen=True)
class MapSettings:
    """Options of `map_cases`; all of them change what is written."""

    #: ``"probabilities"``, ``"normalize"`` or ``"logits"``; see `credalens.maps.tiles`.
    kind: str = "probabilities"
    #: Axis of the classes in the files; None for that of the format.
    class_axis: int | None = None
    #: Which labels remain: a rule of `credalens.admissible`.
    rule: str = "e_admissible"
    #: Total uncertainty above which voxels are counted.
    threshold: float = 0.5
    #: Class that is no structure; None if every class is one.
    background: int | None = 0
    #: Names of the classes, by default their numbers.
    names: tuple[str, ...] | None = None
    #: Value of reference masks that is not evaluated.
    ignore_label: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as a JSON value."""
        found = asdict(self)
        return {**found, "names": None if self.names is None else list(self.names)}

    def name(self, k: int) -> str:
        """Return the name of a class."""
        return str(k) if self.names is None else self.names[k]
