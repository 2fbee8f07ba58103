"""The eight datasets of the paper, and tables of your own."""

from quorate.datasets.catalogue import NAMES
from quorate.datasets.load import Dataset, load

__all__ = ["NAMES", "Dataset", "load"]
