"""Draw the picture of the README: `python tools/picture.py`."""

from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

from quorate.cli.demo import demonstrate
from quorate.reporting import plot

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "seeds.png"


def main() -> None:
    """Draw the demo's members and its consensus side by side."""
    shown = demonstrate(2015)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=[1.25, 1], layout="constrained")
    plot.trust(shown.ensemble, ax=left)
    plot.consensus_matrix(shown.fitted["gp-mgla"], ax=right)
    figure.savefig(TARGET, dpi=110)


if __name__ == "__main__":
    main()
