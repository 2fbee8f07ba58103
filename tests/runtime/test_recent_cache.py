import pickle
import threading
import time

import pytest

from quorate._runtime.recent_cache import RecentCache


def test_threads_that_need_the_same_result_compute_it_once():
    cache, calls, results = RecentCache(2), [], []

    def compute():
        calls.append(1)
        time.sleep(0.05)
        return object()

    workers = [threading.Thread(target=lambda: results.append(cache.get("key", compute))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(calls) == 1
    assert len(set(map(id, results))) == 1


def test_the_least_recently_used_result_is_dropped():
    cache = RecentCache(2)
    for key in ("a", "b", "a", "c"):
        cache.get(key, key.upper)
    assert [key in cache for key in "abc"] == [True, False, True]
    assert "a" not in pickle.loads(pickle.dumps(cache))


def test_a_failed_computation_is_not_kept():
    cache = RecentCache(2)
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: 1 / 0)
    assert cache.get("key", lambda: 5) == 5


def test_a_result_that_does_not_suffice_is_replaced():
    cache = RecentCache(2)
    assert [cache.get("largest", lambda n=n: n, lambda known, n=n: known >= n) for n in (3, 2, 5, 4)] == [3, 3, 5, 5]
    assert cache.items() == [("largest", 5)]
