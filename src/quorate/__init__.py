"""Combine many clusterings of the same data into one, and learn which of them to trust."""

from quorate.consensus.base import ConsensusCluster
from quorate.consensus.gp_mgla import GPMGLA
from quorate.consensus.registry import ConsensusResult, MethodInfo, consensus, methods
from quorate.consensus.weac import WEAC
from quorate.crowd import agreement, cai, member_weights, ncai
from quorate.ensemble import Ensemble
from quorate.errors import QuorateError, QuorateWarning
from quorate.evidence import coassociation
from quorate.frames import consensus_frame
from quorate.linkage import Dendrogram
from quorate.links import jaccard, sact
from quorate.memory import memory_limit
from quorate.scores import Scores, evaluate

__version__ = "0.1.0"

__all__ = [
    "GPMGLA",
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
    "consensus_frame",
    "evaluate",
    "jaccard",
    "member_weights",
    "memory_limit",
    "methods",
    "ncai",
    "sact",
]
