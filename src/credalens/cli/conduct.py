"""How commands behave: the same for those on files and for those of experiments.

It is written down where the lower layer of the two can see it.
"""

from credalens.experiments.commands._running import conduct, note
from credalens.experiments.commands._running import row_progress as progress

__all__ = ["conduct", "note", "progress"]
