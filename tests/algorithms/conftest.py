"""Reference answers of the methods."""

import numpy as np
import pytest

from quorate.ensemble import Ensemble
from support import SHARED, with_published

REFERENCES = [f"methods2_{name}" for name in ("lwea_VS_5_502", "lwea_VS_10_501", "lwea_MF_10_503", "pta_MF_10_504")]


@pytest.fixture(params=with_published(*REFERENCES))
def reference(request, published):
    """An ensemble with the answers of the dense oracles, or of the reference programs."""
    answers = published("oracle", request.param)
    labels = published("ensembles", str(answers["pool"]))["labels"]
    return Ensemble(labels[:, answers["cols"]]), answers


@pytest.fixture(params=REFERENCES if SHARED.is_dir() else REFERENCES[:1])
def authors_reference(request, published):
    """An ensemble drawn from a published pool, with the answers of the authors' programs."""
    answers = published("oracle", request.param)
    labels = published("ensembles", str(answers["pool"]))["labels"]
    return Ensemble(labels[:, answers["cols"]]), answers


@pytest.fixture(scope="module", params=with_published("baselines_lwea_VS_5", "baselines_lwea_VS_10"))
def baseline_reference(request, published):
    answers = published("oracle", request.param)
    pool = "generated" if request.param == "generated" else "lwea_VS"
    return answers, Ensemble(published("ensembles", pool)["labels"][:, answers["cols"]])


@pytest.fixture(scope="session")
def noisy_blobs():
    """Members that mislabel some rows of five groups; missing labels here and there."""
    random = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), [60, 50, 40, 30, 20])
    columns = []
    for k in (5, 7, 9, 5, 6):
        column = (truth * k) // 5 + random.integers(0, 2, 200) * (random.random(200) < 0.3)
        column[random.random(200) < 0.1] = random.integers(0, k)
        column = column.astype(float)
        column[random.random(200) < 0.05] = np.nan
        columns.append(column)
    return np.stack(columns, axis=1)
