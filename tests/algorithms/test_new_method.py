"""The smallest consensus method, following the steps of CONTRIBUTING.md, and the steps themselves."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import quorate as qt
from quorate._utils.checks import check_integer
from quorate._utils.numbering import number_by_size
from quorate.algorithms import registry
from quorate.algorithms.base import FACTS, PROMISES, ConsensusMethod, Cuts
from quorate.ensemble import Ensemble
from support import raises

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


# Step 1: the computation on an ensemble.


def member_labels(ens, member):
    """Return the cluster of each pattern in one member, 0 for its first; -1 where the label is missing."""
    ids = ens.patterns[:, member]
    return np.where(ids >= 0, ids - np.flatnonzero(ens.cluster_member == member)[0], -1)


# Step 2: a record that can be cut.


@dataclass(frozen=True)
class MemberCuts:
    """The clusters of one member; the smallest ones are merged if fewer are requested."""

    ens: Ensemble
    member: int

    @property
    def max_clusters(self):
        return int((self.ens.cluster_member == self.member).sum())

    def cut(self, k):
        labels = number_by_size(member_labels(self.ens, self.member), self.ens.counts)
        return np.minimum(labels, k - 1)

    def criterion(self):
        return None

    def caution(self, k):
        return None


# Steps 3 and 4: the method.


class OneMember(ConsensusMethod):
    """One member: return its clusters.

    Parameters
    ----------
    member : int, default 0
        Position of the member.
    """

    name = "one-member"
    idea = "Return the clusters of one member."
    equation = "label(u) = label of u in one member"
    strength = "Nothing is faster."
    weakness = "The other members have no influence."
    when = "One member is known to be right."
    citation = "No source"
    cost = "m"
    exact = "labels of all rows"
    member: int = 0

    def _check(self):
        check_integer("member", self.member, low=0)

    def _solve(self, ens, influence):
        return MemberCuts(ens, self.member)


MEMBERS = [[1, 1, 1, 2, 2, 3], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(registry.METHODS, OneMember.name, OneMember)  # step 5


def test_new_method_works_like_the_others(registered, tmp_path):
    result = qt.consensus(MEMBERS, 2, method="one-member", member=0)
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert result.confidence.shape == (6,)
    assert [cluster.size for cluster in result.clusters] == [3, 3]
    fitted = OneMember(3, member=1).fit(MEMBERS)
    assert fitted.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    assert fitted.sweep([1, 2, 3]).T.tolist() == [[0] * 6, [0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2]]
    assert fitted.predict([[1], [1], [1]]).tolist() == [0]
    assert "one-member" in [info.name for info in qt.methods()]
    (tmp_path / "labels.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in zip(*MEMBERS[:2], strict=True)))
    file = qt.consensus_file(tmp_path / "labels.csv", tmp_path / "out.csv", n_clusters=3, method="one-member", member=1)
    assert file.n_clusters == 3
    with raises("integer", "member"):
        qt.consensus(MEMBERS, 2, method="one-member", member=-1)


def test_docstring_describes_own_and_shared_parameters():
    text = OneMember.__doc__
    for name in OneMember().get_params():
        assert f"\n{name} : " in text
    assert text.index("member : int") < text.index("weights : ")
    assert "labels_\n    (n,) consensus label of each row" in text


def test_undescribed_parameter_is_rejected():
    facts = dict.fromkeys(FACTS, "text")
    with pytest.raises(TypeError, match="docstring of Terse does not describe its parameter speed"):
        type("Terse", (ConsensusMethod,), {**facts, "__annotations__": {"speed": "int"}, "speed": 1})


@pytest.mark.parametrize("missing", FACTS)
def test_method_without_a_text_is_rejected(missing):
    facts = {fact: "text" for fact in FACTS if fact != missing}
    with pytest.raises(TypeError, match=f"The consensus method Silent lacks {missing}. Add these texts"):
        type("Silent", (ConsensusMethod,), facts)


def test_bases_of_methods_need_no_texts():
    class Base(ConsensusMethod, abstract=True):
        pass

    with pytest.raises(TypeError, match="Silent lacks " + ", ".join(FACTS)):
        type("Silent", (Base,), {})


def test_exceptions_are_exceptions_to_promises():
    facts = dict.fromkeys(FACTS, "text")
    type("Excused", (ConsensusMethod,), {**facts, "exceptions": {"components, single link": "chains"}})
    with pytest.raises(TypeError, match="exceptions of Sloppy must be among exactly k, .*got 'order'"):
        type("Sloppy", (ConsensusMethod,), {**facts, "exceptions": {"order": "it depends"}})


def test_contributing_names_every_step():
    text = CONTRIBUTING.read_text()
    steps = text[text.index("## Adding a consensus method") :]
    needed = [name for name in vars(Cuts) if not name.startswith("_")]
    needed += [*FACTS, *PROMISES, "exceptions", "limited_by_clusters", "_check", "_memory", "_solve", "METHODS"]
    needed += ["number_by_size", "n_clusters", "weights", "beta", "normalize", "__init__.pyi", "README", "changelog"]
    assert [word for word in needed if word not in steps] == []
