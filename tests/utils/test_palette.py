"""Colors that can be distinguished with every kind of color vision."""

import numpy as np
import pytest

from quorate._utils.palette import cluster_colors


@pytest.mark.parametrize("blindness", ["none", "deutan", "protan", "tritan"])
def test_colors_of_few_clusters_differ_for_every_color_vision(blindness):
    """Eight colors, seen with each kind of dichromacy (Vienot 1999; Brettel 1997 in one plane), differ clearly."""
    see = {
        "none": np.eye(3),
        "protan": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
        "deutan": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
        "tritan": np.array([[1, 0.15236, -0.15236], [0, 0.86717, 0.13283], [0, 0.86717, 0.13283]]),
    }[blindness]
    seen = [_lab(np.clip(see @ _linear(color), 0, 1)) for color in cluster_colors(8)]
    distances = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[i + 1 :]]
    assert min(distances) > 15


def test_forty_clusters_have_forty_colors():
    assert len(set(cluster_colors(40))) == 40


def _linear(color):
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _lab(rgb):
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    f = np.cbrt(np.maximum(xyz / np.array([0.9505, 1.0, 1.089]), 1e-6))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])
