"""Sentences and words about results, in the summary, the report and the command."""

import json

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from quorate.cli import main
from quorate.reporting import render_report, summarize
from quorate.reporting.sentences import (
    candidate_sentence,
    evidence_sentence,
    family_sentences,
    found_clusters,
    headline,
    member_sentences,
    outlook_sentences,
)
from quorate.tables import combining


@pytest.fixture(scope="module")
def members():
    random = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], 40)
    return [np.where(random.random(120) < 0.02, random.integers(0, 3, 120), classes) for _ in range(6)]


@pytest.fixture(scope="module")
def noise():
    random = np.random.default_rng(1)
    return [random.integers(0, k, 120) for k in (2, 3, 4, 5, 3, 4)]


@pytest.fixture
def files(members, noise, tmp_path):
    found = {}
    for name, labels in (("members", members), ("noise", noise)):
        found[name] = tmp_path / f"{name}.csv"
        pd.DataFrame({f"m{j}": vector for j, vector in enumerate(labels)}).to_csv(found[name], index=False)
    return found


def run(*arguments, capsys):
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_the_summary_has_the_candidates_and_the_curve(members):
    fitted = qt.GPMGLA("auto").fit(members)
    facts = json.loads(json.dumps(summarize(fitted), allow_nan=False))
    choice = facts["choice"]
    assert (choice["k"], choice["suggested"]) == (3, 3)
    assert choice["explanation"] == fitted.choice_.sentence
    assert [c["k"] for c in choice["candidates"]] == [c.n_clusters for c in fitted.choice_.candidates]
    assert [c["score"] for c in choice["curve"]] == pytest.approx([c.score for c in fitted.choice_.curve], abs=1e-6)
    assert choice["candidates"][0]["stability"] == pytest.approx(fitted.choice_.candidates[0].stability, abs=1e-6)
    requested = summarize(qt.GPMGLA(2).fit(members))["choice"]
    assert requested["explanation"].startswith("2 clusters requested. Automatic choice: 3 clusters")
    assert summarize(qt.GPMGLA("auto").fit(members[:3]))["choice"]["candidates"][0]["stability"] is None


def test_the_headline_states_the_finding_then_the_evidence(members, noise):
    clear, nothing = (summarize(qt.GPMGLA(3).fit(labels)) for labels in (members, noise))
    for facts in (clear, nothing):
        assert facts["headline"].startswith("3 clusters (")
        assert evidence_sentence(facts["structure"]) in facts["headline"]
        assert (facts["structure"]["from"], facts["structure"]["p_value"]) == ("labels", None)
    assert clear["structure"]["verdict"] != nothing["structure"]["verdict"]
    few = summarize(qt.GPMGLA(3).fit(members[:3]))["structure"]
    assert (few["verdict"], few["value"]) == ("unknown", None)
    assert nothing["structure"]["sentence"] in render_report(nothing).replace("&#39;", "'")


@pytest.mark.parametrize("verdict", ["clear", "weak", "none", "unknown"])
def test_the_headline_is_never_doubtful_by_labels_alone(members, verdict):
    summary = summarize(qt.GPMGLA(3).fit(members))
    text = headline({**summary, "structure": {**summary["structure"], "verdict": verdict}})
    assert text.startswith("3 clusters (")
    assert "doubtful" not in text


def test_the_parts_of_a_split_fit_into_their_cluster():
    merge = {"clusters": [0, 1], "cost": 0.7}
    split = {"cluster": 1, "sizes": [200.0, 192.0], "cost": 0.2}
    first, second = outlook_sentences(merge, split, [600.0, 564.0])
    assert first == (
        "Clusters 0 and 1 would merge first: members group rows across the two clusters 70% less often than rows "
        "within the less cohesive one."
    )
    assert second.startswith("Cluster 1 (564 rows) would split first; its two largest parts have 200 and 192 rows: ")
    assert len(outlook_sentences(merge, {**split, "cost": 0.8}, [600.0, 564.0])) == 3


def fitted_summary(labels):
    return summarize(qt.LWGP(3, weights="trust", beta=4.0, theta=0.8).fit(labels))


def test_random_members_change_neither_words_nor_structure_of_good_ones(members, noise):
    rng = np.random.default_rng(5)
    dice = [rng.integers(0, 4, len(members[0])) for _ in range(40)]
    alone, among = (fitted_summary(labels) for labels in (members, [*members, *dice]))
    good = len(members)
    assert [m["status"] for m in among["members"][:good]] == [m["status"] for m in alone["members"]]
    assert among["members"][0]["trust"] < 0.3 < among["members"][0]["trust_among_agreeing"]
    assert among["reliability"]["notes"][0].startswith("40 members agree with no other.")
    assert not any("agree with no other" in note for note in alone["reliability"]["notes"])
    assert "40 of 46 members have no weight." in among["headline"]
    equal = summarize(qt.EAC(3).fit([*members, dice[0]]))
    assert "“member_6” is unreliable but has weight." in equal["headline"]


def test_weigh_gives_the_weights_that_combine_does(files, capsys):
    weighed, combined = (
        json.loads(run(command, files["members"], "--json", capsys=capsys))["members"]
        for command in ("weigh", "combine")
    )
    found = {member["name"]: member["weight"] for member in weighed}
    assert found == pytest.approx({member["name"]: member["weight"] for member in combined}, abs=1e-6)


def test_report_and_command_use_the_same_words_for_members(members, noise, tmp_path, capsys):
    labels = {**{f"good {j}": vector for j, vector in enumerate(members)}, "junk": noise[1]}
    path, summary = tmp_path / "labels.csv", tmp_path / "summary.json"
    pd.DataFrame(labels).to_csv(path, index=False)
    printed = run("combine", path, "--summary", summary, capsys=capsys)
    status = {member["name"]: member["status"] for member in json.loads(summary.read_text())["members"]}
    assert status == {**{f"good {j}": "reliable" for j in range(6)}, "junk": "ignored"}
    line = next(line for line in printed.splitlines() if "junk" in line and "0.0" in line)
    assert "ignored" in line


def test_the_command_prints_structure_and_candidates(files, capsys):
    for command in ("combine", "weigh"):
        facts = json.loads(run(command, files["noise"], "--json", capsys=capsys))
        printed = " ".join(run(command, files["noise"], capsys=capsys).split())
        assert facts["structure"]["sentence"] in printed
        assert facts["reliability"]["sentence"] in printed
    facts = json.loads(run("combine", files["members"], "--json", capsys=capsys))
    assert facts["choice"]["candidates"][0]["k"] == 3
    assert "eigengap  tree stability" in run("combine", files["members"], capsys=capsys)


def test_patterns_in_blocks_get_choice_and_structure_too(files, capsys, monkeypatch):
    monkeypatch.setattr(combining, "available_memory", lambda: 1)
    facts = json.loads(run("combine", files["members"], "--json", capsys=capsys))
    assert facts["choice"]["candidates"][0]["k"] == facts["choice"]["k"] == 3
    assert facts["choice"]["explanation"].startswith("3 clusters")
    expected = qt.label_structure(pd.read_csv(files["members"]), 3).stability
    assert facts["structure"]["value"] == pytest.approx(expected, abs=1e-6)


def test_features_show_which_gaps_are_significant(tmp_path, capsys):
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(center, 1, (100, 2)) for center in ((0, 0), (12, 0), (0, 12))])
    path = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=["x", "y"]).to_csv(path, index=False)
    facts = json.loads(run("cluster", path, "-k", 4, "--json", capsys=capsys))
    structure = facts["structure"]
    assert structure["from"] == "features"
    assert structure["p_value"] < 0.05
    assert [node["verdict"] for node in structure["nodes"]].count("not significant") == 1
    assert "1 of 3 gaps between clusters is not significant." in facts["headline"]


def test_members_that_agree_in_part_are_named():
    def words(*statuses):
        return member_sentences([{"name": f"m{i}", "status": status} for i, status in enumerate(statuses)])

    assert words("reliable", "partly reliable") == ["“m1” agrees only partly with the others."]
    assert words("ignored", *["partly reliable"] * 4) == [
        "“m0” has no weight.",
        "4 of 5 members agree only partly with the others.",
    ]
    assert words("reliable", "reliable") == ["No member is an outlier."]


def candidate(method, agreement, n_clusters=3, *, chosen=False):
    return {"method": method, "agreement": agreement, "n_clusters": n_clusters, "chosen": chosen}


def test_the_choice_of_the_default_is_not_called_best_in_a_near_tie():
    tied = candidate_sentence([candidate("lwgp", 0.8957, chosen=True), candidate("mixture", 0.8962)])
    assert tied.startswith("lwgp and mixture agree equally well with the members; the result of lwgp is taken (")
    better = candidate_sentence([candidate("mixture", 0.9, chosen=True), candidate("lwgp", 0.89)])
    assert better.startswith("The result of mixture agrees best with the members (")
    fewer = candidate_sentence([candidate("lwgp", 0.6, chosen=True), candidate("mixture", 0.7, 2)])
    assert fewer.startswith("The result of lwgp is taken; mixture found fewer clusters (")


def test_copies_are_named_with_the_share_of_rows_on_which_they_are_the_same():
    rows = np.arange(300)
    first = rows // 100
    changed = np.where(rows % 20 == 0, (first + 1) % 3, first)  # 15 of 300 rows
    notes = summarize(qt.consensus([first, changed, rows // 75, rows // 60, rows // 50], 3).estimator)["reliability"][
        "notes"
    ]
    assert "member_0 and member_1 are nearly identical (the same clusters for 95% of the rows)" in notes[0]
    family = {"members": ["a", "b", "c"], "kind": "copies", "weight": 0.5, "same_rows": 0.9999}
    assert family_sentences([family]) == [
        "a, b and c are nearly identical (the same clusters for at least 99% of the rows); their weights sum to 50%."
    ]
    many = family_sentences([family | {"members": [f"m{i}" for i in range(12)]}])
    assert "m10 and m11 are nearly identical" in many[0]  # all are named, not "and 7 more"
    assert family_sentences([family | {"same_rows": 1.0}]) == ["a, b and c are identical; their weights sum to 50%."]


@pytest.fixture(scope="module")
def two_camps():
    """Two pairs of members, each pair with an opinion of its own."""
    random = np.random.default_rng(5)

    def copies(labels, n_changed):
        for n in n_changed:
            changed = labels.copy()
            changed[random.choice(300, n, replace=False)] = random.integers(3, size=n)
            yield changed

    return [*copies(random.integers(3, size=300), (15, 15)), *copies(random.integers(3, size=300), (6, 6))]


def test_no_camp_is_called_unreliable_where_each_agrees_only_with_itself(two_camps):
    facts = summarize(qt.consensus(two_camps).estimator)
    assert {member["status"] for member in facts["members"]} == {"partly reliable"}
    assert all(member["reason"].startswith("Agrees only with its own family") for member in facts["members"])
    assert "unreliable" not in facts["headline"]


def test_camps_are_compared_with_the_result(two_camps):
    facts = summarize(qt.consensus(two_camps).estimator)
    first, second = (group["ari"] for group in facts["camps"]["groups"])
    assert f"2 support 3 clusters (ARI {first:.2f} with this result)" in facts["camps"]["sentence"]
    assert facts["camps"]["sentence"].endswith(f"(ARI {second:.2f}).")


def test_rows_that_another_cluster_outvotes_are_counted(two_camps):
    result = qt.consensus(two_camps)
    n_outvoted = int(np.sum(result.margin < 0))
    assert n_outvoted > 0
    answer = next(answer for answer in summarize(result.estimator)["answers"] if answer["k"] == result.n_clusters)
    counted = f"For {n_outvoted} of 300 rows another cluster gets more votes (negative margin)."
    assert answer["confidence_sentence"].endswith(counted)


def test_one_cluster_is_not_blamed_on_the_members():
    """Members that found clusters may still not agree on any: only the number is stated."""
    assert found_clusters([300], 8) == "One cluster from 8 clusterings."
    split = {"cluster": 0, "sizes": [200.0, 100.0], "cost": 0.5}
    assert outlook_sentences(None, split, [300.0])[0].startswith("Two clusters would have 200 and 100 rows: ")
