"""A real browser for tests: the system's Chromium, driven by Playwright."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_browser():
    """Return the path of a Chromium on PATH, or skip the test and say how to get one."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("No Chromium on PATH. Install one, on Debian with: apt-get install chromium")
    return found


@contextmanager
def open_browser():
    """Give a running browser, or skip the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Install it with: pip install playwright")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_browser(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Page:
    """One page of a browser; what went wrong in it is kept in `problems`, what it asked for in `requests`."""

    def __init__(self, browser, width=1280, height=900, *, dark=False, phone=False, touch=False):
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            device_scale_factor=2 if phone else 1,
            is_mobile=phone,
            has_touch=phone or touch,
            accept_downloads=True,
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)  # a hang, also on a busy machine
        self.problems, self.requests = [], []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._note)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, message):
        if message.type in ("error", "warning", "assert"):
            self.problems.append(message.text)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.context.close()

    def open(self, path):
        """Open a file or an address."""
        self.page.goto(path.resolve().as_uri() if isinstance(path, Path) else path)

    def run(self, script):
        """Return the value of an expression in the page."""
        return self.page.evaluate(script)

    def column(self, table, position):
        """Return the texts of a column of a table."""
        cells = f"[...document.querySelectorAll('#{table} tbody tr')].map(r => r.children[{position}].textContent)"
        return self.run(cells)
