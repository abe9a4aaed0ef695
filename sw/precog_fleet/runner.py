"""Tasks of a job, here, in a pool of processes, or on the machines of a Ray cluster.

A task is a function of a module and picklable arguments; its result depends on nothing else, so
that the number of workers changes no result. A worker that dies costs its task, which is tried
again; a task that raises has failed, and so has the job.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, Protocol

from .errors import FleetError, needs

__all__ = ["Here", "Pool", "RayRunner", "Runner", "Task"]

_TRIES = 3
_CONNECT_S = 5.0


@dataclass(frozen=True)
class Task:
    """One piece of work.

    Parameters
    ----------
    name : str
        Of its result.
    function : callable
        Of a module, for other processes to find.
    arguments : tuple
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Runner(Protocol):
    """Runs tasks; results come as they are done, in any order."""

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Each task with its result.

        Raises
        ------
        FleetError
            A worker died with a task again and again.
        """

    def close(self) -> None:
        """End the workers."""


class Here:
    """Runs tasks in this process, one after the other."""

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Each task with its result, in order."""
        for task in tasks:
            yield task, task.function(*task.arguments)

    def close(self) -> None:
        """There are no workers."""


class Pool:
    """Runs tasks in processes that are spawned: sessions of the mesh do not survive a fork.

    Parameters
    ----------
    workers : int

    Attributes
    ----------
    lost : int
        Workers that died.

    Raises
    ------
    ValueError
        There is no worker.
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers!r}")
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._closed = False
        self._closing = threading.Lock()  # a pool that is made meanwhile would be missed
        self.lost = 0

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Each task with its result, as they are done."""
        left = {task.name: task for task in tasks}
        tries = dict.fromkeys(left, 0)
        while left:
            try:
                for task, result in self._round(list(left.values())):
                    del left[task.name]
                    yield task, result
            except (BrokenProcessPool, CancelledError):
                if self._closed:
                    raise FleetError("workers were ended before their job was") from None
                self.lost += 1
                # It is not known which task it was: all that are left have been tried.
                tries = {name: tries[name] + 1 for name in left}
                worst = max(tries, key=lambda name: tries[name])
                if tries[worst] >= _TRIES:
                    raise FleetError(
                        f"task {worst} was tried {_TRIES} times, and a worker died each time: "
                        "is there enough memory?"
                    ) from None

    def _round(self, tasks: list[Task]) -> Iterator[tuple[Task, Any]]:
        with self._closing:
            if self._closed:
                raise CancelledError
            pool = self._pool
            if pool is None:
                pool = self._pool = ProcessPoolExecutor(
                    self._workers, mp_context=get_context("spawn"), initializer=_one_thread
                )
        pending: dict[Future[Any], Task] = {}
        try:
            for task in tasks:
                pending[pool.submit(task.function, *task.arguments)] = task
        except RuntimeError as error:  # it was ended meanwhile, or a worker has died already
            if self._closed:
                raise CancelledError from None
            self._end()
            raise BrokenProcessPool(str(error)) from error
        try:
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                # Results first: what died with the pool must not hide what was done.
                for future in sorted(
                    done, key=lambda f: f.cancelled() or f.exception() is not None
                ):
                    result = future.result()
                    yield pending.pop(future), result
        except BrokenProcessPool:
            self._end()
            raise
        finally:
            for future in pending:
                future.cancel()

    def _end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            processes = pool._processes
            # It waits for a task that is being handed out, whose worker joins `processes` late.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(processes.values()):
                process.terminate()  # a round may take minutes, and is done again later

    def close(self) -> None:
        """End the processes at once, whatever they do; a job that another thread runs fails."""
        with self._closing:
            self._closed = True
        self._end()


class RayRunner:
    """Runs the same tasks on a Ray cluster.

    Parameters
    ----------
    address : str
        ``ray://HOST:PORT``, ``HOST:PORT``, or ``auto``; ``local`` starts one on this machine.

    Raises
    ------
    MissingExtraError
        Ray is not installed.
    FleetError
        The cluster cannot be reached.
    """

    def __init__(self, address: str) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        with needs("ray"):
            import ray

        self._ray: Any = ray
        self._owner = not ray.is_initialized()
        if self._owner:
            try:
                _answers(address)
                ray.init(
                    address=None if address == "local" else address,
                    include_dashboard=False if address == "local" else None,
                    configure_logging=False,
                    log_to_driver=False,
                )
            except (OSError, OverflowError, RuntimeError, ValueError) as error:
                raise FleetError(f"Ray cluster {address} cannot be reached: {error}") from error

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Each task with its result, as they are done."""
        remote = self._ray.remote(num_cpus=1, max_retries=_TRIES)(_call)
        pending = {remote.remote(task.function, task.arguments): task for task in tasks}
        while pending:
            (done,), _ = self._ray.wait(list(pending), num_returns=1)
            task = pending.pop(done)
            try:
                yield task, self._ray.get(done)
            except self._ray.exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, Exception) else error from error
            except self._ray.exceptions.RayError as error:
                raise FleetError(f"task {task.name} was lost by Ray: {error}") from error

    def close(self) -> None:
        """Leave the cluster."""
        if self._owner:
            with suppress(Exception):
                self._ray.shutdown()


def _answers(address: str) -> None:
    """Check that the address answers: Ray itself would try for ten minutes.

    Raises
    ------
    OSError
        It does not.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    _one_thread()
    return function(*arguments)


def _one_thread() -> None:
    """More threads than cores make small products many times slower."""
    os.environ["OMP_NUM_THREADS"] = "1"
