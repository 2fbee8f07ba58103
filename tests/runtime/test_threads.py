import subprocess
import sys
import threading

import numba
import pytest

from quorate._runtime import threads


@pytest.fixture(params=[1, 2])
def n_threads(request):
    before = numba.get_num_threads()
    numba.set_num_threads(min(request.param, before))
    yield request.param
    numba.set_num_threads(before)


def test_results_come_in_the_order_of_the_items(n_threads):
    shares = []
    found = threads.in_threads(lambda item: item**2, range(50), shares.append)
    assert found == [item**2 for item in range(50)]
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] == 1


def test_nothing_to_do_is_done(n_threads):
    assert threads.in_threads(lambda item: item, []) == []


def test_what_a_task_raises_comes_out_and_the_rest_is_dropped(n_threads):
    begun = []

    def task(item):
        begun.append(item)
        if item == 3:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        threads.in_threads(task, range(10_000))
    assert len(begun) < 10_000


def test_work_that_is_to_end_ends_between_two_tasks(n_threads):
    begun = []

    def check():
        if len(begun) >= 5:
            raise InterruptedError

    with threads.cancelled_by(check), pytest.raises(InterruptedError):
        threads.in_threads(begun.append, range(10_000))
    assert 5 <= len(begun) < 10_000


def test_a_task_may_use_threads_itself(n_threads):
    found = threads.in_threads(lambda item: sum(threads.in_threads(lambda other: item * other, range(4))), range(4))
    assert found == [0, 6, 12, 18]


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_the_calling_thread_works_along():
    both = threading.Barrier(2, timeout=60)

    def task(item):
        both.wait()  # neither goes on alone
        return threading.get_ident()

    assert threading.get_ident() in threads.in_threads(task, range(2))
    assert len(set(threads.in_threads(task, range(2)))) == 2


FIRST_ANSWER = """
from numba.np.ufunc import parallel
import numba, quorate as qt
from quorate._runtime import threads

qt.consensus([[0, 0, 1, 1], [0, 0, 0, 1], [1, 1, 0, 0]], 2)
print(parallel._is_initialized, threads.n_threads() == numba.config.NUMBA_NUM_THREADS)
numba.set_num_threads(1)
print(threads.n_threads())
"""


def test_threads_of_numba_are_not_started_for_an_answer_but_their_number_holds():
    said = subprocess.run([sys.executable, "-c", FIRST_ANSWER], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "True", "1"]
