"""What memory there is, on machines and in containers of any kind, and what is forecast."""

import os
import sys

import numpy as np
import pytest

import quorate as qt
from quorate import ensemble
from quorate._runtime import memory
from quorate.ensemble import ensemble_size
from quorate.tables.out_of_core.pattern_blocks import BLOCK, StoredEnsemble
from support import raises

GB = 10**9


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with nothing but what the test writes."""
    qt.consensus([[1, 1, 2, 2], [1, 1, 2, 3]], 2)  # libraries that want to know the machine are loaded by now
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_OWN_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.delattr(os, "sysconf", raising=False)

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path.joinpath(*name.split("__"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(text))

    return write, tmp_path


def limit(folder, names, bound, used, cache):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(names, (bound, used), strict=True):
        (folder / name).write_text(f"{text}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {cache}\ntotal_inactive_file {cache}\n")


SECOND = ("memory.max", "memory.current")
FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def test_linux_says_what_is_available(machine):
    machine[0](meminfo="MemTotal: 9000 kB\nMemAvailable:    2000 kB\n")
    assert memory.available_memory() == 2000 * 1024


def test_elsewhere_it_is_all_memory(machine, monkeypatch):
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}.__getitem__, raising=False)
    assert memory.available_memory() == 4096 * 1000


def test_without_a_known_memory_size_there_is_no_bound(machine):
    assert memory.available_memory() == sys.maxsize
    assert qt.consensus([[1, 1, 2, 2], [1, 1, 2, 3]], 2).labels.tolist() == [0, 0, 1, 1]


def test_a_container_of_the_second_version_bounds_it(machine):
    write, folder = machine
    write(meminfo="MemAvailable: 99000000 kB\n", cgroup="0::/\n")
    limit(folder / "groups", SECOND, 4 * GB, 3 * GB, GB)
    assert memory.available_memory() == 2 * GB  # the cache gives way
    limit(folder / "groups", SECOND, "max", 3 * GB, GB)
    assert memory.available_memory() == 99000000 * 1024


def test_the_tightest_of_nested_groups_counts(machine):
    write, folder = machine
    write(cgroup="0::/jobs/one\n")
    limit(folder / "groups" / "jobs" / "one", SECOND, 9 * GB, 0, 0)
    limit(folder / "groups" / "jobs", SECOND, 5 * GB, GB, 0)
    assert memory.available_memory() == 4 * GB


def test_a_container_of_the_first_version_bounds_it(machine):
    write, folder = machine
    write(cgroup="5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n")
    limit(folder / "groups" / "memory", FIRST, 3 * GB, 2 * GB, 0)  # as seen from inside, where the path is not mounted
    assert memory.available_memory() == GB
    limit(folder / "groups" / "memory" / "docker" / "abc", FIRST, 3 * GB, 2 * GB + 1, 0)
    assert memory.available_memory() == GB - 1


def test_a_group_that_is_over_its_limit_has_nothing_left(machine):
    _, folder = machine
    limit(folder / "groups", SECOND, GB, 2 * GB, 0)
    assert memory.available_memory() == 0


def test_forecasts_are_collected():
    labels = np.random.default_rng(0).integers(0, 3, (50, 4))
    with memory.forecasts() as found:
        qt.WCT(2).fit(labels)
    assert any("connected triples" in what and needed > 0 for what, needed in found)


@pytest.mark.parametrize("weighted", [False, True])
def test_agreement_is_the_same_where_overlaps_are_not_kept(monkeypatch, weighted):
    random = np.random.default_rng(1)
    labels = random.integers(-1, 6, (300, 25))
    weights = random.uniform(1, 2, 300) if weighted else None
    whole, parts = (qt.Ensemble(labels, row_weights=weights) for _ in range(2))
    expected = qt.agreement(whole)
    monkeypatch.setattr(ensemble, "DENSE_CLUSTERS", 10)
    with memory.memory_limit("255kB"):
        assert 12 * ensemble_size(parts).overlaps > 255_000
        np.testing.assert_array_equal(qt.agreement(parts), expected)
        assert "cooccurrence" not in vars(parts)
        np.testing.assert_array_equal(parts.cluster_sizes, whole.cooccurrence.diagonal())
        with raises("memory"):
            parts.cooccurrence  # noqa: B018
    np.testing.assert_array_equal(parts.cooccurrence.toarray(), whole.cooccurrence.toarray())


def test_overlaps_are_estimated_from_some_clusters(monkeypatch):
    labels = [np.arange(3000) // 3, np.arange(3000) // 5, np.arange(3000) // 7]
    ens = qt.Ensemble(labels)
    assert ensemble_size(ens).overlaps == pytest.approx(ens.cooccurrence.nnz, rel=0.1)


def forecast(method, ens):
    """What the fit is forecast to need, before anything is made, without the quarter that allocators keep."""
    with memory.forecasts() as found:
        method.fit(ens)
    return pytest.approx(found[0][1] / 1.25)


def test_a_fit_is_forecast_by_its_arrays():
    """500 patterns of 5 members with 20 clusters each: every array counted by hand."""
    ens = qt.Ensemble(np.random.default_rng(0).integers(0, 20, (500, 5)))
    assert (ens.n_patterns, ens.n_clusters) == (500, 100)
    overlaps = ens.cooccurrence.nnz
    assert ensemble_size(ens).overlaps == overlaps  # all 100 clusters were looked at
    kept = 8 * 100 * 5 + 12 * overlaps
    rows = 2 * 8 * 500
    dense = 5 * 8 * 100**2
    assert forecast(qt.GPMGLA(2), ens) == kept + max(36 * overlaps, 32 * overlaps + dense) + rows
    assert forecast(qt.LWGP(2), ens) == kept + 12 * overlaps + 4 * 8 * 100**2 + rows
    assert forecast(qt.WEAC(2), ens) == kept + (2 * 16 + 16) * 2500 + (16 * 20 + 10 * 8) * 500 + rows
    assert forecast(qt.WEAC(2, linkage="complete"), ens) == kept + 8 * 500**2 + rows
    through = 8 * 100**2 + 3 * 12 * 2500 + 12 * 8 * 500 + 8 * 500**2
    assert forecast(qt.WCT(2), ens) == kept + through + rows
    assert forecast(qt.WCT(2, linkage="complete"), ens) == kept + 8 * 100**2 + 8 * 500**2 + rows


@pytest.mark.parametrize("name", ["gp-mgla", "hbgf", "lwgp", "weac", "lwea", "wct", "srs"])
def test_a_fit_that_does_not_fit_is_refused_before_anything_is_made(name):
    ens = qt.Ensemble(np.random.default_rng(0).integers(0, 20, (500, 5)))
    with (
        memory.memory_limit("100kB"),
        raises("memory"),
    ):
        qt.consensus(ens, 2, method=name)
    assert not {"cooccurrence", "coverage", "incidence"} & set(vars(ens))


def test_overlaps_are_bounded_where_patterns_are_elsewhere():
    """Clusters of one member share no rows, and a pattern overlaps no more than the pairs of its clusters."""
    ens = qt.Ensemble([[0, 0, 1, 1], [0, 1, 2, 2]])
    assert super(qt.Ensemble, ens)._expected_overlaps == min(5**2 - 2**2 - 3**2 + 5, 3 * 2**2)


def test_three_blocks_of_stored_patterns_are_counted():
    class Store:
        n_patterns = 4 * BLOCK

    stored = StoredEnsemble(["a", "b"], [np.arange(600), np.arange(700)], "missing", 10**6, Store())
    assert ensemble_size(stored).patterns == 3 * BLOCK
    assert ensemble_size(stored).rows == 0


def test_available_memory_is_not_read_for_a_small_need(monkeypatch):
    looks = []
    monkeypatch.setattr(memory, "available_memory", lambda: looks.append(1) or GB)
    memory.require_memory(10.0 * 2**20, "A small matrix", "")
    assert not looks
    memory.require_memory(0.1 * GB, "A larger one", "")
    assert looks
    with raises("memory"):
        memory.require_memory(2.0 * GB, "A large one", "")
    monkeypatch.undo()
    with qt.memory_limit("1KB"), raises("memory"):
        memory.require_memory(2000.0, "A small matrix", "")
