"""Compiled loops (kernels): arrays in, arrays out; no validation, no printing, no state.

Importing this package is cheap. A kernel module, and with it numba, is loaded when it is first used, as in
`_kernels.row_hashing.group_rows(...)`.
"""

import pkgutil
from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from quorate._kernels import (  # noqa: F401
        chance,
        contingency,
        dip,
        edges,
        election,
        gaussian_sums,
        join_groups,
        landmarks,
        latent_classes,
        linked_groups,
        lloyd,
        majority_votes,
        merge_chain,
        nearest_centers,
        nearest_groups,
        neighbor_sums,
        partition_losses,
        rival_pass,
        row_hashing,
        sample_hashes,
        segments,
        tree_edges,
        vector_lanes,
        vote_losses,
        vote_shares,
    )

__getattr__, _, _ = lazy_loader.attach(__name__, submodules=[module.name for module in pkgutil.iter_modules(__path__)])
