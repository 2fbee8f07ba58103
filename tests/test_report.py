"""The report: a summary that is plain JSON, and one page that a real browser opens without any help."""

import json
import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import quorate as qt
from browser import Page, open_browser
from quorate.show import Origin, known_classes, render_report, summarise

NASTY = "</script><script>window.hacked = 1</script><b>\"&'"


def ensemble(n_rows=300, n_classes=3, n_members=6, seed=0, names=None):
    """Return a truth and an ensemble whose last member is noise."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_rows)
    labels = np.stack([np.where(rng.random(n_rows) < 0.15, rng.integers(0, n_classes, n_rows), truth)
                       for _ in range(n_members)], axis=1)  # fmt: skip
    labels[:, -1] = rng.integers(0, n_classes, n_rows)
    return truth, qt.Ensemble(labels, names=names)


@pytest.fixture(scope="module")
def nasty():
    """A report full of text that would like to be markup."""
    truth, ens = ensemble(names=[*"abcde", NASTY])
    origin = Origin(
        name=NASTY, classes=known_classes(ens, truth, NASTY), command=NASTY,
        examples=lambda patterns: [f"{NASTY}{pattern}" for pattern in patterns],
    )  # fmt: skip
    return summarise(qt.GPMGLA("auto").fit(ens), origin)


def test_the_summary_is_plain_json_and_the_same_every_time(nasty):
    assert json.loads(json.dumps(nasty, allow_nan=False)) == nasty
    assert (nasty["schema"], nasty["version"]) == ("quorate-summary", 1)
    _, ens = ensemble()
    first, second = (json.dumps(summarise(qt.WEAC(3).fit(ens))) for _ in range(2))
    assert first == second
    assert render_report(json.loads(first)) == render_report(json.loads(second))


@pytest.mark.parametrize("method", [method.name for method in qt.methods()])
def test_the_summary_says_what_the_estimator_says(method):
    truth, ens = ensemble(n_rows=90)
    fitted = qt.consensus(ens, 3, method)
    estimator = next(m.estimator for m in qt.methods() if m.name == method)(3).fit(ens)
    origin = Origin(classes=known_classes(ens, truth, "class"))
    facts = summarise(estimator, origin, n_clusters=[2, 3, 5])
    answer = next(answer for answer in facts["answers"] if answer["k"] == 3)
    assert [c["size"] for c in answer["clusters"]] == [c.size for c in fitted.clusters]
    assert [c["stability"] for c in answer["clusters"]] == pytest.approx(
        [c.stability for c in fitted.clusters], abs=1e-4
    )
    assert answer["mean_confidence"] == pytest.approx(fitted.confidence.mean(), abs=1e-4)
    assert sum(answer["confidence_histogram"]) == 90
    scores = qt.evaluate(fitted.labels, truth)
    assert answer["scores"]["ami"] == pytest.approx(scores.ami, abs=1e-6)
    assert [m["ncai"] for m in facts["members"]] == pytest.approx(fitted.ncai.tolist(), abs=1e-6)
    for answer in facts["answers"]:
        swept = estimator.sweep([answer["k"]])[:, 0]
        assert [c["size"] for c in answer["clusters"]] == np.bincount(swept).tolist()
    least = facts["answers"][[a["k"] for a in facts["answers"]].index(3)]["uncertain"][0]
    assert least["confidence"] == pytest.approx(fitted.confidence.min(), abs=1e-4)
    row = int(least["example"].removeprefix("row "))
    assert fitted.confidence[row] == fitted.confidence.min()


def test_agreement_of_an_answer_with_members():
    _, ens = ensemble()
    fitted = qt.WEAC(3).fit(ens)
    facts = summarise(fitted, n_clusters=[3])
    expected = [qt.evaluate(fitted.labels_, ens.cluster_member[0] + ens.patterns[ens.row_pattern, j]).nmi_sqrt
                for j in range(ens.n_members)]  # fmt: skip
    assert facts["answers"][0]["agreement"] == pytest.approx(fitted.member_weights_ @ expected, abs=1e-4)


def test_trust_in_plain_words():
    _, ens = ensemble()
    members = summarise(qt.GPMGLA(3).fit(ens))["members"]
    assert members[-1]["trust"] == "hardly"
    assert members[-1]["words"].startswith("Agrees with hardly any other member; counts ")
    assert {member["trust"] for member in members[:-1]} == {"trusted"}


@pytest.mark.parametrize(
    "labels",
    [
        [[0, 0, 0, 0]],
        [[0, 1, 2, 3]],
        [[0, 1], [0, 1]],
        [[0, 0, 1, 1], [None, None, None, 1], [1, 1, None, None]],
    ],
    ids=["one cluster", "all apart", "two rows", "gaps"],
)
@pytest.mark.parametrize("method", [qt.WEAC, qt.GPMGLA])
@pytest.mark.filterwarnings("ignore::quorate.QuorateWarning")
def test_degenerate_ensembles_have_reports(labels, method):
    facts = summarise(method("auto").fit(labels))
    page = render_report(json.loads(json.dumps(facts, allow_nan=False)))
    assert "The answer" in page


def test_rows_that_no_member_labels():
    with pytest.warns(qt.QuorateWarning, match="1 row"):
        fitted = qt.WEAC(2).fit([[0, 0, 1, 1, None], [0, 0, 1, 1, None]])
    facts = summarise(fitted)
    assert facts["answers"][0]["unlabelled"] == 1
    render_report(facts)


def test_a_million_rows_make_a_small_report():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 12, 1_000_000)
    labels = np.stack([np.where(rng.random(len(truth)) < 0.04, rng.integers(0, 12, len(truth)), truth)
                       for _ in range(6)], axis=1)  # fmt: skip
    page = render_report(summarise(qt.GPMGLA(12).fit(labels), n_clusters=range(2, 15)))
    assert len(page.encode()) < 1_000_000


def test_an_old_summary_is_refused(nasty):
    with pytest.raises(qt.QuorateError, match="version 1.*Make it anew"):
        render_report({**nasty, "version": 0})


def test_nothing_is_loaded_from_elsewhere(nasty):
    page = render_report(nasty)
    assert "default-src 'none'" in page
    without_svg_names = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", without_svg_names)
    assert "http://" not in without_svg_names
    assert NASTY not in page
    assert "<b>" not in page.replace('el("b"', "")


def test_a_report_is_one_call_from_a_result_or_an_estimator(tmp_path):
    truth, ens = ensemble()
    result = qt.consensus(ens, 3)
    written = qt.report(result, tmp_path / "a.html", truth=truth, name="mine")
    assert written == tmp_path / "a.html"
    assert 'Consensus of <span class="name">mine</span>' in written.read_text()
    qt.report(result.estimator, tmp_path / "b.html", truth=truth, name="mine")
    assert (tmp_path / "b.html").read_bytes() == written.read_bytes()
    wine = qt.datasets.load("wine").features
    model = qt.ConsensusClustering(3, n_members=4, random_state=0).fit(wine)
    assert qt.report(model, tmp_path / "c.html").exists()


def test_a_report_refuses_what_it_cannot_show(tmp_path):
    with pytest.raises(qt.QuorateError, match="got Ensemble. Pass what quorate.consensus"):
        qt.report(ensemble()[1], tmp_path / "a.html")
    with pytest.raises(NotFittedError):
        qt.report(qt.WEAC(2), tmp_path / "a.html")
    with pytest.raises(qt.QuorateError, match="one class for each of 300 rows; got 2"):
        qt.report(qt.WEAC(3).fit(ensemble()[1]), tmp_path / "a.html", truth=[1, 2])
    with pytest.raises(qt.QuorateError, match="does not exist"):
        qt.report(qt.WEAC(3).fit(ensemble()[1]), tmp_path / "nowhere" / "a.html")
    assert list(tmp_path.iterdir()) == []


# In a real browser --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    truth, ens = ensemble(n_rows=400, n_classes=4, n_members=8, names=[*"abcdefg", NASTY])
    origin = Origin(name=NASTY, classes=known_classes(ens, truth, "class"), command=f"quorate {NASTY}")
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(summarise(qt.GPMGLA(4).fit(ens), origin)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chromium():
    with open_browser() as browser:
        yield browser


@pytest.mark.parametrize(("width", "phone", "dark"), [(1280, False, False), (390, True, True)])
def test_the_page_works(chromium, page, width, phone, dark):
    with Page(chromium, width, 900, phone=phone, dark=dark) as browser:
        browser.open(page)
        assert browser.run("document.documentElement.dataset.drawn") == "true"
        check_charts(browser, dark)
        assert browser.run("document.documentElement.scrollWidth") <= width
        check_sorting(browser)
        check_choosing_k(browser)
        check_hover(browser)
        assert browser.run("window.hacked") is None
        assert browser.problems == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


def check_charts(browser, dark):
    """Every chart is there, has a size and is not blank."""
    for chart in ("sizes", "histogram", "by-k", "flow"):
        assert browser.run(f"document.querySelectorAll('#{chart} svg *').length") > 3, chart
    for chart in ("agreement", "matrix"):
        colours = browser.run(
            f"(() => {{ const c = document.querySelector('#{chart} canvas'); const d = c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data; const s = new Set();"
            "for (let i = 0; i < d.length; i += 4) s.add(d[i] + ',' + d[i + 1] + ',' + d[i + 2]); return s.size })()"
        )
        assert colours > 10, chart
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == dark
    assert len(browser.column("members", 0)) == 8
    assert NASTY in browser.column("members", 0)


def check_sorting(browser):
    heading = "[...document.querySelectorAll('#members th')].findIndex(h => h.textContent == 'Weight')"
    position = browser.run(heading)
    click = f"document.querySelectorAll('#members th button')[{position}].click()"
    browser.run(click)
    once = [float(text.rstrip("%")) for text in browser.column("members", position)]
    browser.run(click)
    twice = [float(text.rstrip("%")) for text in browser.column("members", position)]
    assert once == sorted(once, reverse=True)
    assert twice == sorted(twice)
    assert browser.run(f"document.querySelectorAll('#members th')[{position}].ariaSort") == "ascending"


def check_choosing_k(browser):
    """The list, the buttons and the chart all change the answer that is shown."""
    shown = "document.querySelector('#tiles b').textContent"
    matrix = "document.querySelector('#matrix canvas').toDataURL()"
    assert browser.run(shown) == "4"
    assert len(browser.column("clusters", 0)) == 4
    before = browser.run(matrix)
    browser.run(
        "(() => { const s = document.getElementById('k'); s.value = 2; s.dispatchEvent(new Event('change')) })()"
    )
    assert browser.run(shown) == "2"
    assert len(browser.column("clusters", 0)) == 2
    assert browser.run(matrix) != before
    assert "You are looking at 2 clusters" in browser.run("document.getElementById('choice').textContent")
    browser.run("document.getElementById('more').click()")
    assert browser.run(shown) == "3"
    browser.run("document.querySelector('#by-k [data-k=\"6\"]').dispatchEvent(new Event('click'))")
    assert browser.run(shown) == "6"
    assert sum(int(text.replace(",", "")) for text in browser.column("clusters", 1)) == 400
    assert browser.run("document.querySelector('#scores tr.chosen td').textContent") == "6"


def check_hover(browser):
    browser.page.hover("#matrix canvas")
    assert browser.run("document.getElementById('tip').hidden") is False
    assert "Evidence" in browser.run("document.getElementById('tip').textContent")


def test_the_page_prints_light(chromium, page):
    with Page(chromium, dark=True) as browser:
        browser.open(page)
        assert browser.page.pdf(print_background=True).startswith(b"%PDF")
        assert browser.run("document.documentElement.dataset.theme") == "dark"
        assert browser.problems == []
