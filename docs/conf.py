"""The documentation site: `make docs` builds it, with warnings as errors and without the network."""

import sys
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import pages  # noqa: E402

import quorate  # noqa: E402

project = "Quorate"
author = copyright = "The Quorate developers"
version = release = quorate.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_generated/gallery/*.ipynb", "_generated/gallery/*.py"]
html_theme = "furo"
html_title = "Quorate"
html_static_path: list[str] = []
html_extra_path = ["_generated/root"]  # llms.txt
html_theme_options = {"sidebar_hide_name": False, "navigation_with_keys": True}

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

default_role = "code"  # as in Markdown
autosummary_generate = True
autosummary_context = {"hidden_members": {name: pages.hidden_members(name) for name in quorate.__all__}}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "_generated/gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "write_computation_times": False,
    "plot_gallery": "True",
}


def _mathml(self: Any, node: Any, display: str) -> None:
    """Write an equation as MathML, which browsers show without any script."""
    self.body.append(convert(node.astext(), display=display))


def _inline(self: Any, node: Any) -> None:
    _mathml(self, node, "inline")
    raise SkipNode


def _block(self: Any, node: Any) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    _mathml(self, node, "block")
    self.body.append("</div>\n")
    raise SkipNode


def setup(app: Sphinx) -> None:
    """Write the pages that are made from the code, before Sphinx looks for pages."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    app.connect("config-inited", lambda *_: pages.write_all(HERE / "_generated"), priority=100)
    # Before numpydoc, which has 500.
    app.connect("autodoc-process-docstring", lambda *event: pages.escape_docstring(event[-1]), priority=400)


html_math_renderer = "mathml"
