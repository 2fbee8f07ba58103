"""Fixtures: the running example, a generated ensemble, published ensembles."""

import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from reference_answers import PATH as GENERATED
from reference_answers import generated_labels
from support import SHARED

settings.register_profile("quorate", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quorate")


@pytest.fixture(scope="session", autouse=True)
def _one_thread_of_linear_algebra():
    """Test processes share the cores; threads that wait for each other would take most of their time."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def running_example():
    """The example E1: six rows, three members, seven clusters."""
    return np.array([[1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 3, 3], [1, 1, 1, 1, 2, 2]]).T


@pytest.fixture
def frame():
    """Sixty rows: ids, known classes, three good members."""
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1, 2], 20)
    members = {f"m{j}": np.where(rng.random(60) < 0.15, rng.integers(0, 3, 60), truth) for j in range(3)}
    return pd.DataFrame({"cell": [f"c{i}" for i in range(60)], "class": truth, **members})


@pytest.fixture(scope="session")
def generated():
    """(n, members) labels of an ensemble made by nearest-row partitions of points in the plane."""
    return generated_labels()


@pytest.fixture(scope="session")
def published():
    """Return a loader of published ensembles and reference answers, as dictionaries of arrays.

    The name "generated" stands for the generated ensemble and the answers of our own oracles.
    """

    def load(folder, name):
        path = GENERATED if name == "generated" else SHARED / folder / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"needs the published file {folder}/{name}.npz in a folder `shared` next to the repository")
        with np.load(path) as archive:
            return dict(archive)

    return load


@pytest.fixture(scope="module")
def dask_cluster(tmp_path_factory):
    """A local cluster of two processes, on the loopback only, and a client of it."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit="2GB",
            local_directory=str(tmp_path_factory.mktemp("dask")),
        ) as cluster,
        distributed.Client(cluster, timeout="60s") as client,
    ):
        yield client


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """A Spark session on two threads of this machine."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed (Debian: default-jre-headless)")
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = builder.getOrCreate()
    yield session
    session.stop()
