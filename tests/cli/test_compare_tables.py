"""`quorate compare`."""

import json

import pytest

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
