"""A tiny consensus function that follows the steps of CONTRIBUTING.md, and the steps themselves."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import quorate as qt
from quorate._utils.checks import check_integer
from quorate._utils.numbering import number_by_size
from quorate.algorithms import registry
from quorate.algorithms.base import FACTS, PROMISES, ConsensusMethod, Cuts
from quorate.ensemble import Ensemble

CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"


# Step 1: what it does to an ensemble.


def cluster_of_member(ens, member):
    """Return the cluster of each pattern in one member, 0 for its first; -1 where it says nothing."""
    ids = ens.patterns[:, member]
    return np.where(ids >= 0, ids - np.flatnonzero(ens.cluster_member == member)[0], -1)


# Step 2: what can be cut.


@dataclass(frozen=True)
class OneMember:
    """The clusters of one member; the smallest are put together where fewer are wanted."""

    ens: Ensemble
    member: int

    @property
    def max_clusters(self):
        return int((self.ens.cluster_member == self.member).sum())

    def cut(self, k):
        labels = number_by_size(cluster_of_member(self.ens, self.member), self.ens.counts)
        return np.minimum(labels, k - 1)

    def criterion(self):
        return None

    def caution(self, k):
        return None


# Steps 3 and 4: the method.


class Oracle(ConsensusMethod):
    """Believe one member."""

    name: ClassVar[str] = "oracle"
    idea: ClassVar[str] = "Believe one member."
    equation: ClassVar[str] = "label(u) = label of u in one member"
    strength: ClassVar[str] = "Nothing is quicker."
    weakness: ClassVar[str] = "The others are not heard."
    when: ClassVar[str] = "One member is known to be right."
    citation: ClassVar[str] = "nobody"
    cost: ClassVar[str] = "m"
    exact: ClassVar[str] = "all of it"

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        member: int = 0,
        weights: Any = "equal",
        beta: float = 2.0,
        normalize: str = "sqrt",
    ) -> None:
        self.n_clusters = n_clusters
        self.member = member
        self.weights = weights
        self.beta = beta
        self.normalize = normalize

    def _check(self):
        check_integer("member", self.member, low=0)

    def _solve(self, ens, influence):
        return OneMember(ens, self.member)


MEMBERS = [[1, 1, 1, 2, 2, 3], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(registry.METHODS, Oracle.name, Oracle)  # step 5


def test_the_method_works_wherever_methods_do(registered, tmp_path):
    result = qt.consensus(MEMBERS, 2, method="oracle", member=0)
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert result.confidence.shape == (6,)
    assert [cluster.size for cluster in result.clusters] == [3, 3]
    fitted = Oracle(3, member=1).fit(MEMBERS)
    assert fitted.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    assert fitted.sweep([1, 2, 3]).T.tolist() == [[0] * 6, [0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2]]
    assert fitted.predict([[1], [1], [1]]).tolist() == [0]
    assert "oracle" in [info.name for info in qt.methods()]
    (tmp_path / "labels.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in zip(*MEMBERS[:2], strict=True)))
    found = qt.consensus_file(tmp_path / "labels.csv", tmp_path / "out.csv", n_clusters=3, method="oracle", member=1)
    assert found.n_clusters == 3
    with pytest.raises(qt.QuorateError, match="member must be an integer of at least 0"):
        qt.consensus(MEMBERS, 2, method="oracle", member=-1)


@pytest.mark.parametrize("lacking", FACTS)
def test_a_method_that_says_too_little_fails_when_it_is_made(lacking):
    facts = {fact: "something" for fact in FACTS if fact != lacking}
    with pytest.raises(TypeError, match=f"The consensus method Silent lacks {lacking}. Add these texts"):
        type("Silent", (ConsensusMethod,), facts)


def test_bases_of_methods_say_nothing_yet():
    class Base(ConsensusMethod, abstract=True):
        pass

    with pytest.raises(TypeError, match="Mute lacks " + ", ".join(FACTS)):
        type("Mute", (Base,), {})


def test_a_method_is_excused_only_from_what_is_promised():
    facts = dict.fromkeys(FACTS, "something")
    type("Excused", (ConsensusMethod,), {**facts, "exceptions": {"components, single link": "chains"}})
    with pytest.raises(TypeError, match="exceptions of Sloppy must be among exactly k, .*got 'order'"):
        type("Sloppy", (ConsensusMethod,), {**facts, "exceptions": {"order": "it depends"}})


def test_the_steps_name_everything_there_is_to_do():
    text = CONTRIBUTING.read_text()
    steps = text[text.index("## Adding a consensus function") :]
    needed = [name for name in vars(Cuts) if not name.startswith("_")]
    needed += [*FACTS, *PROMISES, "exceptions", "limited_by_clusters", "_check", "_memory", "_solve", "METHODS"]
    needed += ["number_by_size", "n_clusters", "weights", "beta", "normalize", "__init__.pyi", "README", "changelog"]
    assert [word for word in needed if word not in steps] == []
