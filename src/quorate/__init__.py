"""Combine many clusterings of the same data into one, and learn which of them to trust."""

import importlib
from typing import TYPE_CHECKING, Any

from quorate.consensus.base import ConsensusCluster
from quorate.consensus.gp_mgla import GPMGLA
from quorate.consensus.registry import ConsensusResult, MethodInfo, consensus, methods
from quorate.consensus.weac import WEAC
from quorate.crowd import agreement, cai, member_weights, ncai
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError, QuorateWarning
from quorate.evidence import coassociation
from quorate.linkage import Dendrogram
from quorate.links import jaccard, sact
from quorate.memory import memory_limit
from quorate.scores import Scores, evaluate

if TYPE_CHECKING:
    from quorate import datasets, members
    from quorate.members import HMAC, ODISVC, RPCL

__version__ = "0.1.0"

__all__ = [
    "GPMGLA",
    "HMAC",
    "ODISVC",
    "RPCL",
    "WEAC",
    "ConsensusCluster",
    "ConsensusResult",
    "Dendrogram",
    "Ensemble",
    "MethodInfo",
    "QuorateError",
    "QuorateWarning",
    "Scores",
    "agreement",
    "cai",
    "coassociation",
    "consensus",
    "datasets",
    "evaluate",
    "jaccard",
    "member_weights",
    "members",
    "memory_limit",
    "methods",
    "ncai",
    "sact",
]

# Loaded when first used, since they bring in much more of scikit-learn.
_LAZY = {"HMAC": "members", "ODISVC": "members", "RPCL": "members", "datasets": "", "members": ""}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_LAZY[name] or name}")
    return getattr(module, name) if _LAZY[name] else module
