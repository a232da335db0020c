"""Read prediction files of any size in chunks, and write scores.

`open_ensemble` opens the files of several models as one `Ensemble`, whose method ``chunks`` yields
validated rows. `read_predictions` reads them into memory. `credalens.io.formats` lists the file
formats. `read_logprobs` reads responses of language models.
"""

from credalens.io.chunk import Chunk
from credalens.io.ensemble import Ensemble
from credalens.io.language.predictions import TokenPredictions, read_logprobs
from credalens.io.opening import Predictions, open_ensemble, read_members, read_predictions
from credalens.io.source import Block, PredictionFileError, ReadOptions, Source

__all__ = [
    "Block",
    "Chunk",
    "Ensemble",
    "PredictionFileError",
    "Predictions",
    "ReadOptions",
    "Source",
    "TokenPredictions",
    "open_ensemble",
    "read_logprobs",
    "read_members",
    "read_predictions",
]
