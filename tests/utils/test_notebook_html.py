"""What notebooks show: cards without a script, in which user text is text."""

from html.parser import HTMLParser

import pytest

import quorate as qt
from quorate.algorithms.registry import method_title

NASTY = "<script>window.hacked = 1</script>"


class Strict(HTMLParser):
    """Collects tags and texts; knows only what a card may hold."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert tag in {"div", "span", "b", "br", "table", "thead", "tbody", "tr", "th", "td"}
        assert {name for name, _ in attrs} <= {"style"}

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def ens():
    labels = [[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, None, 2, 2]]
    return qt.Ensemble(labels, names=["plain", NASTY, "gaps"])


def test_an_ensemble_shows_its_members(ens):
    shown = Strict(ens._repr_html_())
    assert NASTY in shown.texts
    assert {"6", "3", "7", "plain", "gaps"} <= set(shown.texts)
    assert any(text.startswith("0.833") for text in shown.texts)


@pytest.mark.parametrize("method", [info.name for info in qt.methods()])
@pytest.mark.filterwarnings("ignore::quorate.QuorateWarning")
def test_results_and_estimators_show_the_same_figures(ens, method):
    result = qt.consensus(ens, 2, method)
    shown = Strict(result._repr_html_())
    assert f"Consensus by {method_title(method)}" in shown.texts
    for cluster in result.clusters:
        assert any(text.startswith(f"{cluster.stability:.3f}") for text in shown.texts)
    assert NASTY in shown.texts
    fitted = result.estimator._repr_mimebundle_()["text/html"]
    assert Strict(fitted).texts[1:] == shown.texts[1:]


def test_the_least_trusted_members_come_first_whatever_they_count():
    groups = [j // 10 for j in range(40)]
    members = {"good": groups, "dice": [j * 7 % 4 for j in range(40)], "also good": groups}
    texts = Strict(qt.EAC(4).fit(qt.Ensemble(members))._repr_mimebundle_()["text/html"]).texts
    assert texts.index("dice") < min(texts.index("good"), texts.index("also good"))


def test_an_estimator_before_fit_shows_its_parameters():
    assert "single" in qt.WEAC(2, linkage="single")._repr_mimebundle_()["text/html"]


def test_a_dendrogram_shows_what_lasts(running_example):
    """At most five numbers of clusters, the longest lifetimes first."""
    shown = Strict(qt.WEAC(2).fit(running_example).dendrogram_._repr_html_()).texts
    facts, lasting = shown[1:10:3], [text.strip() for text in shown[12:]]
    assert (shown[0], facts) == ("Dendrogram", ["4", "6", "2"])
    assert lasting == ["2", "0.425", "3", "0.274", "4", "0.241"]
    many = qt.WEAC(2).fit([[i // j for i in range(24)] for j in (1, 2, 3, 4, 6, 8)]).dendrogram_
    assert len(Strict(many._repr_html_()).texts[12:]) == 10
    one = Strict(qt.WEAC(1).fit([[0, 0, 0]]).dendrogram_._repr_html_()).texts
    assert one[1:10:3] == ["1", "3", "1"]


def test_many_members_are_cut_off_and_long_names_shortened():
    ens = qt.Ensemble([[0, 1] * 30] * 40, names=[f"{'x' * 500}{j}" for j in range(40)])
    text = ens._repr_html_()
    assert "and 28 more" in text
    assert len(text) < 10_000
