"""Many runs: on the cores of this machine, each result kept by its key.

A run whose result is there already is not done again, so a campaign that was cut off goes on.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from precog_net.job import Job, Outcome, check, execute

__all__ = ["run_all"]

_COUNTS = b"precog.counts"  # key of the Parquet file's metadata


def run_all(
    jobs: Sequence[Job],
    folder: Path,
    *,
    workers: int,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> dict[Job, Outcome]:
    """The outcomes of `jobs`, from `folder` or made now and kept there.

    Parameters
    ----------
    folder : Path
        Gets a Parquet file for each run.
    workers : int
        Processes; 1: this one.
    report : callable
        Told how many are done, of how many.

    Raises
    ------
    ValueError, OSError
        A job cannot run; none has been run then.
    SimulationError
        A run failed; those that ended before are kept.
    """
    for job in {(j.topology, j.workload, j.flows, j.law): j for j in jobs}.values():
        check(job)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {job: folder / f"{job.key}.parquet" for job in jobs}
    kept = ((job, _read(path)) for job, path in paths.items() if path.is_file())
    found = {job: outcome for job, outcome in kept if outcome is not None}
    report(len(found), len(jobs))
    missing = [job for job in jobs if job not in found]
    for job, outcome in _made(missing, workers):
        _write(paths[job], job, outcome)
        found[job] = outcome
        report(len(found), len(jobs))
    return {job: found[job] for job in jobs}


def _made(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Outcome]]:
    if workers == 1 or len(jobs) < 2:
        yield from ((job, execute(job)) for job in jobs)
        return
    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(execute, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _write(path: Path, job: Job, outcome: Outcome) -> None:
    """Whole or not at all: a name that is there has a whole file."""
    table = pa.table(outcome.flows)
    counts = json.dumps({"job": job.__dict__, "counts": outcome.counts}).encode()
    table = table.replace_schema_metadata({_COUNTS: counts})
    partial = path.with_suffix(f".{os.getpid()}.part")
    pq.write_table(table, partial, compression="zstd")
    partial.replace(path)


def _read(path: Path) -> Outcome | None:
    """The outcome in a file; None if it is damaged: then the run is done again."""
    try:
        table = pq.read_table(path)
        counts = json.loads((table.schema.metadata or {})[_COUNTS])["counts"]
    except (pa.ArrowException, OSError, ValueError, KeyError):
        return None
    columns = {name: table[name].to_numpy() for name in table.column_names if name != "class"}
    return Outcome({**columns, "class": table["class"].to_pylist()}, counts)
