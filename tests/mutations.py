"""Valid files of every format, and ways to damage them: bytes, cells, contents of archives, and arguments."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

N_ROWS = 60
SIGNS = [b",", b";", b"\t", b'"', b"\n", b"\r\n", b"\r", b"\0", b"NaN", b"-1", b"1e999", b"\xff\xfe", b"\xc3", b"'"]
SIGNS += ["ü".encode(), "\u2028".encode(), b"\x0c", b"99999999999999999999", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"]
CELLS = ["", "NA", "nan", "-1", "-1.0", "1e999", "9223372036854775808", "0x1f", "true", '"', '"a,b"', "a b", "ü\u2028"]
CELLS += [
    "1.5",
    "1e-320",
    "null",
    "{}",
    "-0",
    "+3",
    " 2 ",
    "\x0b",
    "=1+1",
    "٣",
    "r0",
    "m0",
    "2026-11-16",
    "\\N",
    "x" * 300,
]
WORDS = [
    "",
    "-",
    "--",
    "0",
    "-1",
    "1e999",
    "nan",
    "2:1",
    "1:999999999",
    "auto",
    "../..",
    "/dev/null",
    "*",
    "m[0",
    "ü\udcff",
]
WORDS += [
    "m0,m1",
    "m*",
    "nothing",
    "class",
    "id",
    "\t",
    ";",
    "utf-16",
    "punycode",
    "csv",
    "h5ad",
    "1GB",
    "-5GB",
    "a=b",
    "=",
]


def tables() -> dict[str, Any]:
    """Return the same rows as frames: plain; with missing labels, booleans, fractions and text."""
    import pandas as pd

    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], N_ROWS // 3)

    def noisy() -> Any:
        return np.where(rng.random(N_ROWS) < 0.15, rng.integers(0, 3, N_ROWS), truth)

    plain = pd.DataFrame({"id": [f"r{i}" for i in range(N_ROWS)], **{f"m{j}": noisy() for j in range(4)}})
    plain["m4"] = np.array(["low", "mid", "high"])[truth]
    plain["class"] = np.array(["a", "b", "c"])[truth]
    gaps = plain.copy()
    gaps["m0"] = pd.array(noisy(), dtype="Int64")
    gaps.loc[rng.random(N_ROWS) < 0.2, "m0"] = pd.NA
    gaps["m1"] = noisy() / 2
    gaps["m2"] = noisy() == 1
    gaps["m4"] = pd.Categorical(gaps["m4"])
    return {"plain": plain, "gaps": gaps}


def originals() -> dict[str, bytes]:
    """Return files of every format, whole, by their endings; the part before the dot tells variants apart."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, frame in tables().items():
            _save_texts(f"{name}/{kind}", frame)
            _save_columns(f"{name}/{kind}", frame)
            _save_arrays(f"{name}/{kind}", frame)
        _save_matlab(name, tables()["plain"])
        _save_features(name)
        _save_others(name)
        return {path.name: path.read_bytes() for path in sorted(Path(name).iterdir())}


def _save_texts(stem: str, frame: Any) -> None:
    import pyarrow as pa

    for ending in ("csv", "tsv", "csv.gz", "csv.bz2", "csv.xz"):
        frame.to_csv(f"{stem}.{ending}", index=False, sep="\t" if ending == "tsv" else ",")
    with pa.output_stream(f"{stem}.csv.zst", compression="zstd") as stream:
        stream.write(frame.to_csv(index=False).encode())
    for ending in ("jsonl", "jsonl.gz"):
        frame.to_json(f"{stem}.{ending}", orient="records", lines=True)
    frame.to_json(f"{stem}.json", orient="records")
    frame.to_excel(f"{stem}.xlsx", index=False)


def _save_columns(stem: str, frame: Any) -> None:
    import anndata
    import pandas as pd
    import pyarrow as pa
    import pyarrow.feather as feather

    frame.to_parquet(f"{stem}.parquet", index=False)
    frame.to_parquet(f"{stem}-zstd.parquet", index=False, compression="zstd", row_group_size=7)
    for compression in ("uncompressed", "lz4", "zstd"):
        feather.write_feather(pa.Table.from_pandas(frame), f"{stem}-{compression}.arrow", compression)

    def objects(values: Any) -> Any:  # the only texts that AnnData writes
        return pd.Index([str(value) for value in values], dtype=object)

    cells = pd.DataFrame({key: pd.Categorical(objects(frame[key])) for key in frame.columns[1:]})
    cells.index = objects(frame["id"])
    genes = pd.DataFrame(index=objects(["gene"]))
    anndata.AnnData(np.zeros((len(frame), 1), dtype=np.float32), obs=cells, var=genes).write_h5ad(f"{stem}.h5ad")


def _save_arrays(stem: str, frame: Any) -> None:
    matrix = frame[["m0", "m1", "m2", "m3"]].astype("float64").to_numpy()
    np.save(f"{stem}.npy", matrix if np.isnan(matrix).any() else matrix.astype(np.int64))
    np.save(f"{stem}-text.npy", frame[["id", "m4"]].astype(str).to_numpy().astype("U8"))
    columns = {key: frame[key].astype(str).to_numpy().astype("U8") for key in ("m4", "class")}
    columns |= {f"m{j}": column for j, column in enumerate(matrix.T)}
    np.savez(f"{stem}.npz", **columns)
    np.savez_compressed(f"{stem}-packed.npz", **columns)


def _save_matlab(name: str, frame: Any) -> None:
    import h5py
    import scipy.io

    labels, classes = frame[["m0", "m1", "m2", "m3"]].to_numpy(), np.repeat([1.0, 2.0, 3.0], N_ROWS // 3)
    scipy.io.savemat(f"{name}/older.mat", {"members": labels + 1.0, "gt": classes})
    scipy.io.savemat(f"{name}/packed.mat", {"members": labels + 1.0, "gt": classes}, do_compression=True)
    with h5py.File(f"{name}/newer.mat", "w", userblock_size=512) as file:
        file["members"], file["gt"] = labels.T + 1.0, classes[None]
    with open(f"{name}/newer.mat", "r+b") as opened:
        opened.write(b"MATLAB 7.3 MAT-file")


def _save_features(name: str) -> None:
    """Write features as text and as columns, and a model of them."""
    import pandas as pd

    import quorate as qt
    from quorate.persistence.feature_models import save_model

    rng = np.random.default_rng(1)
    numbers = np.repeat([0.0, 4.0, 8.0], 10)[:, None] + rng.normal(size=(30, 2))
    frame = pd.DataFrame(numbers.round(4), columns=["x", "y"])
    frame.insert(0, "id", [f"r{i}" for i in range(30)])
    frame.to_csv(f"{name}/features.csv", index=False)
    frame.to_parquet(f"{name}/features.parquet", index=False)
    found = qt.cluster_file(f"{name}/features.csv", f"{name}/found.csv", None, 3, n_members=3)
    save_model(found.model, f"{name}/model.npz")
    os.unlink(f"{name}/found.csv")


def _save_others(name: str) -> None:
    """Write what is neither a table nor a matrix of labels: a saved ensemble, a store of finished work."""
    import quorate as qt
    from quorate._runtime.checkpoints import Store

    frame = tables()["gaps"]
    qt.save(qt.Ensemble(frame[["m0", "m1", "m3", "m4"]]), f"{name}/saved")
    shutil.move(f"{name}/saved/patterns.parquet", f"{name}/saved.ensemble")
    os.rmdir(f"{name}/saved")
    with Store(f"{name}/work.store", {"task": "fuzz"}) as store:
        for i in range(5):
            store.add(f"piece {i}", {"value": i})


def mutate(name: str, content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content of a file damaged: what is packed mostly inside, as checksums guard it outside."""
    ending = name.rpartition(".")[2]
    if ending in _PACKERS and rng.random() < 0.8:
        unpack, pack = _PACKERS[ending]
        return pack(mutate(name.removesuffix(f".{ending}"), unpack(content), rng))
    if ending in ("npz", "xlsx") and rng.random() < 0.8:
        return _mutate_entry(content, rng)
    if ending in ("csv", "tsv", "jsonl") and rng.random() < 0.7:
        return _mutate_cells(content, b"\t" if ending == "tsv" else b",", rng)
    return mutate_bytes(content, rng)


def mutate_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with one to four changes: cut, flipped, doubled, replaced, sprinkled with awkward signs."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
        if not data:
            return b""
        start = int(rng.integers(len(data)))
        length = int(rng.integers(1, 1 + max(1, len(data) // int(rng.choice([4, 40, 400])))))
        change = rng.integers(8)
        if change == 0:
            del data[start : start + length]
        elif change in (1, 2):
            data[start] ^= 1 << int(rng.integers(8))
        elif change == 3:
            data[start:start] = data[start : start + length]
        elif change == 4:
            data[start:start] = SIGNS[rng.integers(len(SIGNS))]
        elif change == 5:
            data[start : start + length] = rng.bytes(length)
        elif change == 6:
            del data[start:]
        else:
            data = bytearray(bytes(data).replace(b",", SIGNS[rng.integers(4)]))
    return bytes(data)


def _mutate_cells(content: bytes, delimiter: bytes, rng: np.random.Generator) -> bytes:
    """Return a text table with one to six cells, lines or columns changed; it stays text."""
    lines = [line.split(delimiter) for line in content.splitlines()]
    for _ in range(rng.integers(1, 7)):
        line = lines[0 if rng.random() < 0.3 else rng.integers(len(lines))]
        cell, other = int(rng.integers(len(line))), CELLS[rng.integers(len(CELLS))].encode()
        change = rng.integers(8)
        if change <= 2:
            line[cell] = other
        elif change == 3:  # a column
            lines = [[*row[:cell], other, *row[cell + 1 :]] for row in lines]
        elif change == 4:  # a cell too many
            line.insert(cell, other)
        elif change == 5:
            lines.insert(int(rng.integers(len(lines))), list(line))
        elif change == 6:
            lines.insert(int(rng.integers(len(lines))), [other])
        elif len(line) > 1:
            del line[cell]
    return b"\n".join(delimiter.join(line) for line in lines) + b"\n"


def _mutate_entry(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a zip archive with one of its entries damaged, or named otherwise, and checksums that agree."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as changed:
        names = archive.namelist()
        chosen = names[rng.integers(len(names))]
        for name in names:
            entry = archive.read(name)
            called = str(rng.choice(["x", "m0.npy", "x_0.npy", "a/../b.npy"])) if rng.random() < 0.03 else name
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # two entries of one name
                changed.writestr(called, mutate_bytes(entry, rng) if name == chosen else entry)
    return packed.getvalue()


def _zstd(content: bytes) -> bytes:
    import pyarrow as pa

    return pa.Codec("zstd").compress(content, asbytes=True)


def _unzstd(content: bytes) -> bytes:
    import pyarrow as pa

    return pa.input_stream(io.BytesIO(content), compression="zstd").read()


_PACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "gz": (gzip.decompress, lambda content: gzip.compress(content, 1)),
    "bz2": (bz2.decompress, bz2.compress),
    "xz": (lzma.decompress, lambda content: lzma.compress(content, preset=0)),
    "zst": (_unzstd, _zstd),
}


def mutate_arguments(arguments: list[str], rng: np.random.Generator) -> list[str]:
    """Return a command, which stays, with one to three of its other arguments dropped, doubled, changed or added."""
    command, rest = arguments[:1], list(arguments[1:])
    for _ in range(rng.integers(1, 4)):
        where = int(rng.integers(len(rest) + 1))
        change, word = rng.integers(5), WORDS[rng.integers(len(WORDS))]
        if change <= 1 and where < len(rest):
            rest[where] = word
        elif change == 2:
            rest.insert(where, word)
        elif change == 3 and where < len(rest):
            del rest[where]
        elif where < len(rest):
            rest.insert(where, rest[where])
    return command + rest
