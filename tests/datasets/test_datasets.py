"""The packaged datasets, and loading of other tables."""

import csv
import gzip
import hashlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import support
from quorate import datasets
from support import SHARED

REFERENCE = SHARED / "data"
SHAPES = {
    "breast_cancer": (683, 9, 2),
    "image_segmentation": (2310, 19, 7),
    "iris": (150, 4, 3),
    "seeds": (210, 7, 3),
    "yeast": (1484, 8, 10),
    "wine": (178, 13, 3),
    "pen_digits": (10992, 16, 10),
    "letters": (20000, 16, 26),
}


DIGESTS = {
    "breast_cancer": "3fd0b8fe3ef80f8e",
    "image_segmentation": "fb295ae188326652",
    "iris": "9b83e6a19f79b3e3",
    "seeds": "9f2e58c0162d4055",
    "yeast": "3f29469ff1f5847c",
    "wine": "0b39b8a17aa235f9",
    "pen_digits": "72c0572cddc06e64",
    "letters": "a8df7885e239818c",
}


def as_multiset(features, classes):
    return Counter(zip(map(tuple, features.tolist()), map(str, classes.tolist()), strict=True))


@pytest.mark.parametrize("name", SHAPES)
def test_shape_and_words(name):
    data = datasets.load(name)
    assert (*data.features.shape, data.n_classes) == SHAPES[name]
    assert data.features.dtype == np.float64
    assert len(data.feature_names) == data.features.shape[1]
    assert "UCI" in data.citation
    assert "CC BY 4.0" in data.license
    assert data.description


def test_every_dataset_is_listed_and_small():
    assert set(datasets.NAMES) == set(SHAPES)
    folder = Path(datasets.__file__).parent / "data"
    assert {path.stem for path in folder.iterdir()} == set(SHAPES)
    assert max(path.stat().st_size for path in folder.iterdir()) < 1_000_000


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="needs the source tables in `shared/data` next to the repository")
def test_the_rows_are_those_of_the_source_tables():
    for name in SHAPES:
        with gzip.open(REFERENCE / f"{name}.csv.gz", "rt") as file:
            header, *rows = csv.reader(file)
        features, classes = [row[:-1] for row in rows], [row[-1] for row in rows]
        data = datasets.load(name)
        assert list(data.feature_names) == header[:-1]
        assert as_multiset(data.features, data.classes) == as_multiset(np.array(features, float), np.array(classes))


@pytest.mark.parametrize("name", SHAPES)
def test_the_values_are_those_that_were_packaged(name):
    data = datasets.load(name)
    content = data.features.astype("<f8").tobytes() + "\n".join(map(str, data.classes)).encode()
    assert hashlib.sha256(content).hexdigest()[:16] == DIGESTS[name]


def test_iris_is_the_version_of_the_repository():
    setosa = Counter(map(tuple, datasets.load("iris").features.tolist()))
    assert setosa[(4.9, 3.1, 1.5, 0.1)] == 3
    assert (4.9, 3.6, 1.4, 0.1) not in setosa


def test_own_tables(tmp_path):
    pd = pytest.importorskip("pandas")
    iris = datasets.load("iris")
    frame = pd.DataFrame(iris.features, columns=list(iris.feature_names)).assign(species=iris.classes)
    frame.to_csv(tmp_path / "flowers.csv", index=False)
    frame.to_parquet(tmp_path / "flowers.parquet")
    for source in (frame, tmp_path / "flowers.csv", str(tmp_path / "flowers.parquet")):
        own = datasets.load(source, classes="species")
        np.testing.assert_array_equal(own.features, iris.features)
        np.testing.assert_array_equal(own.classes, iris.classes)
        assert own.feature_names == iris.feature_names
    assert datasets.load(tmp_path / "flowers.csv", classes="species").name == "flowers"
    array = datasets.load(iris.features)
    assert array.classes is None
    assert array.n_classes == 0
    assert datasets.load(array) is array


def test_missing_values_of_a_file_stay_missing(tmp_path):
    (tmp_path / "gaps.csv").write_text("a,b\n1,2.5\n,3.5\n3,\n")
    np.testing.assert_array_equal(datasets.load(tmp_path / "gaps.csv").features, [[1, 2.5], [np.nan, 3.5], [3, np.nan]])


@pytest.mark.parametrize(
    ("source", "classes", "code"),
    [
        ("irsi", None, "no-such-dataset"),
        ("nowhere.csv", None, "no-file"),
        ("iris", "species", "included-dataset"),
        (np.zeros(3), None, "source"),
        ([["a", "b"]], None, "source"),
        (np.zeros((2, 2)), "x0", "no-column-names"),
    ],
)
def test_refusals(source, classes, code):
    with support.raises(code):
        datasets.load(source, classes=classes)


def test_refusals_of_columns(tmp_path):
    (tmp_path / "own.csv").write_text("size,kind\n1,a\n2,b\n")
    with support.raises("not-numeric"):
        datasets.load(tmp_path / "own.csv")
    with support.raises("no-such-column", parameter="classes"):
        datasets.load(tmp_path / "own.csv", classes="knd")
    (tmp_path / "broken.parquet").write_text("not a table")
    with support.raises("cannot-read"):
        datasets.load(tmp_path / "broken.parquet")
