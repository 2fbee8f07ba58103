"""Checkpoints survive killed processes, and files of other work are never changed."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import pytest

from quorate._runtime.checkpoints import Store, fingerprint, pack, peek, unpack
from quorate.features.pool import draw_pool
from support import raises

ABOUT = {"task": "test", "version": 1}


def test_pieces_survive(tmp_path):
    path = tmp_path / "new" / "work.sqlite"
    with Store(path, ABOUT) as store:
        store.add("a", {"x": [1, 2.5, None]})
        store.add("b", "text\nwith\ttabs")
    with Store(path, ABOUT) as store:
        assert dict(store) == {"a": {"x": [1, 2.5, None]}, "b": "text\nwith\ttabs"}
        store.add("c", 3)
    with Store(path, ABOUT) as store:
        assert list(store) == ["a", "b", "c"]


def test_an_empty_file_is_a_new_store(tmp_path):
    path = tmp_path / "work.sqlite"
    path.touch()
    with Store(path, ABOUT) as store:
        store.add("a", 1)
    assert peek(path) == (ABOUT, {"a": 1})


def test_a_killed_process_loses_nothing_that_was_finished(tmp_path):
    path = tmp_path / "work.sqlite"
    program = (
        "import sys\nfrom quorate._runtime.checkpoints import Store\n"
        "store = Store(sys.argv[1], {'task': 'kill'})\n"
        "for i in range(10**9):\n    store.add(str(i), 'x' * 5000)\n    print(i, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as process:
        while int(process.stdout.readline()) < 100:
            pass
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        last = int([line for line in process.stdout.read().split("\n") if line][-1])
    with Store(path, {"task": "kill"}) as store:
        assert len(store) in (last + 1, last + 2)
        assert list(store) == [str(i) for i in range(len(store))]
        assert all(piece == "x" * 5000 for piece in store.values())


def test_a_store_of_other_work_is_refused_and_not_changed(tmp_path):
    path = tmp_path / "work.sqlite"
    with Store(path, ABOUT) as store:
        store.add("a", 1)
    before = path.read_bytes()
    with raises("other-checkpoint"):
        Store(path, {**ABOUT, "version": 2})
    with raises("other-checkpoint"):
        Store(path, {**ABOUT, "data": "iris"})
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"my notes", b"a,b\n1,2\n", b"\n", b"SQLite format 3\0 but not really"])
def test_any_other_file_is_refused_and_not_changed(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with raises("not-a-checkpoint"):
        Store(path, ABOUT)
    with raises("not-a-checkpoint"):
        draw_pool("iris", path=path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_not_changed(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = path.read_bytes()
    with raises("not-a-checkpoint"):
        Store(path, ABOUT)
    assert path.read_bytes() == before


def test_a_folder_is_refused(tmp_path):
    with raises("not-writable"):
        Store(tmp_path, ABOUT)


def test_damage_is_detected(tmp_path):
    path = tmp_path / "work.sqlite"
    with Store(path, ABOUT) as store:
        store.add("a", "value")
    path.write_bytes(path.read_bytes().replace(b"value", b"valse"))
    with raises("not-a-checkpoint"):
        Store(path, ABOUT)


def test_a_piece_without_content_is_detected(tmp_path):
    """It ended in an AttributeError."""
    with Store(tmp_path / "work.sqlite", ABOUT) as store:
        store.add("a", "value")
    with closing(sqlite3.connect(tmp_path / "work.sqlite")) as connection:
        connection.executescript("DROP TABLE pieces; CREATE TABLE pieces (key, content, checksum);")
        connection.execute("INSERT INTO pieces VALUES ('a', NULL, 0)")
        connection.commit()
    with raises("not-a-checkpoint"):
        Store(tmp_path / "work.sqlite", ABOUT)


def test_one_writer_at_a_time_and_readers_at_any_time(tmp_path):
    path = tmp_path / "work.sqlite"
    with raises("no-checkpoint"):
        peek(path)
    with Store(path, ABOUT) as store:
        store.add("a", 1)
        with raises("checkpoint-in-use"):
            Store(path, ABOUT)
        assert peek(path) == (ABOUT, {"a": 1})
        store.add("b", 2)
    Store(path, ABOUT).close()


def test_a_piece_is_never_replaced(tmp_path):
    with Store(tmp_path / "work.sqlite", ABOUT) as store:
        store.add("a", 1)
        with raises("repeated-piece"):
            store.add("a", 2)
        assert store["a"] == 1


@pytest.mark.parametrize(
    "array", [np.arange(6, dtype=np.int16).reshape(2, 3).T, np.array([0.1, np.nan]), np.zeros((0, 2))]
)
def test_arrays_are_packed_exactly(array):
    packed = unpack(pack(array))
    assert packed.dtype == array.dtype
    np.testing.assert_array_equal(packed, array)


def test_fingerprints_differ():
    array = np.arange(4.0)
    same, other = fingerprint(array.copy()), array.copy()
    other[3] = np.nextafter(3.0, 4.0)
    assert fingerprint(array) == same
    assert len({same, fingerprint(other), fingerprint(array.reshape(2, 2)), fingerprint(array.astype(np.float32))}) == 4
