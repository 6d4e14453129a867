"""Jobs of a Slurm cluster by submitit: all tasks of one request are one job array.

Options: `cluster=local` runs the same jobs as processes of this machine; every other `key=value` is
passed to `sbatch` by submitit, as `slurm_partition=gpu`, `timeout_min=120` or `mem_gb=16`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.ingest.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kbstats.analytics.executors import Handle, Settings

TIMEOUT_MIN = 240
"""Minutes a job may take, unless an option says otherwise."""


class SlurmEngine:
    """A job array for each request; `workers` is how many of its jobs run at a time."""

    def __init__(self, settings: Settings) -> None:
        import submitit

        options: dict[str, Any] = {k: int(v) if v.isdigit() else v for k, v in settings.options.items()}
        cluster = options.pop("cluster", None)
        settings.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._executor = submitit.AutoExecutor(folder=str(settings.folder / "%j"), cluster=cluster)
            given: dict[str, Any] = {"timeout_min": TIMEOUT_MIN, "name": "kbstats", "cpus_per_task": 1}
            if settings.gpus and self._executor.cluster != "local":
                given["gpus_per_node"] = settings.gpus
            if self._executor.cluster == "slurm":
                given["slurm_array_parallelism"] = settings.workers
            self._executor.update_parameters(**given | options)
        # submitit names an unknown parameter, a wrong value, a cluster it does not know and one that is not here thus.
        except (ValueError, TypeError, NotImplementedError, RuntimeError) as e:
            raise UsageError(f"the Slurm options are not accepted ({str(e)[:200]})") from e
        self._jobs: list[Any] = []

    def submit_all(self, task: Callable[[dict[str, Any]], Any], specs: Sequence[dict[str, Any]]) -> list[Handle]:
        """Submit one array."""
        jobs = self._executor.map_array(task, list(specs))
        self._jobs += jobs
        return list(jobs)

    def shutdown(self) -> None:
        """Cancel what has not ended."""
        for job in self._jobs:
            if not job.done():
                job.cancel(check=False)
