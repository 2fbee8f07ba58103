"""The public names, and where they live. They are loaded when first used."""

from . import datasets, features, paper
from ._runtime.memory import memory_limit
from ._runtime.progress import progress
from ._runtime.time_limit import time_limit
from .algorithms.answer import Answer
from .algorithms.base import Solution
from .algorithms.best_member import BestMember
from .algorithms.cspa import CSPA
from .algorithms.cumulative_voting import CumulativeVoting
from .algorithms.eac import EAC
from .algorithms.ecmc import ECMC
from .algorithms.ecpcs_hc import ECPCSHC
from .algorithms.ecpcs_mc import ECPCSMC
from .algorithms.gp_mgla import GPMGLA
from .algorithms.hard_voting import HardVoting
from .algorithms.hbgf import HBGF
from .algorithms.kcc import KCC
from .algorithms.layers import Layers
from .algorithms.lce import LCE
from .algorithms.lwea import LWEA
from .algorithms.lwgp import LWGP
from .algorithms.majority import Majority
from .algorithms.mcla import MCLA
from .algorithms.median import MedianPartition
from .algorithms.mixture import MixtureModel
from .algorithms.portfolio import CandidateAnswer, Portfolio
from .algorithms.pta import PTA
from .algorithms.ptgp import PTGP
from .algorithms.registry import ConsensusResult, MethodInfo, consensus, methods
from .algorithms.sec import SEC
from .algorithms.sql_export import SqlExport
from .algorithms.srs import SRS
from .algorithms.wcc import WCC
from .algorithms.wct import WCT
from .algorithms.weac import WEAC
from .analysis.choose_k import Candidate, Choice, choose_k
from .analysis.choose_member import MemberChoice, MemberEvidence, choose_member
from .analysis.clusters import ConsensusCluster, Split
from .analysis.compare import LabelMatch, PartitionComparison, match, relabel
from .analysis.core_rows import Core, CoreStep, core
from .analysis.diagnosis import Diagnosis
from .analysis.member_camps import Camp, Camps, CredibleBall, camps, credible_ball
from .analysis.scores import Scores, evaluate
from .analysis.spatial import smooth_labels
from .analysis.structure.feature_structure import Structure, structure
from .analysis.structure.label_structure import LabelStructure, label_structure
from .benchmarking.comparison import bench
from .benchmarking.comparison_tables import Comparison
from .cluster_similarity import jaccard, sact
from .ensemble import Ensemble
from .errors import QuorateError, QuorateWarning
from .explorer.launch import Explorer, explore
from .features.clusterers.hmac import HMAC
from .features.clusterers.od_isvc import ODISVC
from .features.clusterers.rpcl import RPCL
from .features.clusterers.uspec import USPEC
from .features.consensus_clustering import ConsensusClustering
from .member_families import Families, families
from .numerics.linkage import Dendrogram
from .numerics.mutual_information import agreement
from .persistence.feature_models import FeatureModel
from .persistence.saving import load, save
from .reliability import (
    EnsembleTrust,
    MemberReliability,
    cai,
    cluster_certainty,
    ensemble_trust,
    member_reliability,
    member_weights,
    ncai,
    trust,
)
from .reporting import plot
from .reporting.html import report
from .row_similarity import coassociation, edge_evidence
from .soft_ensemble import SoftEnsemble
from .tables.clustering import FileClusters, cluster_file, cluster_frame
from .tables.combining import FileConsensus, consensus_file, consensus_frame, ensemble_from_frame
from .tables.comparing import compare

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
    "Answer",
    "BestMember",
    "Camp",
    "Camps",
    "Candidate",
    "CandidateAnswer",
    "Choice",
    "Comparison",
    "ConsensusCluster",
    "ConsensusClustering",
    "ConsensusResult",
    "Core",
    "CoreStep",
    "CredibleBall",
    "CumulativeVoting",
    "Dendrogram",
    "Diagnosis",
    "Ensemble",
    "EnsembleTrust",
    "Explorer",
    "Families",
    "FeatureModel",
    "FileClusters",
    "FileConsensus",
    "HardVoting",
    "LabelMatch",
    "LabelStructure",
    "Layers",
    "Majority",
    "MedianPartition",
    "MemberChoice",
    "MemberEvidence",
    "MemberReliability",
    "MethodInfo",
    "MixtureModel",
    "PartitionComparison",
    "Portfolio",
    "QuorateError",
    "QuorateWarning",
    "Scores",
    "SoftEnsemble",
    "Solution",
    "Split",
    "SqlExport",
    "Structure",
    "agreement",
    "bench",
    "cai",
    "camps",
    "choose_k",
    "choose_member",
    "cluster_certainty",
    "cluster_file",
    "cluster_frame",
    "coassociation",
    "compare",
    "consensus",
    "consensus_file",
    "consensus_frame",
    "core",
    "credible_ball",
    "datasets",
    "edge_evidence",
    "ensemble_from_frame",
    "ensemble_trust",
    "evaluate",
    "explore",
    "families",
    "features",
    "jaccard",
    "label_structure",
    "load",
    "match",
    "member_reliability",
    "member_weights",
    "memory_limit",
    "methods",
    "ncai",
    "paper",
    "plot",
    "progress",
    "relabel",
    "report",
    "sact",
    "save",
    "smooth_labels",
    "structure",
    "time_limit",
    "trust",
]
