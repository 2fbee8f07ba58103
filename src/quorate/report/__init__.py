"""The report: a plain summary of a consensus, and one HTML file made from it that opens anywhere."""

from quorate.report.html import render_report
from quorate.report.summary import SUMMARY_VERSION, Origin, summarise

__all__ = ["SUMMARY_VERSION", "Origin", "render_report", "summarise"]
