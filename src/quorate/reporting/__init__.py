"""Results for people: figures, a plain summary of a consensus, and a self-contained HTML report."""

from quorate.reporting import plot
from quorate.reporting.html import render_report, report
from quorate.reporting.origin import KnownClasses, Origin, known_classes
from quorate.reporting.summary import SUMMARY_VERSION, summarize

__all__ = [
    "SUMMARY_VERSION",
    "KnownClasses",
    "Origin",
    "known_classes",
    "plot",
    "render_report",
    "report",
    "summarize",
]
