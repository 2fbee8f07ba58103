"""The report: a summary that is plain JSON, and one page that a real browser opens without any help."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import quorate as qt
from browser import Page, open_browser
from quorate.ensemble import member_codes
from quorate.reporting import Origin, known_classes, render_report, summarize
from quorate.reporting.bundling import bundle
from quorate.reporting.html import web_text
from quorate.reporting.row_facts import facts_in_memory
from support import raises

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
    ids = [f"{NASTY}{row}" for row in range(300)]
    origin = Origin(
        name=NASTY, classes=known_classes(ens, truth, NASTY), command=NASTY,
        row_facts=lambda patterns, most: facts_in_memory(ens, patterns, most, ids=ids),
    )  # fmt: skip
    return summarize(qt.GPMGLA("auto").fit(ens), origin)


def test_the_summary_is_plain_json_and_the_same_every_time(nasty):
    assert json.loads(json.dumps(nasty, allow_nan=False)) == nasty
    assert (nasty["schema"], nasty["version"]) == ("quorate-summary", 8)
    _, ens = ensemble()
    first, second = (json.dumps(summarize(qt.WEAC(3).fit(ens))) for _ in range(2))
    assert first == second
    assert render_report(json.loads(first)) == render_report(json.loads(second))


@pytest.mark.parametrize("method", [method.name for method in qt.methods()])
def test_the_summary_says_what_the_estimator_says(method):
    truth, ens = ensemble(n_rows=90)
    fitted = qt.consensus(ens, 3, method)
    estimator = next(m.estimator for m in qt.methods() if m.name == method)(3).fit(ens)
    origin = Origin(classes=known_classes(ens, truth, "class"))
    facts = summarize(estimator, origin, n_clusters=[2, 3, 5])
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
    assert least["margin"] == pytest.approx(fitted.margin[row], abs=1e-4)
    assert least["runner_up"] == (fitted.runner_up[row] if fitted.runner_up[row] >= 0 else None)


def test_agreement_of_a_result_with_members():
    _, ens = ensemble()
    fitted = qt.WEAC(3).fit(ens)
    facts = summarize(fitted, n_clusters=[3])
    with_result = ens.add_members([fitted.labels_], names=["result"])
    expected = qt.agreement(with_result, measure="ami")[-1, :-1]
    assert facts["answers"][0]["agreement"] == pytest.approx(fitted.member_weights_ @ expected, abs=1e-3)


def test_the_report_shows_why_a_method_was_chosen(chromium, tmp_path):
    _, ens = ensemble()
    result = qt.consensus(ens, 3)
    with Page(chromium) as browser:
        browser.open(qt.report(result, tmp_path / "r.html"))
        shown = dict(zip(browser.column("methods", 0), browser.column("methods", 1), strict=True))
        expected = {c.method: f"{c.agreement:.3f}" for c in result.estimator.candidates_}
        assert shown == expected
        chosen = next(c.method for c in result.estimator.candidates_ if c.chosen)
        assert browser.page.inner_text("#methods tr.chosen td").strip() == chosen
        assert browser.problems == []


def test_members_have_a_status_and_a_reason():
    _, ens = ensemble()
    members = summarize(qt.GPMGLA(3, weights="trust").fit(ens))["members"]
    assert members[-1]["status"] == "ignored"
    assert (members[-1]["weight"], members[-1]["beyond_chance"]) == (0, False)
    assert members[-1]["reason"].endswith("weight 0.")
    assert {member["status"] for member in members[:-1]} == {"reliable"}
    equal = summarize(qt.EAC(3).fit(ens))["members"]
    assert equal[-1]["status"] == "unreliable"


def test_members_of_weight_0_are_ignored_and_do_not_oppose_clusters():
    rng = np.random.default_rng(7)
    _, ens = ensemble()
    constant = ens.add_members([np.zeros(300), np.zeros(300), rng.integers(0, 3, 300)], names=["c", "d", "random"])
    facts = summarize(qt.GPMGLA(3, weights="trust").fit(constant), n_clusters=[3])
    ignored = {member["name"] for member in facts["members"] if member["status"] == "ignored"}
    assert {"c", "d", "random"} <= ignored == {m["name"] for m in facts["members"] if m["weight"] == 0}
    opponents = {name for cluster in facts["answers"][0]["clusters"] for name, _ in cluster["opponents"]}
    assert opponents
    assert not opponents & ignored


def test_agreement_by_chance_and_copies_are_reported():
    random = np.random.default_rng(0)
    junk = qt.Ensemble([random.integers(0, k, 120) for k in range(3, 11)])
    facts = summarize(qt.HBGF(3).fit(junk))
    assert facts["reliability"]["verdict"] == "no more than chance"
    assert facts["headline"].startswith("3 clusters (")
    assert "The members agree no better than random clusterings." in facts["headline"]
    assert {member["status"] for member in facts["members"]} == {"unreliable"}
    _, ens = ensemble()
    twice = ens.add_members([ens.patterns[ens.row_pattern, 0]], names=["again"])
    facts = summarize(qt.WEAC(3).fit(twice))
    assert any({ens.names[0], "again"} <= set(group["members"]) for group in facts["reliability"]["copies"])
    page = render_report(facts)
    assert all(note in page for note in facts["reliability"]["notes"])
    assert len(facts["reliability"]["notes"]) == 2


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
    facts = summarize(method("auto").fit(labels))
    page = render_report(json.loads(json.dumps(facts, allow_nan=False)))
    assert facts["headline"] in page.replace("&#39;", "'")


def test_rows_that_no_member_labels():
    with pytest.warns(qt.QuorateWarning):
        fitted = qt.WEAC(2).fit([[0, 0, 1, 1, None], [0, 0, 1, 1, None]])
    facts = summarize(fitted)
    assert facts["answers"][0]["unlabeled"] == 1
    render_report(facts)


def test_a_million_rows_make_a_small_report():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 12, 1_000_000)
    labels = np.stack([np.where(rng.random(len(truth)) < 0.04, rng.integers(0, 12, len(truth)), truth)
                       for _ in range(6)], axis=1)  # fmt: skip
    page = render_report(summarize(qt.GPMGLA(12).fit(labels), n_clusters=range(2, 15)))
    assert len(page.encode()) < 1_000_000


def test_an_old_summary_is_refused(nasty):
    with raises("summary-version", "summary"):
        render_report({**nasty, "version": 0})


def test_nothing_is_loaded_from_elsewhere(nasty):
    page = render_report(nasty)
    assert "default-src 'none'" in page
    without_svg_names = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", without_svg_names)
    assert "http://" not in without_svg_names
    assert NASTY not in page
    assert "<b>" not in page


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


def test_a_report_rejects_invalid_input(tmp_path):
    fitted = qt.WEAC(3).fit(ensemble()[1])
    with raises("not-a-consensus"):
        qt.report(ensemble()[1], tmp_path / "a.html")
    with pytest.raises(NotFittedError):
        qt.report(qt.WEAC(2), tmp_path / "a.html")
    with raises("length", "truth"):
        qt.report(fitted, tmp_path / "a.html", truth=[1, 2])
    with raises("length", "ids"):
        qt.report(fitted, tmp_path / "a.html", ids=[1, 2])
    with raises("no-features", "plane"):
        qt.report(fitted, tmp_path / "a.html", plane=["a", "b"])
    with pytest.raises(qt.QuorateError):
        qt.report(fitted, tmp_path / "missing" / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_a_report_replaces_a_file_only_with_force(tmp_path):
    fitted = qt.WEAC(3).fit(ensemble()[1])
    path = qt.report(fitted, tmp_path / "a.html")
    before = path.read_bytes()
    with pytest.raises(qt.QuorateError):
        qt.report(fitted, path, name="other")
    assert path.read_bytes() == before
    qt.report(fitted, path, name="other", force=True)
    assert path.read_bytes() != before


def test_the_bundled_modules_have_different_names():
    script = bundle("report.js", web_text)
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|const|let|class) ([\w$]+)", script, re.MULTILINE)
    assert "drawMatrix" in names
    assert len(set(names)) == len(names)


# In a real browser --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown():
    """What the page in the browser is made from."""
    truth, ens = ensemble(n_rows=400, n_classes=4, n_members=8, names=[*"abcdefg", NASTY])
    return truth, qt.GPMGLA(4).fit(ens)


@pytest.fixture(scope="module")
def page(tmp_path_factory, shown):
    truth, fitted = shown
    ids = [f"{NASTY}{row}" for row in range(400)]
    columns = pd.DataFrame({"size": np.arange(400.0), "kind": np.where(truth > 1, "big", NASTY)})
    origin = Origin(
        name=NASTY, id_column="name", classes=known_classes(fitted.ensemble_, truth, "class"), command=f"q {NASTY}",
        row_facts=lambda patterns, most: facts_in_memory(fitted.ensemble_, patterns, most, ids=ids, columns=columns),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(summarize(fitted, origin)), encoding="utf-8")
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
        cut = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth)"
        assert browser.run(f"{cut}.map(box => box.firstElementChild.id)") == []
        check_sorting(browser)
        check_choosing_k(browser)
        check_hover(browser)
        check_following_a_cluster(browser)
        assert browser.run("window.hacked") is None
        assert browser.problems == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


def test_the_page_prints_light_and_without_what_is_clicked(chromium, page):
    with Page(chromium, dark=True) as browser:
        browser.open(page)
        browser.page.emulate_media(media="print")
        browser.run("window.dispatchEvent(new Event('beforeprint'))")
        assert browser.run("document.documentElement.dataset.theme") == "light"
        assert browser.run("getComputedStyle(document.querySelector('.gauge b')).printColorAdjust") == "exact"
        for hidden in ("nav.bar", "#find", "#labels", "#download"):
            assert not browser.page.locator(hidden).is_visible(), hidden
        browser.run("window.dispatchEvent(new Event('afterprint'))")
        assert browser.page.pdf(print_background=True).startswith(b"%PDF")
        assert browser.run("document.documentElement.dataset.theme") == "dark"
        assert browser.problems == []


def check_charts(browser, dark):
    """Every chart is there, has a size and is not blank."""
    for chart in ("sizes", "histogram", "by-k", "river"):
        assert browser.run(f"document.querySelectorAll('#{chart} svg *').length") > 3, chart
    for chart in ("agreement", "matrix"):
        colors = browser.run(
            f"(() => {{ const c = document.querySelector('#{chart} canvas'); const d = c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data; const s = new Set();"
            "for (let i = 0; i < d.length; i += 4) s.add(d[i] + ',' + d[i + 1] + ',' + d[i + 2]); return s.size })()"
        )
        assert colors > 10, chart
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
    assert browser.run("document.getElementById('headline').textContent").startswith("2 clusters (")
    browser.run("document.getElementById('more').click()")
    assert browser.run(shown) == "3"
    browser.run("document.querySelector('#by-k [data-k=\"6\"]').dispatchEvent(new Event('click'))")
    assert browser.run(shown) == "6"
    assert sum(int(text.replace(",", "")) for text in browser.column("clusters", 1)) == 400
    assert browser.run("document.querySelector('#scores tr.chosen td').textContent") == "6"


def check_hover(browser):
    browser.page.hover("#matrix canvas")
    assert browser.run("document.getElementById('tip').hidden") is False
    assert "Co-association" in browser.run("document.getElementById('tip').textContent")


def check_following_a_cluster(browser):
    """A click on a cluster takes matrix, members, rows and the tree along, and a second one lets them go."""
    browser.page.select_option("#k", "4")
    matrix = "document.querySelector('#matrix canvas').toDataURL()"
    river = "[...document.querySelectorAll('#river rect')].filter(r => r.getAttribute('opacity') < 1).length"
    before = browser.run(matrix)
    browser.page.click("#sizes rect[data-cluster='2']")
    assert browser.run(matrix) != before
    assert browser.run(river) > 0
    assert "Splits cluster 2" in browser.page.inner_text("#members")
    assert set(browser.column("uncertain", 2)) == {"2"}
    assert browser.page.inner_text("#clusters tr.chosen td").split()[-1] == "2"
    browser.page.click("#chip")
    assert browser.run(matrix) == before
    assert browser.run(river) == 0


def test_rows_are_found_with_the_label_of_every_member(chromium, page, shown):
    _, fitted = shown
    ens = fitted.ensemble_
    with Page(chromium) as browser:
        browser.open(page)
        browser.page.fill("#find", f"{NASTY}17")
        title = browser.page.inner_text("#row-title")
        assert title == f"{NASTY}17 is in cluster {fitted.labels_[17]}"
        votes = dict(zip(browser.column("votes", 0), browser.column("votes", 1), strict=True))
        codes = member_codes(ens, 0), *(member_codes(ens, j) for j in range(1, ens.n_members))
        expected = {name: str(ens.levels[j][codes[j][ens.row_pattern[17]]]) for j, name in enumerate(ens.names)}
        assert votes == expected
        browser.page.fill("#find", "nobody")
        assert browser.page.inner_text("#matches") == "No row has this name."
        assert browser.problems == []


def test_labels_tables_and_commands_at_the_selected_k(chromium, page, shown):
    truth, fitted = shown
    with Page(chromium) as browser:
        browser.open(page)
        browser.page.select_option("#k", "3")
        with browser.page.expect_download() as waiting:
            browser.page.click("#labels")
        saved = pd.read_csv(waiting.value.path())
        labels = fitted.sweep([3])[:, 0]
        assert saved["name"].tolist() == [f"{NASTY}{row}" for row in range(400)]
        assert saved["consensus"].tolist() == labels.tolist()
        assert browser.page.inner_text("#labels-command") == 'quorate.consensus(labels, 3, "gp-mgla").labels'
        table = pd.crosstab(labels, truth).to_numpy()
        cells = [[int(text.replace("·", "0")) for text in browser.column("classes", j + 1)] for j in range(4)]
        assert np.array_equal(np.array(cells).T, table)
        means = [float(text.split()[0]) for text in browser.column("columns", 1)]
        assert means == pytest.approx([np.arange(400.0)[labels == c].mean() for c in range(3)], rel=1e-3)
        shares = [np.mean(truth[labels == c] > 1) for c in range(3)]
        cells = browser.column("columns", 2)
        assert all((f"big ({share:.0%})" in text) == (share > 0) for share, text in zip(shares, cells, strict=True))
        assert browser.problems == []


def test_many_reliable_members_are_folded_and_the_others_come_first(chromium, tmp_path):
    _, ens = ensemble(n_members=36)
    with Page(chromium) as browser:
        browser.open(qt.report(qt.WEAC(3).fit(ens), tmp_path / "r.html"))
        assert browser.column("members", 0) == ["member_35"]
        assert not browser.page.is_visible("#reliable")
        browser.page.click("#fold-title")
        assert sorted(browser.column("reliable", 0)) == sorted(f"member_{j}" for j in range(35))
        assert browser.run("document.getElementById('members').scrollHeight") == browser.run(
            "document.getElementById('members').clientHeight"
        )


def test_a_large_table_shows_that_only_a_sample_is_searchable(chromium, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 9, (40_000, 8))
    with Page(chromium) as browser:
        browser.open(qt.report(qt.HBGF(3).fit(labels), tmp_path / "r.html", n_clusters=[2, 3]))
        text = browser.page.inner_text("body")
        assert re.search(r"Only [\d,]+ of 40,000 rows are searchable here", text)
        assert not browser.page.is_visible("#labels")
        assert (tmp_path / "r.html").stat().st_size < 1_000_000


def test_the_headline_leads_with_clusters_and_sizes(nasty):
    sizes = [int(c["size"]) for c in next(a for a in nasty["answers"] if a["k"] == 3)["clusters"]]
    assert nasty["headline"].startswith(f"3 clusters ({sizes[0]}, {sizes[1]} and {sizes[2]} rows) from 6 clusterings. ")
    one = summarize(qt.WEAC(1).fit([[0, 0, 1], [0, 1, 1]]), n_clusters=[1])
    assert one["headline"].startswith("One cluster from 2 clusterings")


def test_a_phone_report_is_short(chromium, page):
    with Page(chromium, 390, 844, phone=True) as browser:
        browser.open(page)
        assert not browser.page.is_visible("#scores")
        assert browser.run("document.documentElement.scrollHeight") < 12_000


@pytest.fixture(scope="module")
def two_groups():
    """Twelve members of 3 clusters and eight of 5 clusters that split two of them, one of them twice."""
    rng = np.random.default_rng(0)
    coarse = np.repeat([0, 1, 2], [200, 120, 80])
    fine = coarse * 2 + (np.arange(400) % 2) * (coarse != 1)
    members = [noisy(coarse, rng) for _ in range(12)] + [noisy(fine, rng) for _ in range(8)]
    names = [f"coarse {i}" for i in range(12)] + [f"fine {i}" for i in range(8)] + ["copy"]
    old = np.where((coarse == 0) & (rng.random(400) < 0.4), 9, coarse + 5)
    return qt.consensus(qt.Ensemble([*members, members[-1]], names=names), 3, like=old)


def noisy(labels, rng, share=0.06):
    return np.where(rng.random(len(labels)) < share, rng.integers(0, labels.max() + 1, len(labels)), labels)


@pytest.fixture(scope="module")
def grouped_page(two_groups, tmp_path_factory):
    return qt.report(two_groups, tmp_path_factory.mktemp("groups") / "report.html")


def test_the_members_fit_into_a_narrow_window_with_all_columns(chromium, two_groups, tmp_path):
    labels = dict(
        zip(two_groups.ensemble.names, two_groups.ensemble.patterns[two_groups.ensemble.row_pattern].T, strict=True)
    )
    labels["coarse 0"] = [None if row % 17 == 0 else label for row, label in enumerate(labels["coarse 0"].tolist())]
    path = qt.report(qt.consensus(labels, 3, "gp-mgla"), tmp_path / "report.html")
    with Page(chromium, width=1000) as browser:
        browser.open(path)
        browser.page.click("#sizes [data-cluster='1']")
        assert len(headings(browser, "members")) == 12
        box = "document.getElementById('members').closest('.scroll')"
        assert browser.run(f"{box}.scrollWidth") <= browser.run(f"{box}.clientWidth")


def headings(browser, table):
    return browser.run(f"[...document.querySelectorAll('#{table} th')].map(h => h.textContent)")


def test_groups_of_members_are_in_the_headline_and_in_a_table(chromium, grouped_page, two_groups):
    expected = qt.camps(two_groups).camps
    with Page(chromium) as browser:
        browser.open(grouped_page)
        sentence = browser.page.inner_text("#camps-sentence")
        assert sentence.startswith("The members fall into two groups: 12 support 3 clusters (ARI ")
        assert ", 9 support 5 clusters that" in sentence
        assert sentence.split(". ")[0] in browser.page.inner_text("#headline")
        ids = {int(text) for text in re.findall(r"split clusters (\d+) and (\d+)", sentence)[0]}
        assert ids == set(two_groups.ids[[0, 2]])  # the largest and the smallest cluster, with the ids of the report
        assert browser.column("camps", 2) == [str(camp.consensus.n_clusters) for camp in expected]
        assert browser.column("camps", 3) == [f"{100 * camp.weight:.1f}%" for camp in expected]
        group = headings(browser, "members").index("Group")
        shown = dict(zip(browser.column("members", 0), browser.column("members", group), strict=True))
        assert {name for name, number in shown.items() if number == "1"} == set(expected[0].names)
        assert browser.problems == []


def test_one_group_of_members_is_no_finding():
    _, ens = ensemble()
    summary = summarize(qt.consensus(ens, 3).estimator)
    assert summary["camps"] is None
    assert "groups" not in summary["headline"]


def test_the_report_compares_with_an_earlier_result(chromium, grouped_page, two_groups):
    change = two_groups.earlier.compare(two_groups.estimator.pattern_labels_, two_groups.ids)
    with Page(chromium) as browser:
        browser.open(grouped_page)
        assert browser.page.inner_text("#change-sentence") == change.sentence
        assert browser.column("clusters", 0) == [str(cluster) for cluster in two_groups.ids]
        assert browser.run("document.querySelectorAll('#change-flow [data-k=before]').length") == 4
        assert browser.run("document.querySelectorAll('#change-flow [data-k=now]').length") == 3
        browser.page.click("#change-table >> xpath=ancestor::details >> summary")
        assert browser.column("change-table", 2) == [str(pair.n_shared) for pair in change.matches]
        with browser.page.expect_download() as waiting:
            browser.page.click("#labels")
        assert pd.read_csv(waiting.value.path())["consensus"].tolist() == two_groups.labels.tolist()
        browser.page.click("#more")
        assert browser.page.inner_text("#change-sentence") != change.sentence
        assert browser.problems == []


def test_a_report_without_an_earlier_result_compares_nothing(nasty):
    assert "h-change" not in render_report(nasty)


def test_the_core_follows_the_required_agreement(chromium, grouped_page, two_groups):
    with Page(chromium) as browser:
        browser.open(grouped_page)
        shares = {}
        for required in (0.9, 0.5):
            browser.run(
                f"(() => {{ const core = document.getElementById('core'); core.value = {100 * required};"
                "core.dispatchEvent(new Event('input')) })()"
            )
            core = qt.core(two_groups, required)
            shares[required] = core.share
            assert f"{core.share:.1%} of the rows" in browser.page.inner_text("#core-sentence")
            assert all(name in browser.page.inner_text("#core-sentence") for name in core.set_aside)
            kept = [int(text.rstrip("%")) for text in browser.column("core-clusters", 2)]
            assert kept == pytest.approx(100 * core.cluster_shares, abs=0.51)
        assert shares[0.5] > shares[0.9]
        browser.run("document.querySelector('#core-curve [data-core=\"0.9\"]').dispatchEvent(new Event('click'))")
        assert f"{shares[0.9]:.1%} of the rows" in browser.page.inner_text("#core-sentence")
        assert browser.problems == []


def test_families_and_distances_of_members(chromium, grouped_page, two_groups):
    families = qt.families(two_groups.ensemble)
    ball = qt.credible_ball(two_groups)
    names = two_groups.ensemble.names
    with Page(chromium) as browser:
        browser.open(grouped_page)
        titles, shown = headings(browser, "members"), browser.column("members", 0)
        counts = dict(zip(shown, browser.column("members", titles.index("Counts as")), strict=True))
        assert [counts[name] for name in names] == [f"{count:.2f}" for count in families.counts]
        family = dict(zip(shown, browser.column("members", titles.index("Family")), strict=True))
        assert family["copy"] == family["fine 7"] != "none"
        assert browser.run("document.querySelectorAll('#ball [data-distance]').length") == len(names)
        assert f"within {ball.radius:.2f} bits" in browser.page.inner_text("#ball-sentence")
        assert all(f"“{name}”" in browser.page.inner_text("#ball-sentence") for name in ball.outermost)


def test_nested_layers_are_shown_when_opened(chromium, two_groups, tmp_path):
    expected = two_groups.layers([2, 3, 5])
    with Page(chromium) as browser:
        browser.open(qt.report(two_groups, tmp_path / "layers.html", layers=[2, 3, 5]))
        assert browser.run("document.querySelectorAll('#layers rect').length") == 0
        browser.page.click("#layers-fold summary")
        browser.page.wait_for_selector("#layers rect")
        for k, sizes in zip(expected.n_clusters, expected.sizes, strict=True):
            texts = browser.run(
                f"[...document.querySelectorAll('#layers rect[data-k=\"{k}\"]')].map(r => r.getAttribute('aria-label'))"
            )
            assert sorted(float(re.findall(r", (\d+) rows", text)[0]) for text in texts) == sorted(sizes)
        browser.run("document.querySelector('#layers rect[data-k=\"5\"]').dispatchEvent(new Event('click'))")
        assert browser.page.input_value("#k") == "5"
        assert browser.problems == []


def test_clusters_show_the_text_labels_of_their_members(chromium, tmp_path):
    truth, ens = ensemble()
    named = ens.add_members([np.array(["small", NASTY, "large"])[truth]], names=["text"])
    result = qt.consensus(named, 3)
    with Page(chromium) as browser:
        browser.open(qt.report(result, tmp_path / "names.html"))
        assert headings(browser, "clusters")[1] == "Common labels"
        shown = browser.column("clusters", 1)
        assert [text.split(" (")[0][:20] for text in shown] == [cluster.name[:20] for cluster in result.clusters]
        assert browser.run("window.hacked") is None
        browser.open(qt.report(qt.consensus(ens, 3), tmp_path / "numbers.html"))
        assert "Common labels" not in headings(browser, "clusters")


def test_given_families_are_not_called_copies():
    _, ens = ensemble(names=["a_1", "a_2", "b_1", "b_2", "c_1", "c_2"])
    facts = summarize(qt.consensus(ens, 3, groups="{tool}_*").estimator)
    assert [member["family"] for member in facts["members"]] == [1, 1, 2, 2, 3, 3]
    assert [member["counts"] for member in facts["members"]] == [0.5] * 6
    assert "a_1 and a_2 are one family" in " ".join(facts["reliability"]["notes"])
    assert "identical" not in " ".join(facts["reliability"]["notes"])
