"""The paper's experiments (section 7): protocol, runner, tables, figures, claims, and the published numbers."""

from quorate.paper.published import published
from quorate.paper.reproduction_page import write_report
from quorate.paper.runner import reproduce
from quorate.paper.spec import EXPERIMENTS, FULL, QUICK, Method, Spec

__all__ = ["EXPERIMENTS", "FULL", "QUICK", "Method", "Spec", "published", "reproduce", "write_report"]
