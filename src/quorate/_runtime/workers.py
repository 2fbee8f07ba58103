"""Work in processes of its own that may fail, crash or run out of time without taking the rest along.

A worker is a fresh interpreter that reads tasks from its standard input and writes
answers to its standard output, so that nothing of the caller's main module is run again. Standard output of the work
itself goes to standard error.
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
"""What the status of a task begins with that was given up."""
_LENGTH = 8  # bytes that tell how long a message is


@dataclass(frozen=True)
class Failure:
    """Why there is no answer."""

    status: str


def run_in_workers(
    work: Callable[[Any], Any], tasks: Iterable[Any], n_jobs: int, timeout: float | None = None
) -> Iterator[tuple[Any, Any]]:
    """Yield each task with its answer as soon as it is there, in any order; a `Failure` where there is none.

    Parameters
    ----------
    work : callable
        From a task to its answer. It and the tasks are pickled by value where they cannot be imported.
    tasks : iterable
        Read as workers become free, so that few of them are in memory at once.
    n_jobs : int
        Number of processes.
    timeout : float, optional
        Seconds after which a task is given up and its process ended.
    """
    waiting = _Shared(tasks)
    answers: queue.SimpleQueue[tuple[Any, Any] | BaseException | None] = queue.SimpleQueue()
    workers = [Worker() for _ in range(n_jobs)]

    def serve(worker: Worker) -> None:
        try:
            for task in waiting:
                answers.put((task, worker.answer(work, task, timeout)))
        except BaseException as error:  # of the tasks' own iterator: the caller must see it
            answers.put(error)
        finally:
            worker.close()
            answers.put(None)

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    running = len(threads)
    try:
        while running:
            found = answers.get()
            if found is None:
                running -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                yield found
    finally:
        waiting.stop()
        for worker, thread in zip(workers, threads, strict=True):
            worker.kill()
            thread.join()


def run_isolated(work: Callable[[Any], Any], task: Any) -> Any:
    """Return the answer of a process for this task alone, or a `Failure`: for libraries that crash on bad files."""
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
    """A process that is started when first needed, and again after it was lost."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False

    def answer(self, work: Callable[[Any], Any], task: Any, timeout: float | None = None) -> Any:
        """Return the answer to a task, or why there is none."""
        message = cloudpickle.dumps((work, task))
        if self._killed:
            return Failure("was not begun")
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
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import serve; serve({os.getpid()})"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
        return self._process

    def close(self) -> int | None:
        """Let the process end, and return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        with process:  # closes its pipes and waits: a process without input ends
            pass
        return process.returncode

    def kill(self) -> None:
        """End the process at once, and start no other."""
        self._killed = True
        process = self._process
        if process is not None:
            process.kill()


def _reason(code: int | None) -> str:
    if code is None:
        return "with the work"
    return f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _send(stream: IO[bytes], message: bytes) -> None:
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
    """End this process, whatever it is at, when its caller has ended."""
    while os.getppid() == caller:
        time.sleep(0.5)
    os._exit(1)


def serve(caller: int) -> None:
    """Answer tasks until there are no more, or until the process that asks is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that is the caller's to answer
    threading.Thread(target=_end_with, args=(caller,), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the work prints must not get among the answers
    while True:
        try:
            message = _receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            work, task = cloudpickle.loads(message)
            answer = work(task)
        except Exception as error:  # a failing task is an answer, not a reason to stop
            answer = Failure(f"{type(error).__name__}: {error}")
        _send(answers, cloudpickle.dumps(answer))
