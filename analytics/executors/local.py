"""Processes of this machine, one a task: a killed one costs its own task, where a pool would break."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from kbstats.analytics.executors import Settings


class WorkerLostError(Exception):
    """The process ended without an answer."""


class LocalEngine:
    """Spawned processes, as many at a time as `workers` says."""

    def __init__(self, settings: Settings) -> None:
        self._threads = ThreadPoolExecutor(settings.workers, thread_name_prefix="kbstats-task")
        # a forked child of a process that has loaded polars hangs
        self._context = multiprocessing.get_context("spawn")
        self._running: set[BaseProcess] = set()

    def submit_all(self, task: Callable[[dict[str, Any]], Any], specs: Sequence[dict[str, Any]]) -> list[Future[Any]]:
        """Start one task for each argument; those beyond `workers` wait."""
        return [self._threads.submit(self._run, task, spec) for spec in specs]

    def _run(self, task: Callable[[dict[str, Any]], Any], spec: dict[str, Any]) -> Any:
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_call, args=(theirs, task, spec), daemon=True)
        process.start()
        self._running.add(process)
        theirs.close()
        try:
            ok, value = ours.recv()
        except EOFError:
            process.join()
            raise WorkerLostError(f"the worker ended with status {process.exitcode}") from None
        finally:
            ours.close()
            process.join()
            self._running.discard(process)
        if not ok:
            raise value
        return value

    def shutdown(self) -> None:
        """Stop what runs; nothing new is begun."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in list(self._running):
            process.terminate()
        self._threads.shutdown(wait=True)


def _call(answer: Connection, task: Callable[[dict[str, Any]], Any], spec: dict[str, Any]) -> None:
    try:
        value: tuple[bool, Any] = (True, task(spec))
    except Exception as e:  # noqa: BLE001  it is raised again where the result is asked for
        value = (False, e)
    answer.send(value)
    answer.close()
