"""`quorate compare`."""

import csv
import json

import pandas as pd
import pytest

import quorate as qt
from quorate.cli import main


@pytest.fixture
def months(tmp_path):
    january, february = tmp_path / "january.csv", tmp_path / "february.csv"
    january.write_text("id,consensus\na,0\nb,0\nc,1\nd,1\n")
    february.write_text("id,consensus\nb,5\na,5\nc,2\ne,2\n")
    return str(january), str(february)


def test_rows_are_matched_by_id(months, capsys):
    assert main(["compare", *months, "--json", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["added"], found["removed"]) == (3, 1, 1)
    assert found["kept"] == [[0, 5], [1, 2]]
    assert found["moved"] == []


def test_the_finding_comes_first(months, capsys):
    assert main(["compare", *months]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 of 2 clusters persist")


def test_moved_rows_are_listed_by_id(tmp_path, capsys):
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("id,consensus\na,0\nb,0\nc,0\nd,1\ne,1\n")
    new.write_text("id,consensus\na,0\nb,1\nc,0\nd,1\ne,1\n")
    assert main(["compare", str(old), str(new), "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["moved"] == ["b"]


def test_without_a_column_of_clusters_the_columns_are_listed(months, tmp_path, capsys):
    other = tmp_path / "other.csv"
    other.write_text("id,segment\na,0\nb,0\n")
    assert main(["compare", months[0], str(other)]) == 2
    message = capsys.readouterr().err
    assert "'segment'" in message
    assert "--label" in message


@pytest.fixture
def february(tmp_path):
    """Members of ten customers, of which two are new, and January's consensus of eight and one that left."""
    labels, january = tmp_path / "february.csv", tmp_path / "january.csv"
    rows = [f"c{i},{i // 5},{i // 5},{(i + 1) // 5}" for i in range(10)]
    labels.write_text("\n".join(["customer,tool_a,tool_b,other", *rows]) + "\n")
    january.write_text("customer,consensus\n" + "".join(f"c{i},{7 if i < 5 else 3}\n" for i in range(8)) + "gone,3\n")
    return str(labels), str(january)


def combined(capsys, *arguments):
    assert main(["combine", *arguments, "-o", "-", "-q"]) == 0
    lines = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    return dict(lines[1:])


def test_a_consensus_keeps_the_ids_of_an_earlier_one(february, capsys):
    labels, january = february
    found = combined(capsys, labels, "-k", "2", "--id", "customer", "--like", january)
    assert found == {f"c{i}": "7" if i < 5 else "3" for i in range(10)}


def test_runners_up_have_the_same_ids(february, tmp_path, capsys):
    labels, january = february
    out = tmp_path / "out.csv"
    options = ["-k", "2,3", "--id", "customer", "--like", january, "--confidence", "-q", "-o", str(out)]
    assert main(["combine", labels, *options]) == 0
    header, *lines = [line.split(",") for line in out.read_text().splitlines()]
    columns = {name: {line[header.index(name)] for line in lines} for name in header}
    assert columns["consensus_2"] == {"3", "7"}
    assert columns["runner_up_2"] <= {"-1", "3", "7"}


def test_the_command_prints_what_changed(february, capsys):
    labels, january = february
    assert main(["combine", labels, "-k", "2", "--id", "customer", "--like", january]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "2 of 2 clusters persist" in printed
    assert "Rows added: 2; removed: 1." in printed


def test_uncertain_rows_have_no_cluster(february, capsys):
    labels, _ = february
    found = combined(capsys, labels, "-k", "2", "--id", "customer", "--abstain", "0.9")
    assert found["c0"] == "0"
    assert found["c4"] == "-1"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--groups", "{tool}-*", "matches no member"),
        ("--groups", "nothing=x", "'nothing', which is not a member"),
        ("--groups", "tool_a", "takes a pattern"),
        ("--abstain", "2", "--abstain"),
        ("--like", "missing.csv", "missing.csv"),
    ],
)
def test_bad_options_have_one_message(february, option, value, message, capsys):
    assert main(["combine", february[0], "--id", "customer", option, value]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("Error") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("customer,consensus\nx1,0\n", "no row ID in common"),
        ("other,consensus\nx1,0\n", "no column 'customer'"),
        ("customer,segment\nc1,0\n", "no column 'consensus'"),
        ("customer,consensus\nc1,red\n", "integer cluster ids"),
        ("customer,consensus\nc1,0\nc1,1\n", "must be unique"),
    ],
)
def test_earlier_results_that_do_not_fit_are_refused(february, tmp_path, text, message, capsys):
    old = tmp_path / "old.csv"
    old.write_text(text)
    assert main(["combine", february[0], "--id", "customer", "--like", str(old)]) == 2
    assert message in capsys.readouterr().err


def test_without_ids_an_earlier_result_needs_the_same_rows(tmp_path, capsys):
    labels, old = tmp_path / "labels.csv", tmp_path / "old.csv"
    labels.write_text("a,b\n" + "0,0\n1,1\n" * 4)
    old.write_text("consensus\n0\n1\n")
    assert main(["combine", str(labels), "--like", str(old)]) == 2
    error = capsys.readouterr().err
    assert "2 rows" in error
    assert "--id" in error


def test_families_can_be_named(february, capsys):
    labels, _ = february
    members = []
    for groups in ("{family}_*", "tool_a=t,tool_b=t"):
        assert main(["combine", labels, "--id", "customer", "-k", "2", "--groups", groups, "--json", "-q"]) == 0
        members.append(json.loads(capsys.readouterr().out)["members"])
    assert members[0] == members[1]


def test_combine_writes_the_core(february, tmp_path, capsys):
    labels, january = february
    out = tmp_path / "core.csv"
    options = ["-k", "2", "--id", "customer", "--core", "1", "-q", "-o", str(out)]
    assert main(["combine", labels, *options]) == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    # The third member puts row 4 into the other cluster and row 9 into one of its own.
    assert [row["customer"] for row in rows if row["consensus_core"] == "-1"] == ["c4", "c9"]
    assert all(row["consensus_core"] in ("-1", row["consensus"]) for row in rows)
    assert main(["combine", labels, *options, "--like", january, "--force"]) == 0
    with out.open() as file:
        assert {row["consensus_core"] for row in csv.DictReader(file)} == {"7", "3", "-1"}


def test_combine_prints_groups_of_members(tmp_path, capsys):
    lines = [",".join([str(row // 30)] * 4 + [str(row // 15)] * 3) for row in range(60)]
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(["a1,a2,a3,a4,b1,b2,b3", *lines]) + "\n")
    assert main(["combine", str(labels), "-k", "2"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "two groups: 4 support 2 clusters (ARI 1.00 with this result), 3 support 4 clusters that split" in printed
    assert main(["weigh", str(labels)]) == 0
    assert "groups of 4 and 3" in " ".join(capsys.readouterr().out.split())


def test_columns_of_different_names_are_compared(tmp_path, capsys):
    frame = pd.DataFrame({"id": range(8), "type, old": list("BBBTTTTN"), "cluster": [0, 0, 0, 1, 1, 2, 2, 2]})
    path = str(tmp_path / "types.csv")
    frame.to_csv(path, index=False)
    assert main(["compare", path, path, "--label", '"type, old",cluster', "--json"]) == 0
    pairs = [
        (pair["first"], pair["second"], pair["relation"]) for pair in json.loads(capsys.readouterr().out)["matches"]
    ]
    expected = qt.match(frame["type, old"], frame["cluster"])
    assert pairs == [(pair.first, pair.second, pair.relation) for pair in expected]
    assert qt.compare(frame, frame, label=["type, old", "cluster"], id="id").ari < 1
    assert main(["compare", path, path, "--label", "a,b,c"]) == 2
    assert "--label must be one column" in capsys.readouterr().err


def test_an_earlier_result_needs_a_column_of_its_clusters(february, tmp_path, capsys):
    earlier = tmp_path / "segments.csv"
    pd.DataFrame({"id": range(3), "segment": range(3)}).to_csv(earlier, index=False)
    assert main(["combine", february[0], "--like", str(earlier)]) == 2
    printed = capsys.readouterr().err
    assert "no column 'consensus'" in printed
    assert "Rename" in printed
    assert "--set" not in printed
