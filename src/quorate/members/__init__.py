"""Base clusterings: the paper's four generators, pools of members drawn with them, and ill clusterings."""

from quorate.members.generators import METHODS
from quorate.members.hmac import HMAC
from quorate.members.od_isvc import ODISVC
from quorate.members.pool import Pool, PoolMember, draw_pool, ill_clusterings, replace_with_ill
from quorate.members.rpcl import RPCL
from quorate.members.uspec import USPEC

__all__ = [
    "HMAC",
    "METHODS",
    "ODISVC",
    "RPCL",
    "USPEC",
    "Pool",
    "PoolMember",
    "draw_pool",
    "ill_clusterings",
    "replace_with_ill",
]
