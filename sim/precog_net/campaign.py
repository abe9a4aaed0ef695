"""Many runs: on the cores of this machine or on a Ray cluster, each result kept by its key.

A run whose result is there already is not done again, so a campaign that was cut off goes on.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from precog_fleet.runner import Here, Pool, RayRunner, Runner, Task
from precog_models.durable import write_durably
from precog_net.job import Job, Outcome, check, execute
from precog_sim.network import MOST_THREADS, check_threads

__all__ = ["run_all", "threads_left"]

_COUNTS = b"precog.counts"  # key of the Parquet file's metadata


def run_all(
    jobs: Sequence[Job],
    folder: Path,
    *,
    workers: int,
    threads: int | None = None,
    ray: str | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> dict[Job, Outcome]:
    """The outcomes of `jobs`, from `folder` or made now and kept there.

    Parameters
    ----------
    folder : Path
        Gets a Parquet file for each run.
    workers : int
        Processes; 1: this one.
    threads : int, optional
        Of each run; None: the cores that the processes leave, on Ray one.
    ray : str, optional
        Run on the Ray cluster at this address instead. Its machines need this version of Precog,
        and the files that the jobs name, under the same names.
    report : callable
        Told how many are done, of how many.

    Raises
    ------
    ValueError, OSError
        A job cannot run, or the threads are not in 1..64; none has been run then.
    SimulationError
        A run failed; those that ended before are kept.
    FleetError
        Ray is not installed or cannot be reached, or a worker died with a run again and again.
    """
    for job in {(j.topology, j.workload, j.flows, j.law, j.features): j for j in jobs}.values():
        check(job)
    if threads is not None:
        check_threads(threads)
    paths = {job: folder / f"{job.key}.parquet" for job in jobs}
    kept = ((job, _read(path)) for job, path in paths.items() if path.is_file())
    found = {job: outcome for job, outcome in kept if outcome is not None}
    missing = [job for job in jobs if job not in found]
    runner = _runner(len(missing), workers, ray)
    each = threads or threads_left(len(missing), workers, ray)
    folder.mkdir(parents=True, exist_ok=True)
    report(len(found), len(jobs))
    try:
        for job, outcome in _made(missing, runner, each):
            _write(paths[job], job, outcome)
            found[job] = outcome
            report(len(found), len(jobs))
    finally:
        runner.close()
    return {job: found[job] for job in jobs}


def _runner(jobs: int, workers: int, ray: str | None) -> Runner:
    if ray is not None and jobs:
        return RayRunner(ray)
    return Here() if workers == 1 or jobs < 2 else Pool(min(workers, jobs))


def threads_left(jobs: int, workers: int, ray: str | None) -> int:
    """Threads for each of `jobs` runs: the cores that processes leave; one on a cluster."""
    if ray is not None:
        return 1
    each = (os.cpu_count() or 1) // max(min(workers, jobs), 1)
    return min(max(each, 1), MOST_THREADS)


def _made(jobs: Sequence[Job], runner: Runner, threads: int) -> Iterator[tuple[Job, Outcome]]:
    by_key = {job.key: job for job in jobs}
    tasks = [Task(key, _execute, (job, key, threads)) for key, job in by_key.items()]
    for task, outcome in runner.run(tasks):
        yield by_key[task.name], outcome


def _execute(job: Job, key: str, threads: int) -> Outcome:
    """Run a job where a worker is, if what it needs is the same there."""
    if job.key != key:
        raise ValueError(
            f"worker {os.uname().nodename} must have the same Precog, and the same files under the "
            f"same names, as the machine that asks: its key of seed {job.seed} is {job.key}, "
            f"not {key}"
        )
    return execute(job, threads)


def _write(path: Path, job: Job, outcome: Outcome) -> None:
    """Whole or not at all: a name that is there has a whole file."""
    table = pa.table(outcome.flows)
    counts = json.dumps({"job": asdict(job), "counts": outcome.counts}).encode()
    table = table.replace_schema_metadata({_COUNTS: counts})
    packed = pa.BufferOutputStream()
    pq.write_table(table, packed, compression="zstd")
    write_durably(path, packed.getvalue().to_pybytes())


def _read(path: Path) -> Outcome | None:
    """The outcome in a file; None if it is damaged: then the run is done again."""
    try:
        table = pq.read_table(path)
        counts = json.loads((table.schema.metadata or {})[_COUNTS])["counts"]
    except (pa.ArrowException, OSError, ValueError, KeyError):
        return None
    texts = {name: table[name].to_pylist() for name in ("class", "law")}
    columns = {name: table[name].to_numpy() for name in table.column_names if name not in texts}
    return Outcome(columns | texts, counts)
