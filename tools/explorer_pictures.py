"""The pictures of the explorer in the docs: `python tools/explorer_pictures.py` (needs Playwright and Chromium)."""

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

import quorate as qt
from quorate.cli.demo import demonstrate

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
PICTURES = {
    "explore-members": ("#tab=%22members%22&k=3", {"width": 1180, "height": 900}, "light"),
    "explore-answer": ("#tab=%22answer%22&k=3&method=%22weac%22", {"width": 1180, "height": 900}, "dark"),
    "explore-phone": ("#tab=%22rows%22&k=3", {"width": 390, "height": 900}, "light"),
}


def main() -> None:
    """Take the pictures of the seeds that `quorate demo` combines."""
    shown = demonstrate()
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with (
        qt.explore(
            shown.ensemble,
            features=shown.data.features,
            truth=shown.data.classes,
            name="seeds",
            open_browser=False,
        ) as running,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for name, (address, size, scheme) in PICTURES.items():
            page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(running.url + address)
            page.wait_for_selector("html[data-drawn]")
            page.screenshot(path=str(FOLDER / f"{name}.png"))
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
