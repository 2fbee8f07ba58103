"""Label tables in files: formats, dialects, kinds of columns, and writing all or nothing."""

import bz2
import gzip
import lzma
import os

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import quorate as qt
from quorate.cli import main
from quorate.errors import Setting
from quorate.tables.io import (
    LabelTable,
    check_output,
    find_format,
    match_columns,
    open_table,
    quote_name,
    write_table,
    writing,
)
from quorate.tables.io.dialect import find_dialect
from support import raises, warns

FRAME = pd.DataFrame(
    {
        "id": ["b", "a", "d", "c"],
        "whole": [3, 1, 2, 10],
        "text": ["x", "y, z", 'q"q', "ü"],
        "gaps": [1.0, np.nan, 2.0, -1.0],
    }
)


def contents(path, **options):
    """Return a table's columns as labels, None where missing, and their kinds."""
    with open_table(path, **options) as table:
        labels = ", ".join(f"{table.label(name)} AS c{j}" for j, name in enumerate(table.columns))
        found = table.sql(f"SELECT {labels} FROM {table.view}").fetchall()
        kinds = {name: profile.kind for name, profile in table.profile.items()}
        assert table.n_rows == len(found)
    columns = dict(zip(kinds, zip(*found, strict=True), strict=True))
    return {name: list(values) for name, values in columns.items()}, kinds


def expected():
    return {
        "id": ["b", "a", "d", "c"],
        "whole": [3, 1, 2, 10],
        "text": ["x", "y, z", 'q"q', "ü"],
        "gaps": [1, None, 2, -1],
    }


WRITERS = {
    "csv": lambda path: FRAME.to_csv(path, index=False),
    "tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "txt": lambda path: FRAME.to_csv(path, index=False, sep="|"),
    "csv.gz": lambda path: path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode())),
    "csv.bz2": lambda path: path.write_bytes(bz2.compress(FRAME.to_csv(index=False).encode())),
    "csv.xz": lambda path: path.write_bytes(lzma.compress(FRAME.to_csv(index=False).encode())),
    "parquet": lambda path: FRAME.to_parquet(path, index=False),
    "feather": lambda path: FRAME.to_feather(path),
    "npz": lambda path: np.savez(path, **{name: FRAME[name].to_numpy(str if FRAME[name].dtype.kind == "O" else None)
                                          for name in FRAME}),
}  # fmt: skip


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_is_read(ending, tmp_path):
    path = tmp_path / f"labels.{ending}"
    WRITERS[ending](path)
    found, kinds = contents(path)
    assert found == expected()
    assert kinds["whole"] == "integer"
    assert kinds["text"] == "text"


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "tsv.zst", "parquet", "arrow", "npz"])
def test_what_is_written_is_read_back(ending, tmp_path):
    source, target = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    WRITERS["csv"](source)
    with open_table(source) as table:
        named = ", ".join(f"{table.label(name)} AS {quote_name(name)}" for name in table.columns)
        write_table(table.sql(f"SELECT {named} FROM {table.view}"), target)
    assert contents(target)[0] == expected()
    assert {path.name for path in tmp_path.iterdir()} == {"in.csv", target.name}


def test_columns_may_have_the_names_of_numpys_parameters(tmp_path):
    source, target = tmp_path / "in.csv", tmp_path / "out.npz"
    source.write_text("x\n1\n")
    with open_table(source) as table:
        write_table(table.sql("SELECT 'a.txt' AS file, 1 AS allow_pickle, 2 AS args"), target)
    with np.load(target) as found:
        assert dict(found) == {"file": ["a.txt"], "allow_pickle": [1], "args": [2]}


def test_the_first_bytes_tell_the_format_where_the_name_does_not(tmp_path):
    for ending in ("parquet", "feather", "csv.gz", "npz"):
        named, bare = tmp_path / f"t.{ending}", tmp_path / "bare"
        WRITERS[ending](named)
        bare.write_bytes(named.read_bytes())
        assert contents(bare)[0] == expected()


def test_a_given_format_wins(tmp_path):
    path = tmp_path / "labels.data"
    WRITERS["tsv"](path)
    assert contents(path, format="tsv")[0] == expected()
    assert find_format("x.tar.gz").name == "csv"
    assert find_format("X.PARQUET").name == "parquet"


@pytest.mark.parametrize(
    ("text", "delimiter", "header", "columns"),
    [
        ("a,b\n1,2\n", ",", True, ("a", "b")),
        ("1,2\n3,4\n", ",", False, ("column_0", "column_1")),
        ("a;b,c\n1;2\n3;4\n", ";", True, ("a", "b,c")),
        ("x,y\ny,x\nx,y\n", ",", False, ("column_0", "column_1")),
        ("x,y\ny,x\nx,z\n", ",", True, ("x", "y")),
        (",m0,m1\n0,1,2\n", ",", True, ("index", "m0", "m1")),
        ('"a b"\t"c"\n1\t2\n', "\t", True, ("a b", "c")),
        ("one\n1\n2\n", ",", True, ("one",)),
        ("1,,2\n1,2,2\n", ",", False, ("column_0", "column_1", "column_2")),
        ("a,b\r\n1,2\r\n", ",", True, ("a", "b")),
    ],
)
def test_dialects(text, delimiter, header, columns):
    found = find_dialect(text, "table")
    assert (found.delimiter, found.header, found.columns) == (delimiter, header, columns)


def test_text_that_is_not_a_number_and_ids_stay_unchanged(tmp_path):
    (tmp_path / "t.csv").write_text("id,a,b,c,d\n007,1,1.0,0.5,1\n008,2,2.0,0.5,x\n009,NA,,1.5,NaN\n")
    found, kinds = contents(tmp_path / "t.csv")
    assert kinds == {"id": "integer", "a": "integer", "b": "integer", "c": "number", "d": "text"}
    assert found["a"] == [1, 2, None]
    assert found["b"] == [1, 2, None]
    assert found["d"] == ["1", "x", None]
    with open_table(tmp_path / "t.csv") as table:
        assert table.sql(f"SELECT {table.raw('id')} FROM {table.view}").fetchall() == [("007",), ("008",), ("009",)]


def test_a_kind_that_changes_late_in_the_file_is_noticed(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,1\n" * 50_000 + "x,1.5\n")
    assert contents(tmp_path / "t.csv")[1] == {"a": "text", "b": "number"}


@pytest.mark.parametrize("type", ["VARCHAR", "BIGINT", "UBIGINT", "DECIMAL(38, 0)"])
@pytest.mark.parametrize("large", [2**53, 2**63 - 2, 2**64 - 4])
def test_large_whole_numbers_are_distinguished(type, large, tmp_path):
    if type == "BIGINT" and large >= 2**63:
        pytest.skip("does not fit")
    cells = ", ".join(f"(CAST('{large + step}' AS {type}))" for step in (0, 1, 0, 1))
    duckdb.sql(f"SELECT a FROM (VALUES {cells}) AS t(a)").write_parquet(str(tmp_path / "t.parquet"))
    labels, _ = contents(tmp_path / "t.parquet")
    assert [str(label) for label in labels["a"]] == [str(large + step) for step in (0, 1, 0, 1)]


def test_floats_without_fractions_are_whole_numbers(tmp_path):
    values = "(1.0, 1.5, 1e300), (-1.0, 2.0, 2.0), ('nan'::DOUBLE, 3.0, 3.0)"
    duckdb.sql(f"SELECT * FROM (VALUES {values}) AS t(a, b, c)").write_parquet(str(tmp_path / "t.parquet"))
    labels, kinds = contents(tmp_path / "t.parquet")
    assert kinds == {"a": "integer", "b": "number", "c": "number"}
    assert labels["a"] == [1, -1, None]


def test_names_that_differ_only_in_case_or_hold_quotes(tmp_path):
    (tmp_path / "t.csv").write_text('a,A,"x ""y"" z",select\n1,2,3,4\n2,1,3,5\n')
    found, _ = contents(tmp_path / "t.csv")
    assert found == {"a": [1, 2], "A": [2, 1], 'x "y" z': [3, 3], "select": [4, 5]}


def test_paths_with_signs_that_match_several_files(tmp_path):
    for name in ("we[i]rd*.csv", "weird.csv"):
        (tmp_path / name).write_text(f"a,b\n1,{len(name)}\n")
    assert contents(tmp_path / "we[i]rd*.csv")[0]["b"] == [len("we[i]rd*.csv")]


def test_other_types_of_columns_are_refused_only_when_used(tmp_path):
    frame = FRAME.assign(day=pd.Timestamp("2020-01-01"), flag=[True, False, True, True])
    frame.to_parquet(tmp_path / "t.parquet")
    with open_table(tmp_path / "t.parquet") as table:
        assert table.profile["flag"].kind == "boolean"
        with raises("label-type"):
            table.label("day")


def test_columns_by_pattern(tmp_path):
    (tmp_path / "t.csv").write_text("id,k_1,k_2,[x]\n1,2,3,4\n")
    with open_table(tmp_path / "t.csv") as table:
        assert match_columns(table, ["k_*", "k_1", "[x]"]) == ["k_1", "k_2", "[x]"]
        with raises("unknown-column"):
            match_columns(table, ["K_1"])


def test_a_failed_write_leaves_the_old_file(tmp_path):
    def fail(path):
        with writing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        fail(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_and_permissions_are_usual(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    with writing(tmp_path / "link.csv") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "real.csv").read_text() == "new"
    assert (tmp_path / "link.csv").is_symlink()


def test_an_input_under_another_name_is_still_the_input(tmp_path):
    (tmp_path / "in.csv").write_text("a\n1\n")
    (tmp_path / "also.csv").symlink_to(tmp_path / "in.csv")
    with raises("output-is-input"):
        check_output(tmp_path / "also.csv", force=True, source=tmp_path / "in.csv")


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    from quorate._utils.optional_imports import import_extra

    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with raises("missing-package"):
        import_extra("pyarrow", "Reading")


# Headers ------------------------------------------------------------------------------------------------------------

LABELS = "\n".join(f"r{i},{i % 3},{i % 5}" for i in range(30))


def columns_of(path, text, **options):
    path.write_bytes(text.encode())
    with open_table(path, **options) as table:
        return table.columns, table.n_rows, table.head[table.columns[1]].tolist()


@pytest.mark.parametrize("blank", ["\n", "\r\n\r\n", "  \n\n"])
def test_blank_lines_before_a_header(tmp_path, blank):
    text = f"id,a,b\n{LABELS}\n".replace("\n", "\r\n" if "\r" in blank else "\n")
    columns, n_rows, cells = columns_of(tmp_path / "t.csv", blank + text)
    assert (columns, n_rows, cells[:3]) == (("id", "a", "b"), 30, ["0", "1", "2"])


@pytest.mark.parametrize("names", ["id,5,10", "id,k,10", "7,5,10", ",5,10"])
def test_numbers_for_names_are_names(tmp_path, names):
    with warns("header-guess"):
        columns, n_rows, _ = columns_of(tmp_path / "t.csv", f"{names}\n{LABELS}\n")
    assert columns == tuple(name or "index" for name in names.split(","))
    assert n_rows == 30


@pytest.mark.parametrize("table", [",0,1,2\na,0,1,1\nb,1,0,1\n", ",0,1\na,0,1\nb,1,0\n"])
def test_numbered_columns_with_named_rows(table):
    """What pandas writes for a frame that was transposed."""
    with warns("header-guess"):
        found = find_dialect(table, "table")
    assert found.header
    assert found.columns[0] == "index"


def test_warnings_keep_to_one_line():
    with pytest.warns(qt.QuorateWarning) as said:
        find_dialect('"a\nb",5,10\n' + LABELS, "table")
    assert "(a b,5,10)" in str(said[0].message)


def test_first_rows_of_numbers_that_come_again_are_data(tmp_path):
    assert columns_of(tmp_path / "t.csv", LABELS)[1] == 30
    features = "\n".join(f"r{i},{i / 7:.4f},{i * 1.1:.3f}" for i in range(30))
    assert columns_of(tmp_path / "t.csv", features)[1] == 30


def test_a_comma_at_the_end_of_every_line(tmp_path):
    text = "id,a,b\n" + LABELS
    with warns("trailing-delimiter"):
        columns, n_rows, cells = columns_of(tmp_path / "t.csv", text.replace("\n", ",\n") + ",")
    assert (columns, n_rows, cells[:3]) == (("id", "a", "b"), 30, ["0", "1", "2"])


def test_a_column_without_a_name_is_refused(tmp_path):
    with raises("unnamed-column"):
        columns_of(tmp_path / "t.csv", "id,,b\n" + LABELS)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_names_of_columns_follow_one_rule_in_all_formats(tmp_path, ending):
    def names_of(*names):
        table = pa.table([pa.array([1, 2])] * len(names), names=list(names))
        write = pa.parquet.write_table if ending == "parquet" else pa.feather.write_feather
        write(table, str(tmp_path / f"t.{ending}"))
        with open_table(tmp_path / f"t.{ending}") as opened:
            return opened.columns

    assert names_of("", "a") == columns_of(tmp_path / "t.csv", ",a\nx,1\ny,2\n")[0] == ("index", "a")
    with raises("unnamed-column"):
        names_of("a", "")
    with raises("unnamed-column"):
        names_of("", "index")
    with raises("repeated-column"):
        names_of("a", "b", "a")


@pytest.mark.parametrize("sign", ["\u2028", "\u0085", "\f", "\x1c"])
def test_signs_that_break_lines_elsewhere_are_part_of_a_name(tmp_path, sign):
    columns, n_rows, _ = columns_of(tmp_path / "t.csv", f"id,a{sign}a,b\n{LABELS}\n")
    assert (columns, n_rows) == (("id", f"a{sign}a", "b"), 30)


def test_a_last_line_of_many_megabytes_is_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"id,a,b\n" + LABELS.encode() + b"\nr30,1," + b"x" * (33 << 20))
    if duckdb.__version__.startswith("1."):  # it would drop the line
        with raises("endless-line"):
            open_table(path)
        return
    with open_table(path) as table:
        assert table.profiled(["a"])["a"].n_rows == 31


# Wide tables --------------------------------------------------------------------------------------------------------


def test_columns_are_profiled_in_batches(tmp_path):
    text = ",".join(f"m{j}" for j in range(120)) + "\n" + (",".join("1" * 120) + "\n") * 3
    (tmp_path / "t.csv").write_text(text)
    with open_table(tmp_path / "t.csv") as table:
        widths = []
        execute = table.connection.execute

        class Noting:
            def execute(self, query):
                widths.append(query.count("approx_count_distinct"))
                return execute(query)

        table.connection = Noting()
        assert {profile.kind for profile in table.profile.values()} == {"integer"}
        assert widths == [50, 50, 20]


def test_too_wide_a_table_is_refused_before_it_is_read(tmp_path, monkeypatch):
    text = ",".join(f"m{j}" for j in range(10_000)) + "\n" + (",".join("12" * 5000) + "\n") * 3
    (tmp_path / "t.csv").write_text(text)
    monkeypatch.setattr(LabelTable, "fetch", None)
    with raises("too-many-members"):
        qt.consensus_file(tmp_path / "t.csv", tmp_path / "out.csv")


# Formats that are only read, and those that are not ----------------------------------------------------------------


def test_workbooks_are_read(tmp_path):
    pytest.importorskip("python_calamine")
    workbook = pytest.importorskip("openpyxl").Workbook()
    for row in [("id", "a", "b"), *((f"r{i}", i % 3, "xy"[i % 2]) for i in range(30))]:
        workbook.active.append(row)
    workbook.save(tmp_path / "t.xlsx")
    with open_table(tmp_path / "t.xlsx") as table:
        assert table.columns == ("id", "a", "b")
        assert table.profile["a"].kind == "integer"
        assert table.head["b"].tolist()[:3] == ["x", "y", "x"]
    (tmp_path / "broken.xlsx").write_bytes(b"PK rubbish")
    with raises("damaged-file"):
        open_table(tmp_path / "broken.xlsx")


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.json", "t.jsonl.gz"])
def test_lines_of_json_are_read(tmp_path, name):
    FRAME.to_json(tmp_path / name, orient="records", lines=not name.endswith("json"))
    assert contents(tmp_path / name)[0] == expected()
    (tmp_path / "broken.jsonl").write_text('{"a": 1}\n{"a": ')
    with raises("damaged-file"):
        open_table(tmp_path / "broken.jsonl")


@pytest.mark.parametrize("ending", ["mat", "pkl", "rds"])
def test_unreadable_formats_are_refused_with_advice(tmp_path, ending):
    (tmp_path / f"t.{ending}").write_bytes(b"anything")
    with raises("foreign-format"):
        open_table(tmp_path / f"t.{ending}")


def test_integers_of_very_many_digits_are_not_called_infinite_only(tmp_path, capsys):
    rows = "".join(f"{'1' * 400 if row == 3 else row % 3},{row % 3},{row % 2}\n" for row in range(30))
    (tmp_path / "t.csv").write_text("a,b,c\n" + rows)
    for command, limit in (("combine", "1.8e+308"), ("cluster", "1e+140"), ("generate", "1e+140")):
        assert main([command, str(tmp_path / "t.csv"), "-o", str(tmp_path / "out.csv")]) == 2
        assert limit in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_text_in_utf_16_or_32(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(("id,a,b\n" + LABELS).encode(encoding))
    with raises("encoding") as raised:
        open_table(tmp_path / "t.csv")
    assert Setting("encoding", encoding) in raised.value.hint
    with open_table(tmp_path / "t.csv", encoding=encoding) as table:
        assert table.columns == ("id", "a", "b")


def test_arrays_whose_columns_would_share_a_name(tmp_path):
    np.savez(tmp_path / "t.npz", x=np.zeros((3, 2), int), x_0=np.ones(3, int))
    with raises("repeated-column"):
        open_table(tmp_path / "t.npz")


@pytest.mark.parametrize("name", ["out.json", "out.xlsx", "out.pdf", "out.parquet.gz"])
def test_unknown_endings_are_not_written(tmp_path, name):
    (tmp_path / "t.csv").write_text("id,a,b\n" + LABELS)
    with raises("output-format"):
        qt.consensus_file(tmp_path / "t.csv", tmp_path / name, members=["a", "b"])
    assert not (tmp_path / name).exists()


def test_outputs_are_never_among_the_inputs(tmp_path):
    (tmp_path / "parts").mkdir()
    frame = pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]})
    for part in range(2):
        frame.to_parquet(tmp_path / "parts" / f"p{part}.parquet")
    for source in (tmp_path / "parts", tmp_path / "parts" / "*.parquet"):
        for out in ("p0.parquet", "new.parquet"):
            with raises("output-is-input"):
                check_output(tmp_path / "parts" / out, force=True, source=source)
    check_output(tmp_path / "parts" / "new.csv", source=tmp_path / "parts" / "*.parquet")


def test_a_file_that_appears_meanwhile_stays(tmp_path, monkeypatch):
    out = tmp_path / "out.csv"

    def race():
        with writing(out, force=False) as temporary:
            temporary.write_text("mine")
            out.write_text("theirs")

    for linked in (True, False):
        if not linked:
            monkeypatch.setattr("os.link", lambda *_: (_ for _ in ()).throw(OSError(95, "no links here")))
        with raises("output-exists"):
            race()
        assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
        assert out.read_text() == "theirs"
        out.unlink()
        with writing(out, force=False) as temporary:
            temporary.write_text("mine")
        assert out.read_text() == "mine"
        out.unlink()


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_failed_write_names_the_output(tmp_path, ending, monkeypatch):
    (tmp_path / "t.csv").write_text("id,a,b\n" + LABELS)
    with open_table(tmp_path / "t.csv") as table:
        rows = table.sql(f"SELECT * FROM {table.view}")
        monkeypatch.setattr("secrets.token_hex", lambda *_: "missing/folder")
        with raises("cannot-write"):
            write_table(rows, tmp_path / f"out.{ending}")


def packed(text, path):
    path.write_bytes(gzip.compress(text, 1) if path.suffix == ".gz" else pa.Codec("zstd").compress(text, asbytes=True))
    return path


@pytest.mark.parametrize("ending", ["gz", "zst"])
@pytest.mark.parametrize(
    ("before", "length", "behind"), [(20, 33 << 20, ""), (1 << 22, 5 << 19, ""), (1 << 22, 5 << 19, "0,1\n" * 1000)]
)
def test_an_endless_line_of_a_packed_table(tmp_path, ending, before, length, behind):
    """The engine would drop it without a word, and all that is behind it."""
    text = "a,b\n" + "0,1\n" * before + "1," + "x" * length + "\n" + behind
    with raises("endless-line"):
        open_table(packed(text.encode(), tmp_path / f"labels.csv.{ending}"))


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_the_longest_line_of_a_packed_table(tmp_path, ending):
    text = "a,b\n" + "0,1\n" * (1 << 21) + "1," + "x" * ((1 << 21) - 3) + "\n" + "0,1\n" * 1000
    with open_table(packed(text.encode(), tmp_path / f"labels.csv.{ending}")) as table:
        assert table.n_rows == (1 << 21) + 1001


def test_an_endless_line_of_a_text_table(tmp_path, monkeypatch):
    monkeypatch.setattr("quorate.tables.io.reading._LONGEST_LINE", 1 << 22)
    path = tmp_path / "labels.csv"
    path.write_text("a,b\n" + "0,1\n" * 100_000 + "1," + "x" * (9 << 20) + "\n" + "0,1\n" * 1000)
    with raises("endless-line"):
        open_table(path)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "npz"])
def test_folders_whose_name_is_not_text(tmp_path, ending, capsys):
    source, folder = tmp_path / "labels.csv", tmp_path / os.fsdecode(b"out-\xff")
    source.write_text("a,b\n" + "0,0\n1,1\n" * 10)
    folder.mkdir()
    out, report = folder / f"out.{ending}", folder / "report.html"
    assert main(["combine", str(source), "-k", "2", "-q", "-o", str(out), "--report", str(report)]) == 0
    assert {file.name for file in folder.iterdir()} == {out.name, report.name}
    with open_table(out) as table:
        assert table.n_rows == 20


@pytest.mark.parametrize("first", ["id,", ""])
def test_columns_named_by_their_number_of_labels_that_are_counted_from_one(tmp_path, first):
    rows = [f"{f'r{i},' if first else ''}{i % 5 + 1},{i % 10 + 1},{i % 20 + 1}" for i in range(100)]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join([f"{first}5,10,20", *rows]))
    with warns("header-guess"):
        table = open_table(path)
    with table:
        assert table.columns[-3:] == ("5", "10", "20")
        assert table.n_rows == 100


def test_a_first_line_that_may_be_names_but_is_read_as_data(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("\n".join(["2,3,4", *(f"{i % 2 + 1},{i % 3 + 1},{i % 4 + 1}" for i in range(50))]))
    with warns("header-guess"):
        table = open_table(path)
    with table:
        assert table.n_rows == 51
    with open_table(path, header=True) as table:
        assert table.n_rows == 50


@pytest.mark.parametrize(
    "text",
    ['{"a": {"0": 1, "1": 2}, "b": {"0": 1, "1": 2}}', '{"a": [1, 1, 2, 2], "b": [1, 1, 2, 3]}', "[[1, 2], [1, 3]]"],
)
def test_json_by_columns(tmp_path, text):
    """As pandas writes it unless told otherwise."""
    (tmp_path / "labels.json").write_text(text)
    with raises("json-shape"):
        open_table(tmp_path / "labels.json")


def test_an_output_that_is_not_a_path(tmp_path):
    (tmp_path / "labels.csv").write_text("a,b\n" + "0,0\n1,1\n" * 10)
    with raises("output-path"):
        qt.consensus_file(tmp_path / "labels.csv", 3)


def test_links_to_nothing_and_names_that_are_too_long(tmp_path):
    """The name of a link was suggested for itself; a long name ended in an OSError."""
    (tmp_path / "link.csv").symlink_to("nothing.csv")
    for name in ("link.csv", "a" * 300 + ".csv"):
        with raises("no-file") as caught:
            qt.consensus_file(tmp_path / name, tmp_path / "out.csv")
        assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_names_that_differ_by_case_only_are_not_changed(tmp_path, kind):
    """The columns a and consensus were written as a_1 and consensus_1."""
    path, out, groups = tmp_path / f"t.{kind}", tmp_path / "out.csv", [0, 0, 1, 1, 2, 2]
    write = {"csv": pa.csv.write_csv, "parquet": pa.parquet.write_table, "arrow": pa.feather.write_feather}[kind]
    nested = {} if kind == "csv" else {"n": [{"x": 1, "y": {"z": 2}}] * 6}
    write(pa.table({"A": groups, **nested, "a": groups, "b": groups}), str(path))
    with raises("repeated-column"):
        qt.consensus_file(path, out, ["a", "b"], 3)
    answer = qt.consensus_file(path, out, ["a", "b"], 3, keep=["a"])
    assert answer.n_clusters == 3
    assert out.read_text().splitlines()[0].split(",")[:2] == ["a", "consensus"]
    write(pa.table({"Consensus": groups, "a": groups, "b": groups}), str(path))
    with raises("answer-exists"):
        qt.consensus_file(path, out, ["a", "b"], 3, force=True)
