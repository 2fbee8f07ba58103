"""The examples in the README and in the docs are run."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "how-to").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_are_true(page):
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.failed == 0


def test_the_tour_has_examples():
    assert doctest.testfile(str(ROOT / "docs" / "guide.md"), module_relative=False).attempted > 10
