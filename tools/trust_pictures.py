"""Draw the four worked examples of docs/trust.md: `python tools/trust_pictures.py` writes docs/images/trust.png.

Also prints the words that a user gets, as on the page.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib
import numpy as np

import quorate as qt
from quorate.analysis.structure.feature_structure import LEVEL

matplotlib.use("svg")
import matplotlib.pyplot as plt

IMAGE = Path(__file__).resolve().parents[1] / "docs" / "images" / "trust.png"


def examples() -> dict[str, np.ndarray]:
    """Return rows in the plane: noise, one Gaussian, two that touch, a ring."""
    random = np.random.default_rng(0)
    angle = random.uniform(0, 2 * np.pi, 400)
    return {
        "noise": random.random((400, 2)),
        "one Gaussian": random.normal(size=(400, 2)),
        "two touching Gaussians": random.normal(size=(400, 2)) + np.repeat([[0, 0], [4, 0]], 200, axis=0),
        "a ring": np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.1 * random.normal(size=(400, 2)),
    }


def main() -> None:
    """Draw and print."""
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
    for axis, (name, X) in zip(axes, examples().items(), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = qt.ConsensusClustering("auto", members="kmeans", random_state=0).fit(X)
        labels = qt.label_structure(model.ensemble_)
        print(f"{name}\n  features: {model.structure_.sentence}\n  labels:   {labels.sentence}")
        print(f"  k:        {qt.choose_k(model.ensemble_).sentence}")
        axis.scatter(*X.T, c=model.labels_ % 10, cmap="tab10", s=8, vmin=0, vmax=9, linewidths=0)
        axis.set_title(f"{name}\n{_verdict(model.structure_.p_value)}; k = {model.n_clusters_}", fontsize=10)
        axis.set_aspect("equal", "datalim")
        axis.set_xticks([])
        axis.set_yticks([])
    IMAGE.parent.mkdir(exist_ok=True)
    figure.savefig(IMAGE, dpi=110)


def _verdict(p_value: float) -> str:
    finding = "clusters" if p_value < LEVEL else "no evidence of clusters"
    return f"{finding} (p = {p_value:.2g})"


if __name__ == "__main__":
    main()
