"""The explorer in a notebook: the same page, in a frame, with the same requests as messages instead of HTTP."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import anywidget
import traitlets

from quorate.algorithms.registry import ConsensusResult
from quorate.explorer.requests import check_fields
from quorate.explorer.server import Requests, web_text
from quorate.explorer.workbench import Workbench
from quorate.reporting.bundling import bundle

_STYLE = re.compile(r'<link rel="stylesheet" href="web/(\w+\.css)">')
_SCRIPT = re.compile(r'<script type="module" src="web/(\w+\.js)"></script>')


def page() -> str:
    """Return the page as one HTML text with its styles and scripts; it talks to the widget around its frame."""

    def read(name: str) -> str:
        return web_text("widget_connection.js" if name == "connection.js" else name)

    # One text without references: the frame in a notebook cannot load files.
    text = _STYLE.sub(lambda link: f"<style>{web_text(link[1])}</style>", web_text("explore.html"))
    return _SCRIPT.sub(lambda tag: f'<script type="module">{bundle(tag[1], read)}</script>', text)


class ExplorerWidget(anywidget.AnyWidget):
    """The explorer in a notebook; `result` is the consensus that it shows."""

    _esm = f"const PAGE = {json.dumps(page())};\n{web_text('widget.js')}"
    settings = traitlets.Unicode("").tag(sync=True)
    """The settings of the page, so that it keeps them when the notebook draws it again."""

    def __init__(self, bench: Workbench) -> None:
        self._requests = Requests(bench)
        self._waiting: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        super().__init__()
        self.on_msg(self._receive)

    @property
    def result(self) -> ConsensusResult:
        """The consensus that the page showed last; before that, the one that it shows first."""
        return self._requests.bench.result()

    def _receive(self, widget: Any, message: Any, buffers: Any) -> None:
        """Take a message of the page: a request, or that it has given up one."""
        fields = check_fields(message, ("id",), ("part", "body", "abort"))
        if "abort" in fields:
            self._waiting.discard(fields["id"])
            return
        # The event loop of the notebook goes on while the work runs in a thread. It keeps only weak references.
        task = asyncio.get_running_loop().create_task(self._reply(fields["id"], fields.get("part"), fields.get("body")))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reply(self, id: str, part: Any, body: Any) -> None:
        async def disconnected() -> bool:
            return id not in self._waiting

        self._waiting.add(id)
        reply = await self._requests.reply(str(part), body, disconnected)
        self._waiting.discard(id)
        self.send({"id": id, "status": reply.status, "type": reply.kind}, [reply.body])

    def close(self) -> None:
        """Close the widget and cancel its running work."""
        self._requests.jobs.cancel_all()
        super().close()
