"""The explorer in a real browser: every part is clicked through, and what it shows is what the library says."""

import io
import json
import re
import time

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment

import quorate as qt
from browser import Page, open_browser

pytest.importorskip("starlette", reason='Install it with: pip install "quorate[explore]"')
pytest.importorskip("uvicorn")

from quorate.explorer.views import VIEWS
from support import EndlessView

NASTY = "</script><script>window.hacked = 1</script><b>\"&'"
NAMES = ["alpha", "beta", "gamma", NASTY, "x" * 10_000, "\u202eevil\u202c"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 240)
    members = [np.where(rng.random(240) < 0.2, rng.integers(0, 4, 240), truth) for _ in range(5)]
    labels = pd.DataFrame(dict(zip(NAMES, [*members, rng.integers(0, 4, 240)], strict=True)))
    xy = np.column_stack([truth + rng.normal(0, 0.2, 240), rng.normal(size=240)])
    return labels, truth, xy


@pytest.fixture(scope="module")
def running(data):
    labels, truth, xy = data
    ids = [f"{NASTY}{row}" for row in range(240)]
    with qt.explore(labels, truth=truth, xy=xy, ids=ids, name=NASTY, open_browser=False) as running:
        yield running


@pytest.fixture(scope="module")
def chromium():
    with open_browser() as browser:
        yield browser


class Shown(Page):
    """The explorer in a page."""

    def start(self, url):
        self.open(url)
        self.page.wait_for_selector("html[data-drawn]")
        return self

    def answered(self, action):
        """Do something that changes the answer, and wait until all of it is drawn."""
        before = int(self.run("document.documentElement.dataset.drawn"))
        action()
        self.until("before => Number(document.documentElement.dataset.drawn) > before", before)

    def until(self, script, given):
        """Wait until a function in the page is true. (The page forbids eval, by which Playwright would wait.)"""
        deadline = time.monotonic() + 120
        while not self.page.evaluate(script, given):
            assert time.monotonic() < deadline, (script, given)
            self.page.wait_for_timeout(20)

    def go(self, tab):
        self.answered(lambda: self.page.click(f"[data-tab={tab}]"))

    def wait_text(self, selector, text):
        script = "([s, t]) => document.querySelector(s).textContent.includes(t)"
        self.until(script, [selector, text])

    def sizes(self):
        return [int(text.replace(",", "")) for text in self.column("clusters", 1)]

    def labels(self):
        """The labels that can be taken away."""
        before = self.page.get_attribute("[role=tab][aria-selected=true]", "data-tab")
        self.go("take")
        labels = pd.read_csv(self.saved("#csv").path())["consensus"].tolist()
        self.go(before)
        return labels

    def shows(self, result):
        """Whether sizes and labels are those of an answer of the library."""
        return self.sizes() == sizes(result) and self.labels() == result.labels.tolist()

    def saved(self, button):
        with self.page.expect_download() as waiting:
            self.page.click(button)
        return waiting.value

    def clean(self, url):
        assert self.problems == []
        assert self.run("window.hacked") is None
        assert [one for one in self.requests if not one.startswith((url, "data:", "blob:"))] == []


def sizes(result):
    return [cluster.size for cluster in result.clusters]


def test_members_are_switched_weighed_and_compared(chromium, running, data):
    labels, _, _ = data
    ens = qt.Ensemble(labels)
    with Shown(chromium).start(running.url) as page:
        assert [text[:40] for text in page.column("members", 1)] == [name[:40] for name in NAMES]
        assert page.page.inner_text("#headline").startswith(f"{qt.consensus(ens).n_clusters} clusters (")
        trust = [float(text) for text in page.column("members", 3)]
        assert trust == pytest.approx(qt.trust(ens).tolist(), abs=0.0006)
        page.answered(lambda: page.page.uncheck("[data-member='5']"))
        page.answered(lambda: page.page.uncheck("[data-member='0']"))
        page.go("answer")
        assert page.shows(qt.consensus(ens.select([1, 2, 3, 4])))
        page.go("members")
        page.answered(lambda: page.page.click("#all-on"))
        page.page.fill("[data-weight='1']", "0.25")
        page.answered(lambda: page.page.press("[data-weight='1']", "Tab"))
        influence = qt.consensus(ens).member_weights
        influence = influence / influence.max()
        influence[1] = 0.25
        by_hand = qt.consensus(ens, weights=influence)
        weight = [float(text.rstrip("%")) for text in page.column("members", 4)]
        assert weight == pytest.approx((100 * by_hand.member_weights).tolist(), abs=0.051)
        assert page.labels() == by_hand.labels.tolist()
        page.answered(lambda: page.page.click("#forget"))
        page.answered(lambda: page.page.select_option("#by", "equal"))
        weight = [float(text.rstrip("%")) for text in page.column("members", 4)]
        equal = qt.consensus(ens, weights="equal").member_weights
        assert weight == pytest.approx((100 * equal).tolist(), abs=0.051)
        assert "NCAI" not in page.page.inner_text("#members thead")
        page.answered(lambda: page.page.select_option("#by", "ncai"))
        ncai = [float(text) for text in page.column("members", 7)]
        assert ncai == pytest.approx(qt.ncai(ens).tolist(), abs=0.0006)
        page.answered(lambda: page.page.select_option("#by", "trust"))
        page.answered(lambda: page.page.click("#unreliable-off"))
        assert json.loads(page.run("new URLSearchParams(location.hash.slice(1)).get('off')")) == [5]
        page.page.fill("#match", "alph")
        page.answered(lambda: page.page.click("#match-off"))
        assert json.loads(page.run("new URLSearchParams(location.hash.slice(1)).get('off')")) == [0, 5]
        page.answered(lambda: page.page.click("#all-on"))
        page.page.click("#members thead th:nth-child(5) button")
        by_weight = np.argsort(-qt.consensus(ens, weights="trust").member_weights, kind="stable")
        assert [text[:40] for text in page.column("members", 1)] == [NAMES[j][:40] for j in by_weight]
        page.page.select_option("#one", "1")
        page.page.select_option("#other", "2")
        page.wait_text("#pair-note", f"{qt.agreement(ens, measure='ami')[1, 2]:.3f}")
        cells = [[int(text.replace("·", "0")) for text in page.column("pair", j + 1)] for j in range(4)]
        assert np.array_equal(np.array(cells).T, pd.crosstab(labels["beta"], labels["gamma"]).to_numpy())
        before = page.page.inner_text("#pair-note")
        page.page.click("#agreement canvas", position={"x": 400, "y": 200})
        page.until("t => document.querySelector('#pair-note').textContent !== t", before)
        page.clean(running.url)


def test_the_answer_follows_method_k_and_parameters(chromium, running, data):
    labels, _, _ = data
    with Shown(chromium).start(running.url) as page:
        page.go("answer")
        choice = qt.choose_k(labels)
        assert page.page.inner_text("#suggested") == f"Automatic choice: {choice.sentence}"
        assert page.page.inner_text("#structure").startswith(qt.label_structure(labels).sentence)
        candidates = page.page.locator("[data-candidate]").all_inner_texts()
        assert candidates == [str(one.n_clusters) for one in choice.candidates]
        page.answered(lambda: page.page.click(f"[data-candidate='{candidates[1]}']"))
        assert page.run("document.activeElement.dataset.candidate") == candidates[1]
        assert page.shows(qt.consensus(labels, int(candidates[1])))
        page.answered(lambda: page.page.click("#by-k [data-k='5']"))
        assert page.shows(qt.consensus(labels, 5))
        page.answered(lambda: page.page.click("#more"))
        six = qt.consensus(labels, 6)
        assert page.shows(six)
        stability = [float(text) for text in page.column("clusters", 3)]
        assert stability == pytest.approx([cluster.stability for cluster in six.clusters], abs=0.0006)
        for text, cluster in zip(page.column("clusters", 4), six.clusters, strict=True):
            name, share = cluster.opponents[0] if cluster.opponents else ("none", None)
            assert text.startswith(name[:20])
            shown = re.findall(r"\((\d+)%\)", text)
            assert share is None or int(shown[0]) == pytest.approx(100 * share, abs=0.51)
        page.page.fill("#param-beta", "3")
        page.answered(lambda: page.page.press("#param-beta", "Tab"))
        assert page.shows(qt.consensus(labels, 6, beta=3.0))
        assert page.page.is_visible("#eigen svg")
        assert not page.page.is_visible("#tree")
        page.answered(lambda: page.page.select_option("#method", "weac"))
        assert page.shows(qt.consensus(labels, 6, "weac"))
        matrix = page.run("document.querySelector('#matrix canvas').toDataURL()")
        page.page.click("#sizes rect[data-cluster='1']")
        assert page.run("document.querySelector('#matrix canvas').toDataURL()") != matrix
        page.page.click("#chip")
        drag_the_cut(page, labels)
        page.answered(lambda: page.page.click("#auto"))
        assert page.shows(qt.consensus(labels, "auto", "weac"))
        page.clean(running.url)


def drag_the_cut(page, labels):
    page.run("document.querySelector('#tree .line').scrollIntoView({ block: 'center' })")
    box = page.page.locator("#tree .line").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x, y - 40, steps=4)
    said = page.run("[...document.querySelectorAll('#tree text')].pop().textContent")
    page.answered(page.page.mouse.up)
    k = int(said.removeprefix("k = "))
    assert k < 6
    assert page.shows(qt.consensus(labels, k, "weac"))


def moved(left, right):
    """How many rows are not where the partner of their cluster is, partners sharing as many rows as possible."""
    table = pd.crosstab(np.asarray(left), np.asarray(right)).to_numpy()
    return 240 - table[linear_sum_assignment(-table)].sum()


def test_answers_are_compared(chromium, running, data):
    labels, truth, _ = data
    mine = qt.consensus(labels, 4).labels
    with Shown(chromium).start(running.url + "#k=4&tab=%22compare%22") as page:
        for choose, other in (
            (lambda: page.page.select_option("#against", "truth"), truth),
            (lambda: page.page.select_option("#against", "2"), labels["gamma"]),
            (lambda: page.page.select_option("#against", "answer"), qt.consensus(labels, "auto", "weac").labels),
        ):
            choose()
            scores = qt.evaluate(mine, other)
            for score in (scores.ari, scores.ami, scores.nmi_sqrt):
                page.wait_text("#compare-tiles", f"{score:.3f}")
            page.wait_text("#compare-note", f"{moved(mine, other)} of 240 rows change cluster")
            assert page.run("document.querySelectorAll('#flow path').length") > 3
        page.page.fill("#other-k", "3")
        page.page.press("#other-k", "Tab")
        page.wait_text("#compare-tiles", f"{qt.evaluate(mine, qt.consensus(labels, 3, 'weac').labels).ari:.3f}")
        page.page.click("#pin")
        page.wait_text("#compare-tiles", "1.000")
        page.answered(lambda: page.page.click("#fewer"))
        page.wait_text("#compare-tiles", f"{qt.evaluate(qt.consensus(labels, 3).labels, mine).ari:.3f}")
        page.page.click("#moved button.link")
        page.page.wait_for_selector("#row:not([hidden])")
        page.clean(running.url)


def test_rows_are_found_shown_and_selected(chromium, running, data):
    labels, _, xy = data
    result = qt.consensus(labels, 4)
    with Shown(chromium).start(running.url + "#k=4&tab=%22rows%22") as page:
        least = np.lexsort((np.arange(240), result.confidence))
        assert page.column("rows", 0) == [f"{NASTY}{row}" for row in least[:25]]
        page.page.click("#next")
        page.until("t => document.querySelector('#rows td').textContent === t", f"{NASTY}{least[25]}")
        page.page.fill("#find", f"{NASTY}17")
        page.wait_text("#rows-note", "1 row with this name")
        page.page.click("#rows button.link")
        page.wait_text("#row-title", f"{NASTY}17 is in cluster {result.labels[17]}")
        assert page.column("votes", 1) == [str(label) for label in labels.iloc[17]]
        page.page.fill("#find", "")
        page.wait_text("#rows-note", "240 rows")
        page.answered(lambda: page.page.select_option("#color", "confidence"))
        lasso(page, xy, result)
        page.page.click("#clear")
        page.page.wait_for_selector("#selection", state="hidden")
        page.go("answer")
        page.page.click("#histogram [role=button]")
        page.page.wait_for_selector("#bin-chip:not([hidden])")
        first = int(np.flatnonzero(np.histogram(result.confidence, bins=20, range=(0, 1))[0])[0])
        expected = np.sum(np.minimum((result.confidence * 20).astype(int), 19) == first)
        page.wait_text("#rows-note", f"{expected} row")
        page.clean(running.url)


def lasso(page, xy, result):
    """Draw around the left half of the picture: what is counted are the rows there."""
    page.run("document.querySelector('#scatter canvas').scrollIntoView({ block: 'center' })")
    box = page.page.locator("#scatter canvas").bounding_box()
    corners = [(0.02, 0.02), (0.5, 0.02), (0.5, 0.98), (0.02, 0.98)]
    points = [(box["x"] + a * box["width"], box["y"] + b * box["height"]) for a, b in corners]
    page.page.mouse.move(*points[0])
    page.page.mouse.down()
    for point in points[1:]:
        page.page.mouse.move(*point, steps=3)
    page.page.mouse.up()
    page.page.wait_for_selector("#selection:not([hidden])")
    polygon = json.loads(page.run("new URLSearchParams(location.hash.slice(1)).get('polygon')"))
    edge = max(x for x, _ in polygon)
    inside = xy[:, 0] < edge
    page.wait_text("#selection-title", f"{inside.sum()} rows selected")
    counts = np.bincount(result.labels[inside], minlength=4)
    shown = page.run("[...document.querySelectorAll('#selection-sizes rect')].map(r => r.getAttribute('aria-label'))")
    assert [int(text.split(": ")[1].split(" ")[0]) for text in shown] == [n for n in counts if n]


def test_labels_figures_code_and_address_are_taken_away(chromium, running, data):
    labels, _, _ = data
    address = running.url + "#method=%22weac%22&k=3&off=%5B5%5D&tab=%22take%22"
    result = qt.consensus(qt.Ensemble(labels).select([0, 1, 2, 3, 4]), 3, "weac")
    with Shown(chromium).start(address) as page:
        table = pd.read_csv(page.saved("#csv").path())
        assert table["consensus"].tolist() == result.labels.tolist()
        parquet = pd.read_parquet(io.BytesIO(page.saved("#parquet").path().read_bytes()))
        assert parquet["consensus"].tolist() == result.labels.tolist()
        space = {"labels": labels}
        exec(page.page.inner_text("#python"), space)
        assert space["result"].labels.tolist() == result.labels.tolist()
        shown = page.page.inner_text("#address")
        assert sorted(shown.partition("#")[2].split("&")) == sorted(address.partition("#")[2].split("&"))
        for figure in ("sizes", "matrix"):
            page.page.select_option("#figure", figure)
            assert page.saved("#svg").path().read_text().startswith("<svg")
            assert page.saved("#png").path().read_bytes().startswith(b"\x89PNG")
        page.clean(running.url)


def test_by_keyboard_alone(chromium, running, data):
    labels, _, _ = data
    with Shown(chromium).start(running.url) as page:
        keys = page.page.keyboard
        page.page.focus("[data-tab=members]")
        page.answered(lambda: keys.press("ArrowRight"))
        assert page.page.is_visible("#tab-answer")
        page.page.focus("#k")
        for key in ("Home", "ArrowRight", "ArrowRight"):
            keys.press(key)
        page.wait_text("#tiles", "3clusters")
        assert page.sizes() == sizes(qt.consensus(labels, 3))
        page.page.focus("#sizes rect[data-cluster='1']")
        keys.press("Enter")
        assert "Cluster 1" in page.page.inner_text("#chip")
        page.page.focus("#chip")
        keys.press("Enter")
        assert not page.page.is_visible("#chip")
        page.page.focus("[data-tab=answer]")
        page.answered(lambda: keys.press("ArrowLeft"))
        page.page.focus("[data-member='5']")
        page.answered(lambda: keys.press("Space"))
        assert "%5B5%5D" in page.run("location.hash")
        page.clean(running.url)


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_nothing_overflows(chromium, running, dark):
    with Shown(chromium, 390, 844, phone=True, dark=dark).start(running.url) as page:
        for tab in ("members", "answer", "compare", "rows", "take"):
            if tab != "members":
                page.go(tab)
            assert page.run("document.documentElement.scrollWidth") <= 390, tab
        page.clean(running.url)


def test_two_tabs_go_their_own_ways(chromium, running, data):
    labels, _, _ = data
    with Shown(chromium).start(running.url) as one, Shown(chromium).start(running.url + "#k=2") as two:
        one.go("answer")
        two.go("answer")
        one.answered(lambda: one.page.click("#by-k [data-k='7']"))
        assert two.sizes() == sizes(qt.consensus(labels, 2))
        assert one.sizes() == sizes(qt.consensus(labels, 7))
        two.page.reload()
        two.page.wait_for_selector("html[data-drawn]")
        assert two.sizes() == sizes(qt.consensus(labels, 2))


def test_long_work_says_what_it_is_at_and_can_be_cancelled(chromium, running, data, monkeypatch):
    labels, _, _ = data
    endless = EndlessView()
    with Shown(chromium).start(running.url + "#k=4") as page:
        monkeypatch.setitem(VIEWS, "matrix", endless)
        page.page.click("[data-tab=answer]")
        page.wait_text("#status", endless.stage)
        page.page.click("#cancel")
        assert endless.ended.wait(20)
        page.page.wait_for_selector("#cancel", state="hidden")
        monkeypatch.undo()
        page.answered(lambda: page.page.click("#more"))
        assert page.sizes() == sizes(qt.consensus(labels, 5))
        page.clean(running.url)


def test_errors_are_shown_until_they_are_fixed(chromium, running):
    with Shown(chromium).start(running.url + "#tab=%22answer%22") as page:
        page.page.fill("#param-beta", "-3")
        page.page.press("#param-beta", "Tab")
        page.wait_text("#error", "beta must be")
        page.page.fill("#param-beta", "2")
        page.answered(lambda: page.page.press("#param-beta", "Tab"))
        assert not page.page.is_visible("#error")
        assert [problem for problem in page.problems if "422" not in problem] == []


def test_a_model_from_features_shows_the_agreement_of_its_kinds(chromium):
    centers = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 40, axis=0)
    model = qt.ConsensusClustering(random_state=0).fit(centers + np.random.default_rng(0).normal(size=centers.shape))
    with qt.explore(model, open_browser=False) as running, Shown(chromium).start(running.url) as page:
        assert tuple(page.column("members", 1)) == model.ensemble_.names
        page.go("answer")
        assert page.run("document.querySelectorAll('#by-k polyline').length") == 2
        assert page.page.inner_text("#suggested") == f"Automatic choice: {model.choice_.sentence}"
        assert page.page.is_visible("#score-of-kinds")
        assert not page.page.is_visible("#score-of-labels")
        page.clean(running.url)


def test_groups_of_members_can_be_used_alone(chromium):
    rng = np.random.default_rng(0)
    coarse = np.repeat([0, 1, 2], [120, 80, 60])
    fine = coarse * 2 + (np.arange(260) % 2) * (coarse != 1)
    members = [coarse] * 8 + [fine] * 6
    ens = qt.Ensemble([np.where(rng.random(260) < 0.05, rng.integers(0, m.max() + 1, 260), m) for m in members])
    groups = qt.camps(ens).camps
    with qt.explore(ens, open_browser=False) as running, Shown(chromium).start(running.url) as page:
        sentence = page.page.inner_text("#camps-sentence")
        assert "two groups: 8 support 3 clusters (ARI " in sentence
        assert ", 6 support 5" in sentence
        assert [text.split(":")[0] for text in page.column("camps", 1)] == ["8", "6"]
        page.answered(lambda: page.page.click("[data-group='2']"))
        off = json.loads(page.run("new URLSearchParams(location.hash.slice(1)).get('off')"))
        assert off == groups[0].members.tolist()
        assert page.page.inner_text("[data-group='2']") == "Use all members"
        page.go("answer")
        assert page.shows(groups[1].consensus)
        page.go("members")
        page.answered(lambda: page.page.click("[data-group='2']"))
        assert page.run("new URLSearchParams(location.hash.slice(1)).get('off')") is None
        assert page.run("document.querySelectorAll('#ball [data-distance]').length") == 14
        page.clean(running.url)


def test_rows_outside_the_core_are_hidden_and_faded(chromium, running, data):
    labels, _, _ = data
    result = qt.consensus(labels, 4)
    with Shown(chromium).start(running.url + "#k=4&tab=%22answer%22") as page:
        core = qt.core(result, 0.8)
        page.page.click("#core-curve [data-core='0.8']")
        assert f"{core.share:.1%} of the rows" in page.page.inner_text("#core-sentence")
        kept = [int(text.rstrip("%")) for text in page.column("core-clusters", 2)]
        assert kept == pytest.approx(100 * core.cluster_shares, abs=0.51)
        assert page.run("document.getElementById('python').textContent").endswith("qt.core(result, 0.8).labels")
        page.page.fill("#layer-ks", "2, 5")
        page.page.press("#layer-ks", "Tab")
        page.until("n => document.querySelectorAll('#layers rect').length === n", 7)
        page.answered(lambda: page.page.click("#core-rows"))
        assert page.page.inner_text("#rows-note").startswith(f"{np.sum(core.labels >= 0)} rows in the core")
        drawn = "document.querySelector('#scatter canvas').toDataURL()"
        faded = page.run(drawn)
        page.answered(lambda: page.page.click("#core-chip"))
        assert page.page.inner_text("#rows-note").startswith("240 rows")
        assert page.run(drawn) != faded
        page.clean(running.url)
