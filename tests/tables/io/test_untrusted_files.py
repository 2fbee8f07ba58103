"""Files and values nobody vouches for: refused in one sentence, never believed."""

import struct
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet
import pytest

import quorate as qt
from quorate._runtime.memory import memory_limit
from quorate.cli import main
from quorate.persistence.feature_models import load_model
from quorate.tables.io import open_table
from quorate.tables.io.untrusted_files import arrow_batch_sizes
from support import raises, warns

METHODS = ["gp-mgla", "weac", "eac", "hbgf", "wcc", "ecmc", "wct", "srs"]
A, B = [0] * 7 + [1] * 5, [0] * 6 + [1] * 3 + [2] * 3


def complaint(path, capsys, *more):
    assert main(["combine", str(path), "-k", "2", "-q", *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: ")
    assert len(said.splitlines()) == 1
    return said


def test_arrow_offsets_are_checked_before_use(tmp_path, capsys):
    """Offsets that point beyond the text would send the reader anywhere in memory."""
    path = tmp_path / "labels.arrow"
    table = pa.table({"a": ["x", "x", "y", "y"], "b": [0, 0, 1, 1]})
    feather.write_feather(table, path, compression="uncompressed")
    offsets = struct.pack("<5i", 0, 1, 2, 3, 4)
    damaged = path.read_bytes().replace(offsets, struct.pack("<5i", 0, 1, 2_000_000_000, 3, 4))
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    assert "is not an Arrow file, or it is damaged" in complaint(path, capsys)


def test_arrow_dictionary_indices_are_checked(tmp_path, capsys):
    path = tmp_path / "labels.arrow"
    indices = pa.array([0, 1, 2, 3] * 20, pa.int32())
    table = pa.table({"a": pa.DictionaryArray.from_arrays(indices, ["w", "x", "y", "z"]), "b": [0, 0, 1, 1] * 20})
    feather.write_feather(table, path, compression="uncompressed")
    whole = struct.pack("<4i", 0, 1, 2, 3)
    path.write_bytes(path.read_bytes().replace(whole, struct.pack("<4i", 0, 1, 2, 77_000_000), 1))
    assert "is damaged" in complaint(path, capsys)


def test_arrow_columns_of_the_same_name(tmp_path, capsys):
    with pa.ipc.new_file(tmp_path / "labels.arrow", pa.schema([("a", pa.int64()), ("a", pa.int64())])) as writer:
        writer.write_batch(pa.record_batch([pa.array([1, 2]), pa.array([1, 2])], names=["a", "a"]))
    assert "has two columns named" in complaint(tmp_path / "labels.arrow", capsys)


def test_arrow_files_that_are_whole_are_read(tmp_path):
    path = tmp_path / "labels.feather"
    frame = pd.DataFrame({"a": ["x", None, "ü"], "b": pd.Categorical(["u", "v", "u"]), "c": [1, 2, 3]})
    frame.to_feather(path)
    with open_table(path) as table:
        assert table.columns == ("a", "b", "c")
        assert table.n_rows == 3


@pytest.mark.parametrize("point", [0x110000, 0xFFFFFFFF, 0xD800])
@pytest.mark.parametrize("order", ["<", ">"])
def test_numpy_text_of_invalid_code_points(tmp_path, capsys, point, order):
    path = tmp_path / "labels.npy"
    np.save(path, np.array([["ab", "cd"]] * 4 + [["ef", "gh"]] * 4).astype(f"{order}U2"))
    content = path.read_bytes()
    path.write_bytes(content[:-4] + struct.pack(f"{order}I", point))
    assert "is not an NPY file of numbers or text" in complaint(path, capsys)
    np.savez(tmp_path / "labels.npz", a=np.array(["x", "y"] * 4))
    path.write_bytes(content)
    assert main(["combine", str(path), "-k", "2", "-q"]) == 0


def test_an_archive_is_refused_before_it_is_unpacked(tmp_path, capsys):
    """26 MB may unpack to 6 GB: what the arrays declare is compared with the memory there is."""
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, a=np.zeros(2_000_000, dtype=np.int64), b=np.zeros(2_000_000, dtype=np.int64))
    assert path.stat().st_size < 100_000
    with memory_limit("20MB"), raises("memory"):
        open_table(path)


def test_an_archive_that_declares_more_than_it_holds(tmp_path, capsys):
    path = tmp_path / "labels.npz"
    header = np.lib.format.magic(1, 0)
    text = repr({"descr": "<i8", "fortran_order": False, "shape": (10**12,)}).ljust(117) + "\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", header + struct.pack("<H", len(text)) + text.encode() + bytes(80))
    assert "is not an NPZ file" in complaint(path, capsys)


def test_an_archive_without_arrays(tmp_path, capsys):
    path = tmp_path / "labels.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "no labels here")
    assert "is not an NPZ file" in complaint(path, capsys)


def invalid_text():
    offsets = pa.py_buffer(np.arange(0, 10, 2, dtype=np.int32).tobytes())
    return pa.Array.from_buffers(pa.string(), 4, [None, offsets, pa.py_buffer(b"\xff\xfe\xff\xfeab\xc3\x28")])


def test_text_that_is_not_utf8(tmp_path, capsys):

    table = pa.table({"x": invalid_text(), "y": [1, 1, 2, 2]})
    pyarrow.parquet.write_table(table, tmp_path / "labels.parquet")
    assert "labels.parquet" in complaint(tmp_path / "labels.parquet", capsys)
    feather.write_feather(table, tmp_path / "labels.arrow")
    assert "is damaged" in complaint(tmp_path / "labels.arrow", capsys)
    with raises("not-utf8"):
        qt.consensus_frame(table, n_clusters=2)


@pytest.mark.parametrize("weight", [5e-324, 1e-300, 1e-13, 1e13, 1e308])
def test_weights_whose_sums_are_not_finite(weight):
    with raises("weight-range"):
        qt.Ensemble([A, B], row_weights=[weight] * 12)
    with raises("weight-range"):
        qt.consensus([A, B], 2, weights=[weight, 1.0])


@pytest.mark.parametrize("method", METHODS)
def test_weights_at_the_ends_of_what_is_allowed(method):
    expected = qt.consensus(qt.Ensemble([A, B], row_weights=np.ones(12)), 2, method).labels
    for weight in (1e-12, 1e12):
        found = qt.consensus(qt.Ensemble([A, B], row_weights=np.full(12, weight)), 2, method).labels
        assert len(np.unique(found)) <= 2
        if method != "wcc":  # it stops by an absolute tolerance
            assert found.tolist() == expected.tolist()
    mixed = qt.Ensemble([A, B], row_weights=[1e-12, 1e12] * 6)
    assert len(qt.consensus(mixed, 2, method).labels) == 12


def test_columns_of_the_same_name():
    frame = pd.DataFrame([[1, 2], [1, 2], [2, 1], [2, 1]], columns=["a", "a"])
    for native in (frame, pa.table([pa.array([1, 1, 2, 2])] * 2, names=["a", "a"])):
        with raises("repeated-column"):
            qt.consensus(native, 2)
        with raises("repeated-column"):
            qt.consensus_frame(native, n_clusters=2)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("rows := CASE WHEN rows > 1 THEN -rows ELSE rows END", "positive numbers"),
        ("rows := rows::DOUBLE", "whole numbers"),
        ("rows := CASE WHEN rows > 1 THEN NULL ELSE rows END", "positive numbers"),
        ("rows := 'x'", "positive numbers"),
    ],
)
def test_saved_ensembles_count_rows(tmp_path, change, why):
    rewrite(tmp_path, change, {"quorate_format": "1", "quorate_members": '["a", "b"]', "quorate_noise": "missing"})
    with raises("damaged-file"):
        qt.load(tmp_path)


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"quorate_noise": "loud"}, "noise is 'loud'"),
        ({"quorate_members": '["a", '}, "metadata cannot be read"),
        ({"quorate_members": '{"a": 1}'}, "does not name its members"),
        ({"quorate_members": '["a"]'}, "positive numbers"),
        ({"quorate_members": '["a", "b", "c", "d"]'}, "positive numbers"),
    ],
)
def test_saved_ensembles_tell_what_they_are(tmp_path, metadata, why):
    known = {"quorate_format": "1", "quorate_members": '["a", "b"]', "quorate_noise": "missing"}
    rewrite(tmp_path, "rows := rows", {**known, **metadata})
    with raises("damaged-file"):
        qt.load(tmp_path)


def rewrite(folder, change, metadata):
    """Save an ensemble, and write its file again with a column or the metadata changed."""
    import duckdb

    qt.save(qt.Ensemble([["x", "x", "y", "y"], [0, 0, 0, 1]], names=["a", "b"]), folder)
    name, _, value = change.partition(" := ")
    lines = duckdb.sql(f"SELECT * REPLACE ({value} AS {name}) FROM '{folder}/patterns.parquet'").to_arrow_table()
    pa.parquet.write_table(lines.replace_schema_metadata(metadata), folder / "patterns.parquet")


def damaged_archive(path, **arrays):
    """An NPZ whose last array has a header that does not end."""
    np.savez(path, **arrays)
    entries = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            entries[name] = archive.read(name)
    last = list(entries)[-1]
    entries[last] = entries[last].replace(b"}", b"{", 1)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def test_archives_are_checked_wherever_they_are_read(tmp_path, capsys):
    path = tmp_path / "pool.npz"
    damaged_archive(path, labels=np.array([A, B]).T, gt=np.array(A))
    assert "is not an NPZ file of numbers or text" in complaint(path, capsys)
    with raises("damaged-file"):
        qt.bench(path, ["eac"], tmp_path / "results", n_members=2, draws=1)
    with raises("damaged-model"):
        load_model(path)


def test_column_names_that_are_not_text(tmp_path, capsys):
    path = tmp_path / "labels.parquet"
    pd.DataFrame({"abcdefgh": A, "b": B}).to_parquet(path, index=False)
    path.write_bytes(path.read_bytes().replace(b"abcdefgh", b"abc\xff\xfefgh"))
    assert "not text in UTF-8" in complaint(path, capsys)


def test_folders_that_vanish_while_parquet_is_sought(tmp_path, capsys, monkeypatch):
    def gone(folder):
        raise FileNotFoundError(2, "No such file or directory", folder)

    (tmp_path / "vanishing").mkdir()
    monkeypatch.setattr("os.scandir", gone)
    assert "is a folder without Parquet files" in complaint(tmp_path, capsys)


# Small files that would exhaust memory ------------------------------------------------------------------------------


def far_corner(path):
    """A workbook of less than 2 KB whose only cell is in the last row and column."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    cell = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="s" sheetId="1" '
        'r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData><row r="1"><c r="A1"><v>1</v></c></row>'
        f"{cell}</sheetData></worksheet>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
    assert path.stat().st_size < 2000


def test_a_workbook_that_declares_a_huge_sheet(tmp_path):
    """Its reader would allocate 513 GB and end the process."""
    pytest.importorskip("python_calamine")
    far_corner(tmp_path / "far.xlsx")
    with memory_limit("200MB"), raises("workbook-memory", error=MemoryError):
        open_table(tmp_path / "far.xlsx")


def test_a_workbook_that_needs_too_much_memory(tmp_path):
    workbook = pytest.importorskip("openpyxl").Workbook(write_only=True)
    pytest.importorskip("python_calamine")
    sheet = workbook.create_sheet()
    for _ in range(4000):
        sheet.append(["x"] * 200)
    workbook.save(tmp_path / "wide.xlsx")
    with memory_limit("30MB"), raises("workbook-memory"):
        open_table(tmp_path / "wide.xlsx")
    with memory_limit("2GB"), open_table(tmp_path / "wide.xlsx", header=False) as table:
        assert len(table.columns) == 200


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_arrow_buffers_that_decompress_to_too_much(tmp_path, compression):
    path = tmp_path / "bomb.arrow"
    zeros = np.zeros(3_000_000, dtype=np.int64)
    table = pa.table({"a": zeros, "b": pa.array(["x"] * 30).dictionary_encode().take(pa.array(zeros))})
    feather.write_feather(table, path, compression=compression, chunksize=1_000_000)
    assert path.stat().st_size < 300_000
    with memory_limit("20MB"), raises("memory", error=MemoryError):
        open_table(path)
    with memory_limit("1GB"), open_table(path) as table:
        assert table.n_rows == 3_000_000


@pytest.mark.parametrize("compression", ["zstd", "uncompressed"])
def test_sizes_of_arrow_batches(tmp_path, compression):
    table = pa.table({"a": np.arange(3000) % 7, "b": pa.array(["long text"] * 3000)})
    feather.write_feather(table, tmp_path / "t.arrow", compression=compression, chunksize=1000)
    sizes = arrow_batch_sizes(tmp_path / "t.arrow")
    assert len(sizes) == 3
    if compression == "zstd":
        assert sizes == [pytest.approx(batch.nbytes, rel=0.02) for batch in table.to_batches(max_chunksize=1000)]
    else:
        assert sizes == [0, 0, 0]


def test_the_sheets_of_a_workbook(tmp_path):
    workbook = pytest.importorskip("openpyxl").Workbook()
    pytest.importorskip("python_calamine")
    for name, column in (("first", "a"), ("second", "b")):
        sheet = workbook.create_sheet(name)
        for row in [("id", column), *((f"r{i}", i % 3) for i in range(30))]:
            sheet.append(row)
    del workbook["Sheet"]
    workbook.save(tmp_path / "t.xlsx")
    with warns("several-sheets"), open_table(tmp_path / "t.xlsx") as table:
        assert table.columns == ("id", "a")
    for sheet in ("second", 1):
        with open_table(tmp_path / "t.xlsx", sheet=sheet) as table:
            assert table.columns == ("id", "b")
    for sheet in ("third", 2, -1):
        with raises("sheet", parameter="sheet"):
            open_table(tmp_path / "t.xlsx", sheet=sheet)


def test_the_command_reads_the_sheet_of_a_workbook(tmp_path, capsys):
    workbook = pytest.importorskip("openpyxl").Workbook()
    pytest.importorskip("python_calamine")
    for name in ("first", "second"):
        sheet = workbook.create_sheet(name)
        for row in [("id", f"{name}_a", f"{name}_b"), *((f"r{i}", i % 3, i % 3) for i in range(30))]:
            sheet.append(row)
    del workbook["Sheet"]
    workbook.save(tmp_path / "t.xlsx")
    assert main(["weigh", str(tmp_path / "t.xlsx"), "--sheet", "second"]) == 0
    assert "second_a" in capsys.readouterr().out
    assert "must be one of 'first', 'second'" in complaint(tmp_path / "t.xlsx", capsys, "--sheet", "third")
