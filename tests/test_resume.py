import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from quorate import QuorateError
from quorate._runtime.checkpoints import Store, fingerprint, pack, unpack
from quorate.features.pool import draw_pool

ABOUT = {"task": "test", "version": 1}


def test_pieces_survive(tmp_path):
    path = tmp_path / "new" / "work.jsonl"
    with Store(path, ABOUT) as store:
        store.add("a", {"x": [1, 2.5, None]})
        store.add("b", "text\nwith\ttabs")
    with Store(path, ABOUT) as store:
        assert dict(store) == {"a": {"x": [1, 2.5, None]}, "b": "text\nwith\ttabs"}
        store.add("c", 3)
    with Store(path, ABOUT) as store:
        assert list(store) == ["a", "b", "c"]


@pytest.mark.parametrize("lost", [1, 3, 12, 17])
def test_a_half_written_piece_is_lost_and_nothing_else(tmp_path, lost):
    path = tmp_path / "work.jsonl"
    with Store(path, ABOUT) as store:
        store.add("a", 1)
        store.add("b", 2)
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - lost)
    with Store(path, ABOUT) as store:
        assert list(store) == ["a"]
        store.add("b", 22)
    with Store(path, ABOUT) as store:
        assert dict(store) == {"a": 1, "b": 22}


def test_a_half_written_first_line_starts_anew(tmp_path):
    path = tmp_path / "work.jsonl"
    path.write_bytes(b'["about", {"ta')
    with Store(path, ABOUT) as store:
        assert len(store) == 0
        store.add("a", 1)
    with Store(path, ABOUT) as store:
        assert dict(store) == {"a": 1}


def test_survives_being_killed(tmp_path):
    path = tmp_path / "work.jsonl"
    program = (
        "import sys\nfrom quorate._runtime.checkpoints import Store\n"
        "store = Store(sys.argv[1], {'task': 'kill'})\n"
        "for i in range(10**9):\n    store.add(str(i), 'x' * 5000)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(path)])
    while not path.exists() or path.stat().st_size < 500_000:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with Store(path, {"task": "kill"}) as store:
        assert len(store) >= 90
        assert list(store) == [str(i) for i in range(len(store))]
        assert all(piece == "x" * 5000 for piece in store.values())


def test_a_file_about_something_else_is_refused_and_kept(tmp_path):
    path = tmp_path / "work.jsonl"
    with Store(path, ABOUT) as store:
        store.add("a", 1)
    before = path.read_bytes()
    with pytest.raises(QuorateError, match=r"cannot be resumed: its version is 1, not 2\. It was left as it is"):
        Store(path, {**ABOUT, "version": 2})
    with pytest.raises(QuorateError, match="its data is None, not 'iris'"):
        Store(path, {**ABOUT, "data": "iris"})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"my notes",
        b"a,b\n1,2\n",
        b"line 1\nline 2 without newline",
        b'["a list of my own',
        b'["',
        b'["about", {"task": "another", "ver',
        b"\n",
        b"\nlast line",
    ],
)
def test_any_other_file_is_refused_and_kept(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(QuorateError, match="cannot be resumed"):
        Store(path, ABOUT)
    assert path.read_bytes() == content


def test_a_torn_tail_is_kept_where_the_file_is_about_something_else(tmp_path):
    path = tmp_path / "work.jsonl"
    with Store(path, ABOUT) as store:
        store.add("a", 1)
    with open(path, "ab") as file:
        file.write(b'["b", 2')
    before = path.read_bytes()
    with pytest.raises(QuorateError, match="cannot be resumed"):
        Store(path, {**ABOUT, "version": 2})
    assert path.read_bytes() == before
    with Store(path, ABOUT) as store:
        assert dict(store) == {"a": 1}


def test_a_pool_never_touches_a_file_of_others(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes(b"line 1\nline 2 without newline")
    with pytest.raises(QuorateError, match="It was left as it is"):
        draw_pool("iris", path=path)
    assert path.read_bytes() == b"line 1\nline 2 without newline"


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(QuorateError, match=r"cannot be written: Is a directory"):
        Store(tmp_path, ABOUT)


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "work.jsonl"
    with Store(path, ABOUT) as store:
        store.add("a", "value")
        store.add("b", 2)
    path.write_bytes(path.read_bytes().replace(b"value", b"valse"))
    with pytest.raises(QuorateError, match="line 2 is damaged"):
        Store(path, ABOUT)


def test_one_writer_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    with Store(tmp_path / "work.jsonl", ABOUT), pytest.raises(QuorateError, match="written by another process"):
        Store(tmp_path / "work.jsonl", ABOUT)
    Store(tmp_path / "work.jsonl", ABOUT).close()


def test_a_piece_is_never_replaced(tmp_path):
    with Store(tmp_path / "work.jsonl", ABOUT) as store:
        store.add("a", 1)
        with pytest.raises(QuorateError, match=r"'a' is in .* already"):
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
