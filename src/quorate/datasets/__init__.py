"""The eight datasets of the paper, and loading of other tables."""

from quorate.datasets.catalog import NAMES
from quorate.datasets.load import Dataset, load

__all__ = ["NAMES", "Dataset", "load"]
