"""Mutated files: the command succeeds or complains in one line; it never fails, nor leaves a file behind."""

import numpy as np
import pandas as pd
import pytest

from quorate.cli import main

ENDINGS = ("csv", "tsv", "csv.gz", "csv.zst", "csv.bz2", "parquet", "arrow", "npy", "npz")
SIGNS = [
    b",",
    b";",
    b"\t",
    b'"',
    b"\n",
    b"\r\n",
    b"\0",
    b"NaN",
    b"-1",
    b"1e999",
    b"\xff\xfe",
    b"\xc3",
    "ü".encode(),
    b"'",
]


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """The same sixty rows in every format, as bytes."""
    folder = tmp_path_factory.mktemp("originals")
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(60)]})
    for j in range(4):
        frame[f"m{j}"] = np.where(rng.random(60) < 0.15, rng.integers(0, 3, 60), truth)
    frame["m4"] = np.array(["low", "mid", "high"])[truth]
    matrix = frame[["m0", "m1", "m2", "m3"]].to_numpy()
    for ending in ENDINGS:
        path = folder / f"labels.{ending}"
        if ending == "parquet":
            frame.to_parquet(path, index=False)
        elif ending == "arrow":
            frame.to_feather(path)
        elif ending == "npy":
            np.save(path, matrix)
        elif ending == "npz":
            np.savez(path, **{f"m{j}": column for j, column in enumerate(matrix.T)})
        elif ending == "csv.zst":
            import pyarrow as pa

            with pa.output_stream(str(path), compression="zstd") as stream:
                stream.write(frame.to_csv(index=False).encode())
        else:
            frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    return {ending: (folder / f"labels.{ending}").read_bytes() for ending in ENDINGS}


def mutate(content, rng):
    """Return the bytes with one to four changes: cut, flipped, doubled, replaced, sprinkled with awkward signs."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        if not data:
            return b""
        start = int(rng.integers(len(data)))
        length = int(rng.integers(1, 1 + max(1, len(data) // int(rng.choice([4, 40, 400])))))
        change = rng.integers(7)
        if change == 0:
            del data[start : start + length]
        elif change == 1:
            data[start] ^= 1 << int(rng.integers(8))
        elif change == 2:
            data[start:start] = data[start : start + length]
        elif change == 3:
            data[start:start] = SIGNS[rng.integers(len(SIGNS))]
        elif change == 4:
            data[start : start + length] = rng.bytes(length)
        elif change == 5:
            del data[start:]
        else:
            data = bytearray(bytes(data).replace(b",", SIGNS[rng.integers(4)]))
    return bytes(data)


def check_mutations(originals, folder, capsys, seeds):
    complaints = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        ending = ENDINGS[rng.integers(len(ENDINGS))]
        path, out = folder / f"labels.{ending}", folder / "out.csv"
        path.write_bytes(mutate(originals[ending], rng))
        code = main(["combine", str(path), "-k", "2", "--method", "weac", "-o", str(out), "--quiet"])
        printed = capsys.readouterr()
        where = f"seed {seed}, {ending}: {printed.err}"
        if code == 0:
            assert out.exists(), where
            out.unlink()
        else:
            complaints += 1
            assert code == 2, where
            assert printed.err.startswith("Error: "), where
            assert len(printed.err.splitlines()) == 1, where
        assert {file.name for file in folder.iterdir()} == {path.name}, where
        path.unlink()
    return complaints


def test_every_original_is_fine(originals, tmp_path, capsys):
    for ending, content in originals.items():
        path = tmp_path / f"labels.{ending}"
        path.write_bytes(content)
        assert main(["combine", str(path), "-k", "3", "-q", "--json"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("part", range(3))
def test_mutated_files(originals, tmp_path, capsys, part):
    complaints = check_mutations(originals, tmp_path, capsys, range(100 * part, 100 * part + 100))
    assert 20 < complaints < 100


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_many_mutated_files(originals, tmp_path, capsys, part):
    check_mutations(originals, tmp_path, capsys, range(1000 + 500 * part, 1500 + 500 * part))
