"""Maps of uncertainty of segmentation ensembles: files of probabilities in, maps and tables out."""

from credalens.maps.cases import Case, find_cases
from credalens.maps.job import map_cases
from credalens.maps.settings import MapSettings

__all__ = ["Case", "MapSettings", "find_cases", "map_cases"]
