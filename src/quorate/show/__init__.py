"""What people see: figures, a plain summary of a consensus, and one HTML file made from it that opens anywhere."""

from quorate.show import plot
from quorate.show.html import render_report, report
from quorate.show.origin import KnownClasses, Origin, known_classes
from quorate.show.summary import SUMMARY_VERSION, summarise

__all__ = [
    "SUMMARY_VERSION",
    "KnownClasses",
    "Origin",
    "known_classes",
    "plot",
    "render_report",
    "report",
    "summarise",
]
