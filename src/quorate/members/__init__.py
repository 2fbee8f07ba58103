"""Base clusterings: the paper's four generators, pools of members drawn with them, and ill clusterings."""

from quorate.members.rpcl import RPCL

__all__ = ["RPCL"]
