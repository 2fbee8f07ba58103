"""Base clusterings: the generators of the paper, pools of members, and consensus clustering of features."""

from quorate.features.clusterers.hmac import HMAC
from quorate.features.clusterers.od_isvc import ODISVC
from quorate.features.clusterers.rpcl import RPCL
from quorate.features.clusterers.uspec import USPEC
from quorate.features.generators import METHODS
from quorate.features.pool import Pool, PoolMember, draw_pool, ill_clusterings, replace_with_ill

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
