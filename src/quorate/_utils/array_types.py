"""Shared array types."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Labels = NDArray[np.int64]
"""Consensus labels: 0, 1, ...; -1 for no cluster."""
