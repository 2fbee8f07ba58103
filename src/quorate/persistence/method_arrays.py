"""Fitted consensus methods as plain values and arrays: the pattern table, the parameters and the answer.

What an answer was cut from (a dendrogram, an embedding) is not saved; it is computed again when it is first used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.ensemble import Ensemble, pattern_codes
from quorate.persistence.archive import Archive, Arrays, plain_parameters, text_array
from quorate.soft_ensemble import refuse_soft


def pack_method(fitted: Any) -> Archive:
    """Return a fitted consensus method as plain values and arrays."""
    name = type(fitted).__name__
    manifest = {
        "kind": "consensus",
        "method": fitted.name,
        "parameters": plain_parameters(fitted.get_params(), name),
        "requested": fitted.answer_.requested,
    }
    answer = {
        "pattern_labels": fitted.pattern_labels_,
        "member_weights": fitted.member_weights_,
    }
    return manifest, {**_pack_ensemble(fitted.ensemble_), **answer}


def _pack_ensemble(ens: Ensemble) -> Arrays:
    """Return the pattern table: codes of labels, the labels themselves, and how many rows share them."""
    refuse_soft(ens, "save")
    arrays: Arrays = {
        "names": text_array(ens.names),
        "noise": text_array(ens.noise),
        "codes": pattern_codes(ens),
        "row_counts": ens.row_counts,
    }
    for j, levels in enumerate(ens.levels):
        # Text levels are JSON, because arrays of objects would need pickle.
        arrays[f"levels_{j}"] = text_array(levels.tolist()) if levels.dtype.kind == "O" else levels
        arrays[f"text_{j}"] = np.array([levels.dtype.kind == "O"], dtype=np.uint8)
    if ens.weighted:
        arrays["weights"] = np.asarray(ens.counts, dtype=np.float64)
        arrays["weight_unit"] = np.array(ens.weight_unit)
    if ens.has_rows:
        arrays["row_pattern"] = ens.row_pattern
    return arrays
