"""The explorer misused: whatever is sent to its server gets a clear refusal in time, and the server goes on."""

import asyncio
import json
import random
import socket
import time
from collections import Counter

import numpy as np
import pytest

import quorate as qt

pytest.importorskip("starlette", reason='Install it with: pip install "quorate[explore]"')
pytest.importorskip("uvicorn")
import httpx

from quorate.explorer.launch import Explorer, coordinates
from quorate.explorer.server import make_app
from quorate.explorer.views import VIEWS
from quorate.explorer.workbench import Workbench

TOKEN = "secret"
NASTY = "</script><b>\"&'"
HEADERS = {"content-type": "application/json"}
SECONDS = 30  # what takes longer counts as a hang; far more than any of these needs on a busy machine
FIELDS = ["query", "row", "k", "method", "members", "weights", "params", "cluster", "bin", "find", "polygon", "offset",
          "limit", "color", "one", "other", "left", "right", "format", "member", NASTY]  # fmt: skip
JUNK = [None, True, -1, 0, 1e308, "x", "\u202e", [], {}, [[]], {"a": 1}, 10**30, "y" * 2000, -0.5, [1, 2], "\ud800"]
BODIES = [b"", b"{", b"[" * 5000, b"NaN", b'{"tab":"a","request":Infinity}', b"\xff\xfe", b'{"tab":"a"}' * 2]


@pytest.fixture(scope="module")
def bench():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 240)
    members = [np.where(rng.random(240) < 0.2, rng.integers(0, 4, 240), truth) for _ in range(6)]
    ens = qt.Ensemble(members)
    xy = np.column_stack([truth + rng.normal(0, 0.2, 240), rng.normal(size=240)])
    return Workbench(ens, truth=tuple(map(str, truth)), truth_name="class", **coordinates(ens, xy=xy))


def malformed(rng):
    """Return something that is hardly a good question: a part of the address, and a body."""
    part = rng.choice([*VIEWS, "nothing", "progress", "cancel"])
    kind = rng.random()
    if kind < 0.1:
        return part, rng.randbytes(rng.randrange(60))
    if kind < 0.2:
        return part, rng.choice(BODIES)
    question = {rng.choice(FIELDS): thing(rng) for _ in range(rng.randrange(4))}
    if kind < 0.6:
        names = ["k", "method", "members", "weights", "params", "x"]
        question["query"] = {rng.choice(names): thing(rng) for _ in range(2)}
    return part, json.dumps({"tab": "f", "request": question} if kind < 0.9 else thing(rng)).encode()


def thing(rng, depth=0):
    if depth > 2 or rng.random() < 0.5:
        return rng.choice(JUNK)
    return {rng.choice(FIELDS): thing(rng, depth + 1) for _ in range(rng.randrange(4))}


def check_refusal(seen, part, body, response):
    seen[response.status_code] += 1
    assert response.status_code < 500, (part, body, response.text)
    assert "Traceback" not in response.text
    if response.status_code >= 400:
        assert response.json()["error"].endswith((".", "?")), (part, body, response.text)


def check_mostly_refused(seen, n):
    print(dict(seen))
    assert seen.total() == n
    assert sum(count for status, count in seen.items() if status >= 400) > 0.5 * n


async def ask_in_process(bench, n, seed):
    """Send n malformed questions to the application itself, each with a time limit."""
    rng, seen = random.Random(seed), Counter()
    way = httpx.ASGITransport(app=make_app(bench, TOKEN))
    async with httpx.AsyncClient(transport=way, base_url="http://127.0.0.1") as client:
        for _ in range(n):
            part, body = malformed(rng)
            sent = client.post(f"/{TOKEN}/api/{part}", content=body, headers=HEADERS)
            check_refusal(seen, part, body, await asyncio.wait_for(sent, SECONDS))
    return seen


def ask_running(url, n, seed):
    """Send n malformed questions to a running server, each with a time limit."""
    rng, seen = random.Random(seed), Counter()
    with httpx.Client(timeout=SECONDS) as client:
        for _ in range(n):
            part, body = malformed(rng)
            check_refusal(seen, part, body, client.post(f"{url}api/{part}", content=body, headers=HEADERS))
    return seen


def test_malformed_questions_get_a_clear_answer(bench):
    check_mostly_refused(asyncio.run(ask_in_process(bench, 400, seed=0)), 400)
    with Explorer(bench).start() as running:
        check_mostly_refused(ask_running(running.url, 60, seed=1), 60)
        check_shouted(running, 30, seed=2)
        assert httpx.get(running.url).status_code == 200


@pytest.mark.slow
def test_ten_thousand_malformed_questions(bench):
    check_mostly_refused(asyncio.run(ask_in_process(bench, 8_000, seed=3)), 8_000)
    with Explorer(bench).start() as running:
        check_mostly_refused(ask_running(running.url, 1_500, seed=4), 1_500)
        check_shouted(running, 500, seed=5)
        assert httpx.get(running.url).status_code == 200


def not_http(rng):
    """Return bytes that are hardly a request."""
    line = b"POST /%s/api/answer HTTP/1.1\r\n" % TOKEN.encode()
    good = line + b"Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return rng.choice([
        rng.randbytes(rng.randrange(1, 400)), b"GET\r\n\r\n", b"\x16\x03\x01" + rng.randbytes(200), b"\r\n" * 50,
        line + b"\r\n", line + b"Host\r\n\r\n", good + b"Content-Length: -1\r\n\r\n", good + b"X: " + b"y" * 100_000,
        good + b"Content-Length: x\r\n\r\n{}", good + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        good + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", good + b"Content-Length: 1000\r\n\r\n{}",
        good + b"Content-Length: 99999999999999999999\r\n\r\n{", b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", good[:40],
    ])  # fmt: skip


def shout(running, data):
    """Send bytes and no more, and return all that comes back until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=SECONDS) as connection:
        found = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(1 << 16):
                found += piece
        except (ConnectionError, BrokenPipeError):
            pass  # refused in the middle of it
        return found


def check_shouted(running, n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        sent = not_http(rng)
        reply = shout(running, sent)
        assert reply == b"" or reply.startswith(b"HTTP/1.1 4"), (sent, reply)
        assert b"Traceback" not in reply


def test_connections_that_say_nothing_do_not_keep_others_waiting(bench):
    with Explorer(bench).start() as running:
        silent = [socket.create_connection(("127.0.0.1", running.port), timeout=SECONDS) for _ in range(60)]
        for connection in silent[::2]:
            connection.sendall(b"POST /x HTTP/1.1\r\nHost: 127.0")
        asked = httpx.post(
            f"{running.url}api/answer", json={"tab": "t", "request": {"query": {"k": 3}}}, timeout=SECONDS
        )
        assert asked.json()["k"] == 3
        began = time.monotonic()
        running.stop()
        assert time.monotonic() - began < SECONDS
        for connection in silent:
            connection.close()
