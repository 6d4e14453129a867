"""Tasks of a Ray cluster, or of a Ray that is started on this machine for as long as it is needed.

Options: `address=auto` joins the cluster that `ray start` made, `address=ray://host:10001` one far away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.ingest.errors import KbstatsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kbstats.analytics.executors import Handle, Settings


class RayEngine:
    """One task of Ray for each argument; each holds one CPU, and for verification one GPU."""

    def __init__(self, settings: Settings) -> None:
        import logging

        import ray

        self._ray, self._gpus = ray, settings.gpus
        address = settings.options.get("address")
        here: dict[str, Any] = {} if address else {"num_cpus": settings.workers, "include_dashboard": False}
        try:
            ray.init(address=address, log_to_driver=True, logging_level=logging.ERROR, configure_logging=False, **here)
        except (ConnectionError, ValueError, RuntimeError) as e:
            raise KbstatsError(f"Ray cannot be reached ({str(e).splitlines()[0][:200]})", location=address) from e

    def submit_all(self, task: Callable[[dict[str, Any]], Any], specs: Sequence[dict[str, Any]]) -> list[Handle]:
        """Start all; Ray queues what has no place yet. Tries after a lost worker are counted by the caller."""
        remote = self._ray.remote(task).options(num_cpus=1, num_gpus=self._gpus, max_retries=0)
        return [remote.remote(spec).future() for spec in specs]

    def shutdown(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self._ray.shutdown()
