"""The explorer: a live page over an ensemble, served to this machine only."""

from quorate.explore.run import Explorer, explore

__all__ = ["Explorer", "explore"]
