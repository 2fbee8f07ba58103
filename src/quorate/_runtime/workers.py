"""Tasks in separate processes, which may fail, crash or exceed a time limit without affecting the caller.

A worker is a fresh interpreter that reads tasks from its standard input and writes results to its standard output. The
caller's main module is not run again. Standard output of the tasks goes to standard error.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import cloudpickle

TIMED_OUT = "ran out of time"
"""Prefix of the status of a task that exceeded its time limit."""
_LENGTH = 8  # bytes of the length that precedes a message


@dataclass(frozen=True)
class Failure:
    """The reason why a task has no result."""

    status: str


def run_in_workers(
    work: Callable[[Any], Any], tasks: Iterable[Any], n_jobs: int, timeout: float | None = None
) -> Iterator[tuple[Any, Any]]:
    """Yield each task with its result as soon as it is available, in any order, or with a `Failure`.

    Parameters
    ----------
    work : callable
        From a task to its result. It and the tasks are pickled by value where they cannot be imported.
    tasks : iterable
        Read as workers become free, so that few tasks are in memory.
    n_jobs : int
        Number of processes.
    timeout : float, optional
        Seconds after which a task is cancelled and its process killed.
    """
    waiting = _Shared(tasks)
    answers: queue.SimpleQueue[tuple[Any, Any] | BaseException | None] = queue.SimpleQueue()
    workers = [Worker() for _ in range(n_jobs)]

    # One thread per worker feeds it and waits; the caller only reads the queue.
    def serve(worker: Worker) -> None:
        try:
            for task in waiting:
                answers.put((task, worker.answer(work, task, timeout)))
        except BaseException as error:  # raised by the iterator of tasks: pass it to the caller
            answers.put(error)
        finally:
            worker.close()
            answers.put(None)

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    running = len(threads)
    try:
        # Until every feeding thread has ended.
        while running:
            answer = answers.get()
            if answer is None:
                running -= 1
            elif isinstance(answer, BaseException):
                raise answer
            else:
                yield answer
    finally:
        waiting.stop()
        for worker, thread in zip(workers, threads, strict=True):
            worker.kill()
            thread.join()


def run_isolated(work: Callable[[Any], Any], task: Any) -> Any:
    """Return the result of a process for this task alone, or a `Failure`: for libraries that crash on bad files."""
    worker = Worker()
    try:
        return worker.answer(work, task)
    finally:
        worker.kill()
        worker.close()


class _Shared:
    """An iterator that several threads may read."""

    def __init__(self, tasks: Iterable[Any]) -> None:
        self._tasks = iter(tasks)
        self._lock = threading.Lock()
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        with self._lock:
            if self._stopped:
                raise StopIteration
            return next(self._tasks)


class Worker:
    """A process that is started when first needed, and restarted after a crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def answer(self, work: Callable[[Any], Any], task: Any, timeout: float | None = None) -> Any:
        """Return the result of a task, or a `Failure`."""
        # Pickled here, so that a task that cannot be pickled fails in the caller.
        message = cloudpickle.dumps((work, task))
        if self._killed:
            return Failure("was not started")
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(timeout, give_up) if timeout is not None else None
        if timer is not None:
            timer.start()
        try:
            _send(process.stdin, message)
            received = _receive(process.stdout)
        except (BrokenPipeError, EOFError, OSError):
            # The process died or was killed: its exit code tells which.
            code = self.close()
            if late.is_set():
                return Failure(f"{TIMED_OUT} ({timeout:g} s)")
            return Failure(f"its process ended ({_reason(code)})")
        finally:
            if timer is not None:
                timer.cancel()
        return cloudpickle.loads(received)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            # The same modules as here, also those added to `sys.path` at run time.
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import serve; serve({os.getpid()})"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
        return self._process

    def close(self) -> int | None:
        """Wait for the process to end, and return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        with process:  # closes its pipes and waits: a worker ends with its input
            pass
        return process.returncode

    def kill(self) -> None:
        """Kill the process and start no other."""
        self._killed = True
        process = self._process
        if process is not None:
            process.kill()


def _reason(code: int | None) -> str:
    if code is None:
        return "by closing"
    return f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _send(stream: IO[bytes], message: bytes) -> None:
    # Length first, because pickles may contain any byte.
    stream.write(len(message).to_bytes(_LENGTH, "little") + message)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    length = stream.read(_LENGTH)
    if len(length) < _LENGTH:
        raise EOFError
    message = stream.read(int.from_bytes(length, "little"))
    if len(message) < int.from_bytes(length, "little"):
        raise EOFError
    return message


def _end_with(caller: int) -> None:
    """Exit when the calling process has ended, whatever this process is doing."""
    while os.getppid() == caller:
        time.sleep(0.5)
    os._exit(1)


def serve(caller: int) -> None:
    """Run tasks until there are no more, or until the calling process has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller handles Ctrl-C
    # A worker must not outlive a caller that was killed.
    threading.Thread(target=_end_with, args=(caller,), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of the tasks must not mix with the results
    while True:
        try:
            message = _receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            work, task = cloudpickle.loads(message)
            answer = work(task)
        except Exception as error:  # a failed task is a result; the worker goes on
            answer = Failure(f"{type(error).__name__}: {error}")
        _send(answers, cloudpickle.dumps(answer))
