"""The explorer in a notebook: the same page and the same replies as over HTTP, and what it shows can be read back."""

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import quorate as qt
from browser import Page, open_browser
from quorate.explorer.views import VIEWS

pytest.importorskip("anywidget", reason='Install it with: pip install "quorate[notebook]"')
from quorate.explorer.widget import page
from support import EndlessView

QUERIES = [
    ({}, {}),
    ({"k": 3}, {"n_clusters": 3}),
    ({"method": "weac", "k": 5}, {"n_clusters": 5, "method": "weac"}),
    ({"k": 4, "params": {"beta": 3.0}}, {"n_clusters": 4, "beta": 3.0}),
]


def make_labels():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 240)
    members = [np.where(rng.random(240) < 0.2, rng.integers(0, 4, 240), truth) for _ in range(5)]
    return np.stack([*members, rng.integers(0, 4, 240)], axis=1)


@pytest.fixture(scope="module")
def labels():
    return make_labels()


class Frame:
    """The page's end of the messages: requests go to the widget, and its replies are collected."""

    def __init__(self, widget):
        self.widget, self.replies = widget, {}
        widget.send = lambda content, buffers: self.replies.update({content["id"]: (content, buffers[0])})

    def send(self, message):
        self.widget._handle_custom_msg(message, [])

    async def reply(self, id):
        """Return the status of a reply, and its value."""
        deadline = time.monotonic() + 60
        while id not in self.replies:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        content, body = self.replies.pop(id)
        return content["status"], json.loads(body) if content["type"] == "application/json" else body

    async def request(self, part, request=None):
        self.send({"id": "1", "part": part, "body": {"tab": "t", "request": request or {}}})
        return await self.reply("1")


def in_frame(labels, play):
    """Run `play(frame)` in an event loop, as in a notebook."""
    widget = qt.explore(labels, inline=True)
    frame = Frame(widget)
    asyncio.run(play(frame))
    return widget


@pytest.mark.parametrize(("query", "own"), QUERIES)
def test_replies_and_the_result_are_those_of_the_library(labels, query, own):
    result = qt.consensus(labels, **own)

    async def play(frame):
        status, view = await frame.request("answer", {"query": query})
        assert (status, view["k"]) == (200, result.n_clusters)
        assert [cluster["size"] for cluster in view["clusters"]] == [cluster.size for cluster in result.clusters]
        status, table = await frame.request("labels", {"query": query, "format": "csv"})
        rows = [int(line.split(",")[1]) for line in table.decode().splitlines()[1:]]
        assert (status, rows) == (200, result.labels.tolist())

    widget = in_frame(labels, play)
    assert widget.result.labels.tolist() == result.labels.tolist()
    assert widget.result.method == result.method
    assert widget.result.confidence.tolist() == result.confidence.tolist()


def test_a_new_widget_has_the_default_result(labels):
    ens = qt.Ensemble(labels)
    widget = qt.explore(ens, inline=True)
    assert widget.result.labels.tolist() == qt.consensus(labels).labels.tolist()
    assert widget.result.ensemble is ens


def test_members_and_weights_of_the_page_are_in_the_result(labels):
    query = {"k": 4, "members": [0, 1, 2, 5], "weights": {"1": 0.25}}

    async def play(frame):
        assert (await frame.request("answer", {"query": query}))[0] == 200
        assert (await frame.request("answer", {"query": {"method": "waec"}}))[0] == 422  # not shown

    result = in_frame(labels, play).result
    influence = qt.consensus(labels[:, [0, 1, 2, 5]], 4).member_weights
    influence = influence / influence.max()
    influence[1] = 0.25
    expected = qt.consensus(labels[:, [0, 1, 2, 5]], 4, weights=influence)
    assert result.labels.tolist() == expected.labels.tolist()
    assert result.member_weights.tolist() == pytest.approx(expected.member_weights.tolist())


def test_wrong_requests_get_an_error_and_internal_ones_a_status(labels, monkeypatch):
    monkeypatch.setitem(VIEWS, "structure", lambda bench, data, job: 1 / 0)

    async def play(frame):
        assert (await frame.request("nothing"))[0] == 404
        assert (await frame.request("rows", {"limit": 3}))[0] == 422
        status, reply = await frame.request("structure")
        assert (status, "ZeroDivisionError" in reply["error"]) == (500, True)
        frame.send({"id": "2", "part": "answer", "body": None})
        assert (await frame.reply("2"))[0] == 400

    in_frame(labels, play)


def test_work_ends_when_the_page_gives_it_up(labels, monkeypatch):
    endless = EndlessView()
    monkeypatch.setitem(VIEWS, "matrix", endless)

    async def play(frame):
        frame.send({"id": "a", "part": "matrix", "body": {"tab": "t"}})
        await asyncio.to_thread(endless.begun.wait, 20)
        assert (await frame.request("progress"))[1][0]["stage"] == endless.stage
        frame.send({"id": "a", "abort": True})
        assert (await frame.reply("a"))[0] == 409
        assert await asyncio.to_thread(endless.ended.wait, 20)

    in_frame(labels, play)


def test_the_page_needs_no_network_and_its_modules_have_different_names():
    text = page()
    assert re.findall(r'<(?:link|script|img)[^>]*(?:src|href)="([^"]+)"', text) == ["data:,"]
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"^(import|export) ", text, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|const|let|class) ([\w$]+)", text, re.MULTILINE)
    assert {"send", "drawScatter"} <= set(names)
    assert len(set(names)) == len(names)


# In a notebook, in a real browser -----------------------------------------------------------------------------------

NOTEBOOK = """
import marimo

app = marimo.App()


@app.cell
def _():
    import sys
    sys.path.insert(0, {folder!r})
    import time
    import marimo as mo
    import quorate as qt
    from test_widget import make_labels
    explorer = qt.explore(make_labels(), inline=True)
    explorer
    return explorer, mo, time


@app.cell
def _(mo):
    button = mo.ui.run_button(label="read")
    button
    return (button,)


@app.cell
def _(button, explorer, mo, time):
    mo.Html(f"<pre id='shown'>{{time.time_ns()}} {{explorer.result.labels.tolist() if button.value else ''}}</pre>")
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The address of a notebook with an explorer; marimo runs it."""
    pytest.importorskip("marimo", reason="Install it with: pip install marimo")
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "notebook.py").write_text(NOTEBOOK.format(folder=os.path.dirname(__file__)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", "notebook.py", "--headless", "--no-token"]
    paths = [os.path.dirname(os.path.dirname(__file__)), *sys.path]
    server = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MARIMO_SKIP_UPDATE_CHECK": "1", "HOME": str(folder)},
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 120
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(30)


class Notebook(Page):
    """A notebook in a page, with the explorer in a frame."""

    def start(self, url):
        self.open(url)
        self.page.wait_for_selector("iframe")
        self.frame = next(frame for frame in self.page.frames if frame.url.startswith("about:srcdoc"))
        self.frame.wait_for_selector("html[data-drawn]")
        return self

    def drawn(self):
        return int(self.frame.evaluate("document.documentElement.dataset.drawn"))

    def answered(self, action):
        """Do something that changes the result, and wait until it is drawn."""
        before, deadline = self.drawn(), time.monotonic() + 120
        action()
        while self.drawn() == before:
            assert time.monotonic() < deadline
            self.page.wait_for_timeout(20)

    def labels(self):
        """Return the labels of `explorer.result` in Python."""
        before, deadline = self.page.inner_text("#shown"), time.monotonic() + 120
        self.page.get_by_role("button", name="read").click()
        while (shown := self.page.inner_text("#shown")) == before:
            assert time.monotonic() < deadline
            self.page.wait_for_timeout(20)
        return json.loads(shown.partition(" ")[2])

    def sizes(self):
        return self.frame.eval_on_selector_all(
            "#clusters tbody tr", "rows => rows.map(row => Number(row.children[1].textContent))"
        )


def test_the_notebook_shows_and_returns_what_the_library_gives(notebook, labels):
    ens = qt.Ensemble(labels)
    with open_browser() as browser, Notebook(browser).start(notebook) as page:

        def shows(result):
            assert page.sizes() == [cluster.size for cluster in result.clusters]
            assert page.labels() == result.labels.tolist()

        page.answered(lambda: page.frame.click("[data-tab=answer]"))
        shows(qt.consensus(ens))
        page.answered(lambda: page.frame.click("#more"))
        shows(qt.consensus(ens, qt.consensus(ens).n_clusters + 1))
        page.answered(lambda: page.frame.select_option("#method", "weac"))
        shows(qt.consensus(ens, qt.consensus(ens).n_clusters + 1, "weac"))
        page.answered(lambda: page.frame.click("#auto"))
        shows(qt.consensus(ens, method="weac"))
        page.answered(lambda: page.frame.click("[data-tab=members]"))
        page.answered(lambda: page.frame.uncheck("[data-member='5']"))
        page.answered(lambda: page.frame.click("[data-tab=answer]"))
        shows(qt.consensus(ens.select(range(5)), method="weac"))
        with page.page.expect_download() as saved:
            page.answered(lambda: page.frame.click("[data-tab=take]"))
            page.frame.click("#csv")
        rows = saved.value.path().read_text().splitlines()[1:]
        assert [int(line.split(",")[1]) for line in rows] == page.labels()
        assert page.frame.is_hidden("#address-box")
        elsewhere = [url for url in page.requests if not url.startswith((notebook, "data:", "blob:", "about:"))]
        assert [url for url in elsewhere if not url.startswith(notebook.replace("http", "ws"))] == []
        assert [problem for problem in page.problems if "preload" not in problem] == []


def test_the_page_follows_the_theme_of_the_notebook_and_reports_silence(notebook):
    with open_browser() as browser, Notebook(browser).start(notebook) as page:
        theme = "document.documentElement.dataset.theme"
        assert page.frame.evaluate(theme) == "light"
        page.page.evaluate("document.body.classList.replace('light', 'dark') || document.body.classList.add('dark')")
        page.frame.wait_for_function(f"{theme} === 'dark'")
        page.page.evaluate("document.body.classList.replace('dark', 'light')")
        page.frame.wait_for_function(f"{theme} === 'light'")
        # Messages get no reply, as after a restart of the kernel.
        page.frame.evaluate("window.parent.postMessage = () => {}")
        page.frame.click("[data-tab=answer]")
        page.frame.click("#more")
        page.frame.wait_for_function("document.getElementById('status').textContent.includes('run this cell again')")
