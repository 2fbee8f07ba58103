"""The public names, and where they live. They are loaded when first used."""

from . import datasets, members, paper
from ._support.memory import memory_limit
from ._support.patience import time_limit
from ._support.progress import progress
from .bench.run import bench
from .bench.tables import Comparison
from .boundaries import Structure
from .choice import Candidate, Choice
from .consensus.best_member import BestMember
from .consensus.clusters import ConsensusCluster, Split
from .consensus.cspa import CSPA
from .consensus.cumulative_voting import CumulativeVoting
from .consensus.eac import EAC
from .consensus.ecmc import ECMC
from .consensus.ecpcs_hc import ECPCSHC
from .consensus.ecpcs_mc import ECPCSMC
from .consensus.examine import LabelStructure, label_structure, structure
from .consensus.from_features import ConsensusClustering
from .consensus.gp_mgla import GPMGLA
from .consensus.hard_voting import HardVoting
from .consensus.hbgf import HBGF
from .consensus.kcc import KCC
from .consensus.lce import LCE
from .consensus.lwea import LWEA
from .consensus.lwgp import LWGP
from .consensus.mcla import MCLA
from .consensus.median import MedianPartition
from .consensus.mixture import MixtureModel
from .consensus.number import choose_k
from .consensus.pta import PTA
from .consensus.ptgp import PTGP
from .consensus.registry import ConsensusResult, MethodInfo, consensus, methods
from .consensus.sec import SEC
from .consensus.srs import SRS
from .consensus.wcc import WCC
from .consensus.wct import WCT
from .consensus.weac import WEAC
from .crowd import CrowdTrust, agreement, cai, cluster_certainty, crowd_trust, member_weights, ncai, trust
from .ensemble import Ensemble
from .errors import QuorateError, QuorateWarning
from .evidence import coassociation
from .explore.run import Explorer, explore
from .linkage import Dendrogram
from .links import jaccard, sact
from .members.hmac import HMAC
from .members.od_isvc import ODISVC
from .members.rpcl import RPCL
from .members.uspec import USPEC
from .scale.clustering import FileClusters, cluster_file, cluster_frame
from .scale.frames import consensus_frame, ensemble_from_frame
from .scale.models import FeatureModel
from .scale.store import load, save
from .scale.tables import FileConsensus, consensus_file
from .scores import Scores, evaluate
from .show import plot
from .show.html import report

__version__: str

__all__ = [
    "CSPA",
    "EAC",
    "ECMC",
    "ECPCSHC",
    "ECPCSMC",
    "GPMGLA",
    "HBGF",
    "HMAC",
    "KCC",
    "LCE",
    "LWEA",
    "LWGP",
    "MCLA",
    "ODISVC",
    "PTA",
    "PTGP",
    "RPCL",
    "SEC",
    "SRS",
    "USPEC",
    "WCC",
    "WCT",
    "WEAC",
    "BestMember",
    "Candidate",
    "Choice",
    "Comparison",
    "ConsensusCluster",
    "ConsensusClustering",
    "ConsensusResult",
    "CrowdTrust",
    "CumulativeVoting",
    "Dendrogram",
    "Ensemble",
    "Explorer",
    "FeatureModel",
    "FileClusters",
    "FileConsensus",
    "HardVoting",
    "LabelStructure",
    "MedianPartition",
    "MethodInfo",
    "MixtureModel",
    "QuorateError",
    "QuorateWarning",
    "Scores",
    "Split",
    "Structure",
    "agreement",
    "bench",
    "cai",
    "choose_k",
    "cluster_certainty",
    "cluster_file",
    "cluster_frame",
    "coassociation",
    "consensus",
    "consensus_file",
    "consensus_frame",
    "crowd_trust",
    "datasets",
    "ensemble_from_frame",
    "evaluate",
    "explore",
    "jaccard",
    "label_structure",
    "load",
    "member_weights",
    "members",
    "memory_limit",
    "methods",
    "ncai",
    "paper",
    "plot",
    "progress",
    "report",
    "sact",
    "save",
    "structure",
    "time_limit",
    "trust",
]
