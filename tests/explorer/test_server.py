"""The explorer's server returns the results of the library, and rejects all other requests."""

import random
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import quorate as qt
from quorate._runtime import threads
from quorate._runtime.progress import report_progress
from quorate.ensemble import member_codes

testclient = pytest.importorskip("starlette.testclient", reason='Install it with: pip install "quorate[explore]"')
pytest.importorskip("uvicorn")
import httpx  # noqa: E402

from quorate.explorer.launch import Explorer, coordinates  # noqa: E402
from quorate.explorer.requests import parse_query  # noqa: E402
from quorate.explorer.server import make_app  # noqa: E402
from quorate.explorer.views import VIEWS  # noqa: E402
from quorate.explorer.workbench import Workbench, is_large  # noqa: E402
from quorate.numerics.transfer_cut import DENSE_NODES  # noqa: E402
from support import raises  # noqa: E402

TOKEN = "secret"
BASE = "http://127.0.0.1"
NASTY = "</script><script>window.hacked = 1</script><b>\"&'"
LONG = "x" * 10_000
TURNED = "\u202eevil\u202c"


def labels_and_truth(n_rows=240, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n_rows)
    members = [np.where(rng.random(n_rows) < 0.2, rng.integers(0, 4, n_rows), truth) for _ in range(5)]
    return np.stack([*members, rng.integers(0, 4, n_rows)], axis=1), truth


@pytest.fixture(scope="module")
def bench():
    labels, truth = labels_and_truth()
    ens = qt.Ensemble(labels, names=["a", "b", "c", NASTY, LONG, TURNED])
    rng = np.random.default_rng(1)
    xy = np.column_stack([truth + rng.normal(0, 0.2, len(truth)), rng.normal(size=len(truth))])
    return Workbench(
        ens, name=NASTY, ids=[f"{NASTY}{row}" for row in range(len(truth))], id_name="cell",
        truth=tuple(map(str, truth)), truth_name="class", **coordinates(ens, xy=xy),
    )  # fmt: skip


@pytest.fixture(scope="module")
def client(bench):
    with testclient.TestClient(make_app(bench, TOKEN), base_url=BASE) as client:
        yield client


def post(client, part, question=None, *, tab="t", **more):
    return client.post(f"/{TOKEN}/api/{part}", json={"tab": tab, "request": question or {}}, **more)


def asked(client, part, question=None):
    response = post(client, part, question)
    assert response.status_code == 200, response.text
    return response.json()


def own_answer(bench, method="auto", k="auto", members=None, **params):
    ens = bench.ensemble if members is None else bench.ensemble.select(members)
    return qt.consensus(ens, k, method, **params)


# Answers ------------------------------------------------------------------------------------------------------------

QUERIES = [
    ({}, {}),
    ({"k": 3}, {"k": 3}),
    ({"method": "weac", "k": 5}, {"method": "weac", "k": 5}),
    ({"method": "weac", "k": 4, "members": [0, 2, 3]}, {"method": "weac", "k": 4, "members": [0, 2, 3]}),
    ({"k": 4, "params": {"beta": 3.0}}, {"k": 4, "beta": 3.0}),
]


@pytest.mark.parametrize(("query", "own"), QUERIES)
def test_answers_are_those_of_the_library(client, bench, query, own):
    found, result = asked(client, "answer", {"query": query}), own_answer(bench, **own)
    assert found["k"] == result.n_clusters
    assert [c["size"] for c in found["clusters"]] == [c.size for c in result.clusters]
    assert [c["stability"] for c in found["clusters"]] == pytest.approx(
        [c.stability for c in result.clusters], abs=1e-4
    )
    assert [m["ncai"] for m in found["members"]] == pytest.approx(result.ncai.tolist(), abs=1e-6)
    assert [m["trust"] for m in found["members"]] == pytest.approx(result.trust.tolist(), abs=1e-6)
    assert [m["weight"] for m in found["members"]] == pytest.approx(result.member_weights.tolist(), abs=1e-6)
    table = pd.read_csv(pd.io.common.BytesIO(post(client, "labels", {"query": query, "format": "csv"}).content))
    assert table["consensus"].tolist() == result.labels.tolist()
    assert table["cell"].tolist() == list(bench.ids)
    assert table["confidence"].to_numpy() == pytest.approx(result.confidence, abs=1e-6)
    assert table["margin"].to_numpy() == pytest.approx(result.margin, abs=1e-6)
    assert table["runner_up"].tolist() == result.runner_up.tolist()


def test_the_download_has_the_chosen_core(client, bench):
    core = qt.core(own_answer(bench, k=4), 0.8)
    saved = post(client, "labels", {"query": {"k": 4}, "format": "csv", "core": 0.8})
    table = pd.read_csv(pd.io.common.BytesIO(saved.content))
    assert table["consensus_core"].tolist() == core.labels.tolist()
    assert 0 < (table["consensus_core"] < 0).sum() < len(table)


def test_many_moves_give_what_the_library_gives_from_the_start():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 9, 4000)
    wrong = rng.random((4000, 12)) < 0.1
    labels = np.where(wrong, rng.integers(0, 150, (4000, 12)), truth[:, None] * 16 + rng.integers(0, 16, (4000, 12)))
    bench = Workbench(qt.Ensemble(labels))
    assert bench.ensemble.n_clusters > DENSE_NODES  # eigenvectors come from iterations
    moves = [{"members": [j for j in range(12) if j != off]} for off in range(0, 12, 3)]
    moves += [{"params": {"beta": beta}} for beta in (1.0, 3.5)]
    moves += [{"k": 12}, {"members": [0, 1, 4, 5, 9], "params": {"beta": 1.3}}, {"k": 5}]
    for move in moves:
        query = parse_query({"method": "gp-mgla", "k": 9, **move}, 12)
        own = qt.consensus(labels[:, list(query.members)], query.k, "gp-mgla", **dict(query.params))
        answer = bench.answer(query)
        assert answer.row_labels.tolist() == own.labels.tolist(), move
        assert np.array_equal(answer.row_confidence, own.confidence), move


def test_a_requested_number_of_clusters_does_not_become_the_automatic_one(client, bench):
    asked(client, "answer", {"query": {"method": "eac", "k": 3}})
    assert asked(client, "answer", {"query": {"method": "eac"}})["k"] == own_answer(bench, "eac").n_clusters


def test_manual_weights_are_combined_with_automatic_ones(client, bench):
    found = asked(client, "answer", {"query": {"k": 3, "weights": {"1": 0.25}}})
    influence = own_answer(bench, k=3).member_weights
    influence = influence / influence.max()
    influence[1] = 0.25
    expected = own_answer(bench, k=3, weights=influence)
    assert [m["weight"] for m in found["members"]] == pytest.approx(expected.member_weights.tolist(), abs=1e-6)
    assert [c["size"] for c in found["clusters"]] == [c.size for c in expected.clusters]


@pytest.mark.parametrize(("query", "own"), [*QUERIES, ({"k": 3, "weights": {"1": 0.25}}, None)])
def test_the_code_gives_the_answer(client, bench, query, own):
    code = asked(client, "answer", {"query": query})["python"]
    labels = pd.DataFrame(
        {name: bench.ensemble.levels[j][member_codes(bench.ensemble, j)[bench.ensemble.row_pattern]]
         for j, name in enumerate(bench.ensemble.names)}
    )  # fmt: skip
    space = {"labels": labels}
    exec(code, space)
    response = post(client, "labels", {"query": query, "format": "parquet"})
    table = pd.read_parquet(pd.io.common.BytesIO(response.content))
    assert table["consensus"].tolist() == space["result"].labels.tolist()


def test_the_number_of_clusters_comes_with_its_evidence(client, bench):
    found, choice = asked(client, "choice", {"query": {"k": 7}}), qt.choose_k(bench.ensemble)
    assert (found["k"], found["sentence"]) == (choice.n_clusters, choice.sentence)
    assert [one["k"] for one in found["candidates"]] == [one.n_clusters for one in choice.candidates]
    assert [one["score"] for one in found["curve"]] == pytest.approx([one.score for one in choice.curve], abs=1e-6)
    best = asked(client, "choice", {"query": {"method": "best-member"}})
    assert best["candidates"] == []


def test_weights_by_trust_and_what_does_not_go_together(client, bench):
    found = asked(client, "answer", {"query": {"k": 3, "params": {"weights": "trust"}}})
    expected = own_answer(bench, k=3, weights="trust")
    assert [m["weight"] for m in found["members"]] == pytest.approx(expected.member_weights.tolist(), abs=1e-6)
    local = {"k": 3, "weights": {"1": 0.2}, "params": {"weights": "local"}}
    assert "Reset the manual weights" in post(client, "answer", {"query": local}).json()["error"]
    assert "weights must be" in post(client, "answer", {"query": {"params": {"weights": "much"}}}).json()["error"]


def test_whether_there_is_anything_to_find(client, bench):
    found = asked(client, "structure", {"query": {"members": [0, 1, 2, 3, 5]}})
    assert found["sentence"] == qt.label_structure(bench.ensemble.select([0, 1, 2, 3, 5])).sentence
    assert asked(client, "structure", {"query": {"members": [0, 1]}})["verdict"] == "unknown"


def test_a_first_look_says_so_and_is_replaced(bench, monkeypatch):
    monkeypatch.setattr(sys.modules[Workbench.__module__], "_LARGE", 0)
    query = {"query": {"members": [0, 1, 2, 5]}}
    with testclient.TestClient(make_app(Workbench(bench.ensemble), TOKEN), base_url=BASE) as client:
        first = asked(client, "answer", query)
        gaps = -np.diff(qt.GPMGLA(2).fit(bench.ensemble.select([0, 1, 2, 5])).eigenvalues_[1:])
        assert (first["choosing"], first["k"]) == (True, 2 + np.argmax(gaps[:30]))
        chosen = asked(client, "choice", query)["k"]
        assert chosen == own_answer(bench, members=[0, 1, 2, 5]).n_clusters
        exact = asked(client, "answer", query)
        assert (exact["choosing"], exact["k"]) == (False, chosen)
        assert not asked(client, "answer", {"query": {"k": 3}})["choosing"]


def test_tree_eigenvalues_and_matrix(client, bench):
    found = asked(client, "diagnostics", {"query": {"method": "weac", "k": 4}})
    tree = qt.WEAC("auto").fit(bench.ensemble).dendrogram_
    assert found["tree"]["heights"][:3] == pytest.approx(tree.heights[::-1][:3].tolist(), abs=1e-9)
    assert found["eigenvalues"] is None
    graph = asked(client, "diagnostics", {"query": {"method": "lwgp", "k": 4}})
    values = own_answer(bench, "lwgp", 4).estimator.eigenvalues_
    assert graph["eigenvalues"][:4] == pytest.approx(values[:4].tolist(), abs=1e-8)
    assert graph["candidates"] == []
    default = asked(client, "diagnostics", {"query": {"k": 4}})
    assert default["eigenvalues"] is not None
    candidates = own_answer(bench, k=4).estimator.candidates_
    assert {one["method"] for one in default["candidates"]} == {candidate.method for candidate in candidates}
    assert [one["chosen"] for one in default["candidates"]] == [True] + [False] * (len(candidates) - 1)
    matrix = asked(client, "matrix", {"query": {"k": 4}})
    assert sum(matrix["rows"]) == bench.ensemble.n_rows


def test_two_members_next_to_each_other(client, bench):
    labels, _ = labels_and_truth()
    found = asked(client, "contingency", {"one": 0, "other": 2})
    assert found["table"] == pd.crosstab(labels[:, 0], labels[:, 2]).to_numpy().tolist()
    assert found["agreement"] == pytest.approx(qt.agreement(bench.ensemble, measure="ami")[0, 2], abs=1e-6)


def test_comparing_with_another_answer_a_member_and_the_truth(client, bench):
    labels, truth = labels_and_truth()
    mine = own_answer(bench, k=4).labels
    for right, other in (
        ({"query": {"method": "weac", "k": 3}}, own_answer(bench, "weac", 3).labels),
        ({"member": 1}, labels[:, 1]),
        ({"truth": True}, truth),
    ):
        found = asked(client, "compare", {"left": {"query": {"k": 4}}, "right": right})
        scores = qt.evaluate(mine, other)
        assert found["scores"]["ari"] == pytest.approx(scores.ari, abs=1e-6)
        assert found["scores"]["ami"] == pytest.approx(scores.ami, abs=1e-6)
        assert found["compared"] == len(mine)
        table = pd.crosstab(mine, other).to_numpy()
        best = max(_matched(table), 0)
        assert found["moved"] == len(mine) - best
        assert all(row["name"].startswith(NASTY[:20]) for row in found["rows"])


def _matched(table):
    from scipy.optimize import linear_sum_assignment

    return table[linear_sum_assignment(-table)].sum()


def test_rows_are_listed_found_and_described(client, bench):
    result = own_answer(bench, k=4)
    found = asked(client, "rows", {"query": {"k": 4}, "limit": 7})
    order = np.lexsort((np.arange(240), result.confidence))
    assert [row["row"] for row in found["rows"]] == order[:7].tolist()
    assert [row["runner_up"] for row in found["rows"]] == result.runner_up[order[:7]].tolist()
    assert [row["margin"] for row in found["rows"]] == pytest.approx(result.margin[order[:7]].tolist(), abs=1e-4)
    of_two = asked(client, "rows", {"query": {"k": 4}, "cluster": 2, "offset": 3, "limit": 5})
    expected = [row for row in order if result.labels[row] == 2]
    assert [row["row"] for row in of_two["rows"]] == expected[3:8]
    assert of_two["total"] == len(expected)
    full = np.argmax(np.histogram(result.confidence, bins=20, range=(0, 1))[0])
    in_bin = asked(client, "rows", {"query": {"k": 4}, "bin": int(full)})
    assert in_bin["total"] == np.sum(np.minimum((result.confidence * 20).astype(int), 19) == full)
    assert [row["row"] for row in asked(client, "rows", {"query": {"k": 4}, "find": f"{NASTY}17"})["rows"]] == [17]
    told = asked(client, "row", {"query": {"k": 4, "members": [0, 1, 2]}, "row": 17})
    labels, _ = labels_and_truth()
    assert [vote["label"] for vote in told["votes"]] == [str(label) for label in labels[17]]
    assert [vote["weight"] is None for vote in told["votes"]] == [False] * 3 + [True] * 3
    few = own_answer(bench, k=4, members=[0, 1, 2])
    assert told["label"] == few.labels[17]
    assert told["confidence"] == pytest.approx(few.confidence[17], abs=1e-4)
    assert told["margin"] == pytest.approx(few.margin[17], abs=1e-4)
    assert told["runner_up"] == few.runner_up[17]


def test_a_selection_counts_all_rows_inside(client, bench):
    from matplotlib.path import Path as Polygon

    polygon = [[-0.5, -3.0], [1.5, -3.0], [1.4, 3.0], [0.3, 0.2], [-0.5, 3.0]]
    inside = Polygon(polygon).contains_points(bench.xy)
    result = own_answer(bench, k=4)
    found = asked(client, "selection", {"query": {"k": 4}, "polygon": polygon})
    assert found["rows"] == inside.sum()
    assert found["clusters"] == np.bincount(result.labels[inside], minlength=4).tolist()
    rows = asked(client, "rows", {"query": {"k": 4}, "polygon": polygon, "limit": 200})
    assert sorted(row["row"] for row in rows["rows"]) == np.flatnonzero(inside)[:200].tolist()
    points = asked(client, "points", {"query": {"k": 4}, "color": "cluster"})
    assert points["values"] == result.labels.tolist()


def test_missing_labels_and_a_method_without_dendrogram(bench):
    labels = [[0, 0, 1, 1, None], [0, 0, 1, None, None], [0, 1, 1, 1, None]]
    with testclient.TestClient(make_app(Workbench(qt.Ensemble(labels)), TOKEN), base_url=BASE) as client:
        found = asked(client, "answer", {"query": {"k": 2}})
        assert found["unlabeled"] == 1
        assert asked(client, "rows", {"query": {"k": 2}, "find": "4"})["rows"][0]["label"] == -1
        told = asked(client, "row", {"query": {"k": 2}, "row": 4})
        assert [vote["label"] for vote in told["votes"]] == [None] * 3
        assert post(client, "compare", {"left": {"query": {}}, "right": {"truth": True}}).status_code == 422
        assert post(client, "points", {"query": {}}).status_code == 422


def test_a_model_from_features_keeps_its_choice_by_kinds():
    centers = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 40, axis=0)
    X = centers + np.random.default_rng(0).normal(size=centers.shape)
    model = qt.ConsensusClustering(2, random_state=0).fit(X)
    with (
        qt.explore(model, open_browser=False) as running,
        httpx.Client(base_url=running.url, timeout=60) as client,
    ):

        def view(part, query):
            response = client.post(f"api/{part}", json={"tab": "t", "request": {"query": query}})
            assert response.status_code == 200, response.text
            return response.json()

        choice = view("choice", {})
        assert choice["kinds"]
        assert (choice["k"], choice["sentence"]) == (3, model.choice_.sentence)
        agreement = {candidate.n_clusters: candidate.agreement for candidate in model.choice_.curve}
        assert {one["k"]: one["agreement"] for one in choice["curve"]} == pytest.approx(agreement, abs=1e-6)
        assert view("answer", {})["k"] == 3
        assert view("choice", {"method": "weac"})["sentence"] == choice["sentence"]
        fewer = view("choice", {"members": [0, 1, 2, 3, 4]})
        assert not fewer["kinds"]
        own = qt.consensus(model.ensemble_.select([0, 1, 2, 3, 4]))
        assert (fewer["k"], fewer["sentence"]) == (own.n_clusters, own.choice.sentence)


# Who is let in ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/wrong/", {}),
        ("/wrong/api/start", {}),
        (f"/{TOKEN}x/", {}),
        (f"/{TOKEN[:-1]}/", {}),
        (f"/{TOKEN}/", {"host": "evil.example"}),
        (f"/{TOKEN}/", {"host": "127.0.0.1.evil.example"}),
        (f"/{TOKEN}/", {"origin": "http://evil.example"}),
        (f"/{TOKEN}/", {"origin": "null"}),
        (f"/{TOKEN}/", {"sec-fetch-site": "cross-site"}),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_requests_without_the_token_get_nothing(client, path, headers, method):
    response = client.request(method, path, headers=headers, json={"tab": "t"} if method == "POST" else None)
    assert response.status_code == 404
    assert response.json() == {"error": "Not found."}


def test_pages_carry_a_strict_policy_and_load_nothing_from_elsewhere(client):
    page = client.get(f"/{TOKEN}/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "http" not in page.text.replace("http-equiv", "")
    for name in ("explore.js", "dom.js", "look.css"):
        assert client.get(f"/{TOKEN}/web/{name}").status_code == 200
    for name in ("server.py", "..%2frun.py", "%2e%2e/run.py", "report.html", "../../ensemble.py", "nothing.js"):
        assert client.get(f"/{TOKEN}/web/{name}").status_code == 404


HEADERS = {"content-type": "application/json"}


def test_wrong_kinds_of_requests_are_refused(client):
    assert post(client, "answer", headers={"content-type": "text/plain"}).status_code == 400
    assert client.get(f"/{TOKEN}/api/answer").status_code in (404, 405)
    big = client.post(f"/{TOKEN}/api/answer", content=b" " * (1 << 21), headers=HEADERS)
    assert big.status_code == 400
    assert "at most" in big.json()["error"]
    wrong = post(client, "answer", {"query": {"method": "waec"}})
    assert (wrong.status_code, "Did you mean 'weac'?" in wrong.json()["error"]) == (422, True)
    assert "Enable a member" in post(client, "answer", {"query": {"members": []}}).json()["error"]


# Work ---------------------------------------------------------------------------------------------------------------


def test_the_newest_question_of_a_tab_wins_and_tabs_do_not_disturb_each_other(bench, monkeypatch):
    begun, let_go = threading.Event(), threading.Event()

    def slow(bench, data, job):
        if data.get("wait"):
            job.stage = "waiting for the test"
            begun.set()
            for _ in range(2000):
                if let_go.wait(0.01):
                    break
        return data

    monkeypatch.setitem(VIEWS, "answer", slow)
    with Explorer(bench).start() as running, httpx.Client(timeout=60) as client, ThreadPoolExecutor(4) as pool:
        query = lambda question, tab: client.post(f"{running.url}api/answer", json={"tab": tab, "request": question})  # noqa: E731
        old = pool.submit(query, {"wait": True}, "one")
        assert begun.wait(20)
        stage = client.post(f"{running.url}api/progress", json={"tab": "one"}).json()
        assert stage[0]["stage"] == "waiting for the test"
        assert query({"n": 2}, "two").json() == {"n": 2}
        assert not old.done()
        assert query({"n": 1}, "one").json() == {"n": 1}
        assert old.result(20).status_code == 409
        begun.clear()
        again = pool.submit(query, {"wait": True}, "three")
        assert begun.wait(20)
        assert client.post(f"{running.url}api/cancel", json={"tab": "three"}).json() == {"cancelled": 1}
        assert again.result(20).status_code == 409
        let_go.set()


def working(ended):
    """Return a question whose work is many small tqueries, and which tells that it ended before them."""

    def work(bench, data, job):
        if not data.get("long"):
            return {}
        try:
            job.enter("working")
            report_progress("Half of it", 0.5)
            threads.in_threads(lambda _: time.sleep(0.01), range(4000))
        except BaseException as error:
            ended.append(type(error).__name__)
            raise
        return {}

    return work


@pytest.mark.parametrize("how", ["cancelled", "newer", "gone"])
def test_work_ends_when_no_client_waits_for_it(bench, monkeypatch, how):
    ended = []
    monkeypatch.setitem(VIEWS, "answer", working(ended))
    with Explorer(bench).start() as running, httpx.Client(timeout=60) as client, ThreadPoolExecutor(1) as pool:
        body = {"tab": "one", "request": {"long": True}}
        if how == "gone":
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{running.url}api/answer", json=body, timeout=0.5)
        else:
            old = pool.submit(client.post, f"{running.url}api/answer", json=body)
            stage = lambda: client.post(f"{running.url}api/progress", json={"tab": "one"}).json()  # noqa: E731
            while not any(one["stage"] == "Half of it: 50%" for one in stage()):
                time.sleep(0.01)
            part = "cancel" if how == "cancelled" else "answer"
            assert client.post(f"{running.url}api/{part}", json={"tab": "one"}).status_code == 200
            assert old.result(20).status_code == 409
        deadline = time.monotonic() + 20
        while ended != ["Cancelled"] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert ended == ["Cancelled"]


@pytest.mark.parametrize("method", ["gp-mgla", "weac", "lwgp"])
def test_methods_can_be_stopped_between_their_tqueries(method):
    class Stop(BaseException):
        pass

    asked = []

    def at_third():
        asked.append(method)
        if len(asked) == 3:
            raise Stop

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 12, (3000, 6))
    with pytest.raises(Stop), threads.cancelled_by(at_third):
        qt.consensus(labels, 5, method)
    assert len(asked) == 3


def test_many_clients_lose_no_answer_and_mix_none_up(bench):
    queries = [{"k": k, "method": method, "members": [j for j in range(6) if j != off]}
            for k in (2, 3, 4) for method in ("gp-mgla", "weac") for off in (0, 3)]  # fmt: skip
    expected = [
        [c.size for c in own_answer(bench, query["method"], query["k"], query["members"]).clusters] for query in queries
    ]
    with Explorer(bench).start() as running:

        def client(number):
            rng = random.Random(number)
            with httpx.Client(timeout=120) as web:
                for _ in range(6):
                    i = rng.randrange(len(queries))
                    found = web.post(
                        f"{running.url}api/answer", json={"tab": f"c{number}", "request": {"query": queries[i]}}
                    )
                    assert found.status_code == 200
                    assert [c["size"] for c in found.json()["clusters"]] == expected[i]

        with ThreadPoolExecutor(20) as pool:
            list(pool.map(client, range(20)))


def test_the_explorer_stops_and_frees_its_port(bench):
    running = Explorer(bench).start()
    assert httpx.get(running.url).status_code == 200
    running.stop()
    with pytest.raises(httpx.HTTPError):
        httpx.get(running.url)
    again = Explorer(bench, port=running.port)
    again.stop()


def test_an_interrupt_ends_the_command_cleanly_in_the_middle_of_work(tmp_path):
    labels = np.random.default_rng(0).integers(0, 60, (100_000, 12))  # a tree takes many seconds
    pd.DataFrame(labels).add_prefix("m").to_csv(tmp_path / "labels.csv", index=False)
    command = [sys.executable, "-m", "quorate", "explore", str(tmp_path / "labels.csv"), "--no-browser", "--quiet"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server,
        ThreadPoolExecutor(1) as pool,
        httpx.Client(timeout=60) as client,
    ):
        try:
            url = server.stdout.readline().strip()
            body = {"tab": "t", "request": {"query": {"method": "weac", "k": 3}}}
            waiting = pool.submit(httpx.post, f"{url}api/answer", json=body, timeout=60)
            while not any("tree" in one["stage"] for one in client.post(f"{url}api/progress", json=body).json()):
                assert not waiting.done()
                time.sleep(0.02)
            server.send_signal(signal.SIGINT)
            assert server.communicate(timeout=60) == ("", "\n")
            assert server.returncode == 0
            assert waiting.result(60).status_code == 409
        finally:
            server.kill()  # where it still runs, a check has failed


def test_explore_rejects_invalid_input():
    labels, _ = labels_and_truth()
    with raises("length", "truth"):
        qt.explore(labels, truth=[1, 2, 3], open_browser=False)
    with raises("two-columns", "xy"):
        qt.explore(labels, xy=np.zeros((240, 3)), open_browser=False)
    with raises("not-numeric", "features"):
        qt.explore(labels, features=np.full((240, 2), "a"), open_browser=False)
    with raises("length", "features"):
        qt.explore(labels, features=np.zeros((1, 3)), open_browser=False)
    with qt.explore(labels, features=np.random.default_rng(0).normal(size=(240, 4)), open_browser=False) as running:
        assert running.url.startswith("http://127.0.0.1:")


def test_results_have_a_headline_and_name_copies():
    labels, _ = labels_and_truth()
    ens = qt.Ensemble(np.column_stack([labels, labels[:, 0]]), names=[*"abcdef", "copy"])
    with testclient.TestClient(make_app(Workbench(ens), TOKEN), base_url=BASE) as client:
        found = asked(client, "answer", {"query": {"k": 4}})
        sizes = [int(cluster["size"]) for cluster in found["clusters"]]
        assert found["headline"].startswith(
            f"4 clusters ({sizes[0]}, {sizes[1]}, {sizes[2]} and {sizes[3]} rows) from 7"
        )
        assert any("a and copy are identical" in note for note in found["notes"])
        assert {member["status"] for member in found["members"] if member["weight"] == 0} <= {"ignored"}


def test_features_are_drawn_by_principal_components():
    labels, truth = labels_and_truth()
    features = np.column_stack([truth * 5.0, np.random.default_rng(0).normal(size=240)])
    drawn = coordinates(qt.Ensemble(labels), features=features)
    assert drawn["xy"].shape == (240, 2)
    assert [name[:4] for name in drawn["xy_names"]] == ["PC1 ", "PC2 "]


def test_moved_rows_are_counted_in_full_and_listed_in_part(client, bench):
    rng = np.random.default_rng(0)
    ens = qt.Ensemble(np.stack([rng.integers(0, 3, 400) for _ in range(4)], axis=1))
    with testclient.TestClient(make_app(Workbench(ens), TOKEN), base_url=BASE) as other:
        found = asked(other, "compare", {"left": {"query": {"k": 3}}, "right": {"member": 0}})
        assert found["moved"] > len(found["rows"]) == 50


def test_a_member_switch_cuts_once_and_does_not_choose_k_first():
    """The first result of a large ensemble does not wait for the automatic choice of k."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 6, 3000)
    labels = np.stack([np.where(rng.random(3000) < 0.3, rng.integers(0, 6, 3000), truth) for _ in range(30)], axis=1)
    bench = Workbench(qt.Ensemble(labels))
    assert is_large(bench.ensemble)
    query = parse_query({"members": list(range(29))}, 30)
    first = bench.answer(query, first_look=True)
    assert first.choosing
    assert ("choice", query.solved_by) not in bench._solved
    assert bench.answer(query).cut.n_clusters == qt.choose_k(labels[:, :29]).n_clusters


def two_groups():
    """Return eight members of 3 clusters, six of 5 clusters that split two of these, and one at random."""
    rng = np.random.default_rng(0)
    coarse = np.repeat([0, 1, 2], [120, 80, 60])
    fine = coarse * 2 + (np.arange(260) % 2) * (coarse != 1)
    members = [coarse] * 8 + [fine] * 6
    changed = [np.where(rng.random(260) < 0.05, rng.integers(0, m.max() + 1, 260), m) for m in members]
    return qt.Ensemble([*changed, rng.integers(0, 4, 260)])


def test_groups_of_members_are_found_and_compared():
    ens = two_groups()
    expected = qt.camps(ens)
    with testclient.TestClient(make_app(Workbench(ens), TOKEN), base_url=BASE) as client:
        headline = asked(client, "answer", {"query": {"k": 3}})["headline"]
        assert "groups of 8 and 6" in headline
        plain = asked(client, "camps", {"query": {"k": 3}, "combined": False})
        assert [group["members"] for group in plain["groups"]] == [c.members.tolist() for c in expected.camps]
        assert "n_clusters" not in plain["groups"][0]
        found = asked(client, "camps", {"query": {"k": 3}})
        without_figures = re.sub(r" \(ARI [^)]*\)", "", found["sentence"])
        assert without_figures == expected.sentence.split(". ")[0] + "."
        assert [group["n_clusters"] for group in found["groups"]] == [3, 5]
        result = qt.consensus(ens, 3)
        weights = [result.member_weights[camp.members].sum() for camp in expected.camps]
        assert [group["weight"] for group in found["groups"]] == pytest.approx(weights, abs=1e-5)
        single = asked(client, "camps", {"query": {"k": 3, "members": expected.camps[1].members.tolist()}})
        assert [group["weight"] for group in single["groups"]] == pytest.approx([0, 1], abs=1e-5)
        assert "groups" not in asked(client, "answer", {"query": {"members": list(range(8))}})["headline"]


def test_one_group_of_members_is_not_shown(client, bench):
    assert asked(client, "camps", {"query": {"k": 4}})["groups"] == []


def test_the_core_is_that_of_the_library(client, bench):
    result = qt.consensus(bench.ensemble, 4)
    curve = asked(client, "core", {"query": {"k": 4}})["curve"]
    assert [step["agreement"] for step in curve] == sorted((step["agreement"] for step in curve), reverse=True)
    for required in (1.0, 0.8, 0.4):
        core = qt.core(result, required)
        step = [step for step in curve if step["agreement"] >= required - 1e-9][-1]
        assert step["share"] == pytest.approx(core.share, abs=1e-6)
        rows = asked(client, "rows", {"query": {"k": 4}, "core": required, "limit": 200})
        assert rows["total"] == np.sum(core.labels >= 0)
        assert {row["row"] for row in rows["rows"]} <= set(np.flatnonzero(core.labels >= 0))
        both = asked(client, "rows", {"query": {"k": 4}, "core": required, "cluster": 1})
        assert both["total"] == np.sum(core.labels == 1)
        inside = asked(client, "points", {"query": {"k": 4}, "core": required})["inside"]
        assert inside == (core.labels >= 0).astype(int).tolist()
    assert asked(client, "points", {"query": {"k": 4}})["inside"] is None


def test_nested_layers_are_those_of_the_library(client, bench):
    for method in ("auto", "weac"):
        found = asked(client, "layers", {"query": {"method": method, "k": 4}, "ks": [2, 6, 4]})
        expected = qt.consensus(bench.ensemble, 4, method).layers([2, 4, 6])
        assert found["exact"] == expected.exact == (method == "weac")
        assert [layer["k"] for layer in found["layers"]] == [2, 4, 6]
        assert [layer["sizes"] for layer in found["layers"]] == [sizes.tolist() for sizes in expected.sizes[::-1]]
        assert found["layers"][0]["parents"] is None
        assert [layer["parents"] for layer in found["layers"][1:]] == [p.tolist() for p in expected.parents[::-1]]


@pytest.mark.parametrize("ks", [None, [], "2", [0], [2, "3"], list(range(1, 10))])
def test_invalid_layers_are_refused(client, ks):
    body = {"tab": "t", "request": {"query": {"k": 4}, "ks": ks}}
    response = client.post(f"/{TOKEN}/api/layers", json=body)
    assert response.status_code == 422
    assert "ks must" in response.json()["error"]


def test_parameters_without_a_default_take_numbers(client, bench):
    found = asked(client, "answer", {"query": {"method": "pta", "k": 4, "params": {"n_neighbors": 3}}})
    expected = qt.consensus(bench.ensemble, 4, "pta", n_neighbors=3)
    assert [cluster["size"] for cluster in found["clusters"]] == [cluster.size for cluster in expected.clusters]
    body = {"tab": "t", "request": {"query": {"method": "pta", "k": 4, "params": {"n_neighbors": True}}}}
    assert client.post(f"/{TOKEN}/api/answer", json=body).status_code == 422


def test_given_families_are_used_and_named():
    labels, _ = labels_and_truth()
    ens = qt.Ensemble(labels, names=["a_1", "a_2", "b_1", "b_2", "c_1", "c_2"])
    with testclient.TestClient(make_app(Workbench(ens), TOKEN), base_url=BASE) as client:
        found = asked(client, "answer", {"query": {"k": 4, "params": {"groups": "{tool}_*"}}})
        expected = qt.consensus(ens, 4, groups="{tool}_*")
        assert [member["weight"] for member in found["members"]] == pytest.approx(expected.member_weights, abs=1e-6)
        assert [member["trust"] for member in found["members"]] == pytest.approx(expected.trust, abs=1e-6)
        assert [member["family"] for member in found["members"]] == [1, 1, 2, 2, 3, 3]
        assert any(note.startswith("a_1 and a_2 are one family") for note in found["notes"])


def test_distances_of_the_members_from_a_result(client, bench):
    ball = qt.credible_ball(qt.consensus(bench.ensemble, 4))
    found = asked(client, "answer", {"query": {"k": 4}})["ball"]
    assert found["distances"] == pytest.approx(ball.distances.tolist(), abs=1e-4)
    assert found["radius"] == pytest.approx(ball.radius, abs=1e-4)


def test_members_vote_for_the_cluster_that_their_label_fills_most():
    """As for confidence: a large cluster does not get a vote because it holds most rows of a label."""
    random = np.random.default_rng(5)
    first, second = random.integers(3, size=(2, 300))
    labels = [np.where(random.random(300) < 0.05, random.integers(3, size=300), truth) for truth in (first, second) * 2]
    result = qt.consensus(labels, 5)
    outvoted = int(np.argmin(result.margin))
    assert result.margin[outvoted] < 0
    with testclient.TestClient(make_app(Workbench(qt.Ensemble(labels)), TOKEN), base_url=BASE) as client:
        view = asked(client, "row", {"query": {"k": 5}, "row": outvoted})
    filled = [
        [np.mean(member[result.labels == k] == member[outvoted]) for k in range(result.n_clusters)] for member in labels
    ]
    assert [vote["home"][0] for vote in view["votes"]] == np.argmax(filled, axis=1).tolist()
    largest = [np.bincount(result.labels[member == member[outvoted]]).argmax() for member in labels]
    assert largest != np.argmax(filled, axis=1).tolist()  # they differ here
