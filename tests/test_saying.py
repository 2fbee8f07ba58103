"""How many clusters and whether there are any: what the command, the summary and the report say of it."""

import json

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from quorate.cli import main
from quorate.reporting import render_report, summarize
from quorate.reporting.sentences import verdict
from quorate.tables import consensus as tables_consensus


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


def test_the_summary_holds_the_candidates_and_the_curve(members):
    fitted = qt.GPMGLA("auto").fit(members)
    facts = json.loads(json.dumps(summarize(fitted), allow_nan=False))
    choice = facts["choice"]
    assert (choice["k"], choice["suggested"], choice["criterion"]) == (3, 3, "evidence")
    assert choice["explanation"] == fitted.choice_.sentence
    assert [c["k"] for c in choice["candidates"]] == [c.n_clusters for c in fitted.choice_.candidates]
    assert [c["score"] for c in choice["curve"]] == pytest.approx([c.score for c in fitted.choice_.curve], abs=1e-6)
    assert choice["candidates"][0]["stability"] == pytest.approx(fitted.choice_.candidates[0].stability, abs=1e-6)
    asked = summarize(qt.GPMGLA(2).fit(members))["choice"]
    assert asked["explanation"].startswith("2 clusters were asked for. The automatic choice would be 3 clusters: ")
    assert summarize(qt.GPMGLA("auto").fit(members[:3]))["choice"]["candidates"][0]["stability"] is None


def test_the_verdict_says_what_there_is(members, noise):
    clear, nothing = (summarize(qt.GPMGLA(3).fit(labels)) for labels in (members, noise))
    assert clear["structure"]["verdict"] in ("clear", "weak")
    assert clear["structure"]["from"] == "labels"
    assert clear["structure"]["p_value"] is None
    assert nothing["structure"]["verdict"] == "none"
    assert "No evidence of clusters. 6 clusterings combined make 3 clusters" in nothing["verdict"]
    few = summarize(qt.GPMGLA(3).fit(members[:3]))["structure"]
    assert (few["verdict"], few["value"]) == ("unknown", None)
    assert "Fewer than four members" in few["sentence"]
    assert nothing["structure"]["sentence"] in render_report(nothing).replace("&#39;", "'")


def test_doubt_is_the_first_thing_read(members):
    summary = summarize(qt.GPMGLA(3).fit([*members, *members[::-1]]))
    doubtful = {**summary, "structure": {**summary["structure"], "verdict": "weak", "nodes": []}}
    assert verdict(doubtful).startswith("Evidence of clusters is weak. 12 clusterings combined make 3")
    clear = {**summary, "structure": {**summary["structure"], "verdict": "clear", "nodes": []}}
    assert "they are clear" in verdict(clear)
    assert "weak" not in verdict(clear)


def test_where_rows_are_too_few_nothing_else_is_said(tmp_path, capsys):
    path = tmp_path / "three.csv"
    path.write_text("a,b,c,d\n0,0,0,0\n0,0,0,0\n1,1,1,1\n")
    for command in ("combine", "weigh"):
        crowd, structure = run(command, path, capsys=capsys).split("\n")[:2]
        assert crowd == "There are too few rows to tell the members' agreement from chance."
        assert structure == "Too few rows: labels alone cannot tell whether there are clusters at all."
    assert qt.label_structure([[0, 0, 1]] * 4) is None


def fitted_summary(labels):
    return summarize(qt.LWGP(3, weights="trust", beta=4.0, theta=0.8).fit(labels))


def test_made_up_members_change_neither_words_nor_structure_of_good_ones(members, noise):
    rng = np.random.default_rng(5)
    dice = [rng.integers(0, 4, len(members[0])) for _ in range(40)]
    alone, among = (fitted_summary(labels) for labels in (members, [*members, *dice]))
    good = len(members)
    assert [m["called"] for m in among["members"][:good]] == [m["called"] for m in alone["members"]]
    assert among["members"][0]["trust_index"] < 0.3 < among["members"][0]["among_agreeing"]
    assert among["crowd"]["note"].startswith("Agreement is a mean over all other members: the 40 that agree with none")
    assert alone["crowd"]["note"] is None
    assert "40 of the 46 agree with hardly any other and hardly count" in among["verdict"]
    equal = summarize(qt.EAC(3).fit([*members, dice[0]]))
    assert "“member_6” agrees with hardly any other but counts all the same" in equal["verdict"]
    few = fitted_summary([*members[:3], *dice])["structure"]
    assert few["sentence"].startswith("Fewer than four members agree with any other beyond chance: labels alone cannot")


def test_weigh_gives_the_weights_that_combine_does(files, capsys):
    weighed, combined = (
        json.loads(run(command, files["members"], "--json", capsys=capsys))["members"]
        for command in ("weigh", "combine")
    )
    found = {member["name"]: member["weight"] for member in weighed}
    assert found == pytest.approx({member["name"]: member["weight"] for member in combined}, abs=1e-6)


def test_report_and_command_call_members_alike(members, noise, tmp_path, capsys):
    labels = {**{f"good {j}": vector for j, vector in enumerate(members)}, "junk": noise[1]}
    path, report = tmp_path / "labels.csv", tmp_path / "report.html"
    pd.DataFrame(labels).to_csv(path, index=False)
    printed = run("combine", path, "--report", report, capsys=capsys)
    called = {member["name"]: member["called"] for member in summarize(qt.GPMGLA(3).fit(labels))["members"]}
    assert called == {**{f"good {j}": "trusted" for j in range(6)}, "junk": "not trusted: no more than chance"}
    assert "not trusted: no more than chance" in printed
    assert '"called":"not trusted: no more than chance"' in report.read_text().replace('": "', '":"')


def test_commands_say_it_at_the_top(files, capsys):
    for command in ("combine", "weigh"):
        printed = run(command, files["noise"], capsys=capsys)
        assert printed.startswith("No agreement beyond chance")
        assert printed.split("\n")[1].startswith("No evidence of clusters")
        facts = json.loads(run(command, files["noise"], "--json", capsys=capsys))
        assert facts["structure"]["verdict"] == "none"
    printed = run("combine", files["members"], capsys=capsys)
    assert "Numbers of clusters" in printed
    assert "halves repeat it (ARI)" in printed
    assert json.loads(run("combine", files["members"], "--json", capsys=capsys))["choice"]["candidates"][0]["k"] == 3


def test_what_is_read_in_blocks_is_said_too(files, capsys, monkeypatch):
    monkeypatch.setattr(tables_consensus, "available_memory", lambda: 1)
    facts = json.loads(run("combine", files["members"], "--json", capsys=capsys))
    assert facts["choice"]["candidates"][0]["k"] == facts["choice"]["k"] == 3
    assert facts["choice"]["explanation"].startswith("3 clusters: the eigenvalues")
    expected = qt.label_structure(pd.read_csv(files["members"])).value
    assert facts["structure"]["value"] == pytest.approx(expected, abs=1e-6)


def test_features_tell_which_gaps_are_significant(tmp_path, capsys):
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(center, 1, (100, 2)) for center in ((0, 0), (12, 0), (0, 12))])
    path = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=["x", "y"]).to_csv(path, index=False)
    facts = json.loads(run("cluster", path, "-k", 4, "--json", capsys=capsys))
    structure = facts["structure"]
    assert structure["from"] == "features"
    assert structure["p_value"] < 0.05
    doubtful = [sorted(node["closest"]) for node in structure["nodes"] if node["verdict"] == "not significant"]
    assert len(doubtful) == 1
    assert (
        f"No significant gap between clusters {doubtful[0][0]} and {doubtful[0][1]} (not proof" in structure["sentence"]
    )
    assert "but 1 gap between them is not significant" in facts["verdict"]
