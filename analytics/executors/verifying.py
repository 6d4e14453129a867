"""Verification cut into tasks: lanes of this machine's devices, or one task a kernel on any engine."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbstats.analytics import executors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kbstats.analytics.executors import Engine
    from kbstats.analytics.verify.runner.items import Item
    from kbstats.analytics.verify.runner.schedule import Options, Summary


def run(
    items: Sequence[Item],
    device: str,
    output: Path | None,
    options: Options,
    *,
    engine: str = "local",
    devices: str | None = None,
    engine_options: Sequence[str] = (),
) -> Summary:
    """Verify kernels on several devices.

    Args:
        items: The kernels.
        device: `cuda` or `cpu`: what each task measures on, unless `devices` says which.
        output: The results file, appended to; None keeps the results in memory alone.
        options: What the verdicts depend on.
        engine: `local` gives each of `devices` its own workers; any other gets one task a kernel.
        devices: Of this machine, for `local`: `0,1` or `all`; by default all GPUs, or one CPU.
        engine_options: The engine's own, as `key=value`.

    Raises:
        NoVerdictError: no device or no task can reach a verdict.
        UsageError: there is no such engine, or what it needs is not installed.
    """
    from kbstats.analytics.verify.runner.schedule import Pool, devices_of

    with contextlib.ExitStack() as stack:
        if output is None:
            output = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kbstats-verify-"))) / "results.jsonl"
        if engine == "local":
            given = devices or ("all" if device.startswith("cuda") else "cpu:0")
            return Pool(items, devices_of(given), output, options).run()
        settings = executors.Settings(
            workers=executors.default_workers(),
            gpus=int(device.startswith("cuda")),
            folder=output.with_name(output.name + ".jobs").resolve(),
            options=executors.settings_of(engine_options),
        )
        made = executors.load(engine, settings)
        try:
            return verify(made, items, device, output, options)
        finally:
            made.shutdown()


def run_lane(spec: dict[str, Any]) -> int:
    """Verify what `spec` names, in a process of its own; the result is a file in the folder of work.

    Raises:
        RuntimeError: the process was lost.
    """
    import json

    from kbstats.analytics.verify.runner import schedule

    if spec["device"] != "cpu":
        # the engine says which GPU is ours; its name makes the lock
        spec = spec | {"visible": os.environ.get("CUDA_VISIBLE_DEVICES", "0")}
    here = str(Path(schedule.__file__).resolve().parent)
    done = subprocess.run(
        [sys.executable, "-I", "-c", schedule.BOOT, here, json.dumps(spec)],
        stdin=subprocess.DEVNULL,
        cwd="/",
        check=False,
    )
    if done.returncode not in {0, schedule.NO_VERDICT}:
        raise RuntimeError(f"the lane ended with status {done.returncode}")
    return done.returncode


def verify(engine: Engine, items: Sequence[Item], device: str, results: Path, options: Options) -> Summary:
    """Verify kernels, one task a kernel.

    Returns:
        The documents that are new, and the labels of kernels without a result.

    Raises:
        NoVerdictError: no task could reach a verdict.
    """
    from kbstats.analytics.verify.runner.schedule import NO_VERDICT, Device, Pool
    from kbstats.analytics.verify.runner.session import NoVerdictError

    pool = Pool(items, [Device(device, None if device == "cpu" else "")], results, options, lanes=1, timed_here=False)
    pool.prepare()
    (spec,) = pool.specs
    codes, _ = executors.run_all(engine, run_lane, [spec | {"only": [name]} for name in pool.items])
    summary = pool.gather()
    if codes and all(code == NO_VERDICT for code in codes):
        raise NoVerdictError("no task can reach a verdict; see the lines above")
    return summary
