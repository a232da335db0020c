"""Prediction files of any size: read in blocks, checked row by row, scores written back.

The formats are opened by `open_source`, several models become one `Ensemble`, and `Parts`
writes what was computed. Nothing here holds a whole file in memory.
"""

from credalens.datasets.files.ensemble import Chunk, Ensemble
from credalens.datasets.files.opening import open_ensemble
from credalens.datasets.files.source import Block, PredictionFileError, Reading, Source

__all__ = [
    "Block",
    "Chunk",
    "Ensemble",
    "PredictionFileError",
    "Reading",
    "Source",
    "open_ensemble",
]
