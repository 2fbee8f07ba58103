"""The explorer: a live page over an ensemble, served to this machine only."""

from quorate.explorer.launch import Explorer, explore

__all__ = ["Explorer", "explore"]
