"""Base clusterings: the paper's four generators, pools of members drawn with them, and ill clusterings."""

from quorate.members.hmac import HMAC
from quorate.members.od_isvc import ODISVC
from quorate.members.rpcl import RPCL

__all__ = ["HMAC", "ODISVC", "RPCL"]
