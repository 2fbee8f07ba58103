"""What people see: figures, a plain summary of a consensus, and one HTML file made from it that opens anywhere."""

from quorate.show import plot
from quorate.show.html import render_report
from quorate.show.summary import SUMMARY_VERSION, Origin, summarise

__all__ = ["SUMMARY_VERSION", "Origin", "plot", "render_report", "summarise"]
