"""Several devices: pretended ones on the CPU, with real lanes, real locks and real kills."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest
from kbstats.analytics.verify import plan, schema
from kbstats.analytics.verify.runner import agreement, lanes, schedule, verification
from kbstats.analytics.verify.runner.items import Item, against_itself, source_sha256
from kbstats.analytics.verify.runner.session import NoVerdictError

PROBLEMS = tomllib.loads((Path(__file__).parent / "problems.toml").read_text(encoding="utf-8"))
RIGHT = "import torch\nimport torch.nn as nn\nclass ModelNew(nn.Module):\n    def forward(self, a, b):\n        return a @ b\n"


def item(kernel: str) -> Item:
    reference = PROBLEMS["matmul"]
    return Item(kernel, reference, source_sha256(kernel), source_sha256(reference), problem_name="matmul.py")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pool") / "b"
    # The second one names load_inline, so that it is built ahead; the third one is wrong.
    sources = [RIGHT, RIGHT + "# no load_inline here\n", RIGHT.replace("a @ b", "a @ b * 1.01")]
    plan.write_bundle(plan.Plan([item(s) for s in sources]), folder, version="0")
    return folder


def command(bundle: Path, out: Path, *args: str) -> list[str]:
    run = [sys.executable, "-S", "-E", str(bundle / "run.py"), "-o", str(out), "--budget-s", "0.5"]
    return [*run, "--devices", "cpu:0,cpu:1", *args]


def documents(out: Path) -> list[dict]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_two_devices_share_the_kernels_a_killed_lane_gets_a_second_try_and_a_rerun_skips_what_is_done(bundle, tmp_path):
    out = tmp_path / "r.jsonl"
    process = subprocess.Popen(command(bundle, out), stderr=subprocess.PIPE, text=True, cwd="/")
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(process.stderr), daemon=True)
    reader.start()
    deadline = time.monotonic() + 120
    while not any("running" in line for line in lines) and time.monotonic() < deadline:
        time.sleep(0.1)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    started = [int(c) for c in children if "kbrunner" in Path(f"/proc/{c}/cmdline").read_text()]
    assert len(started) >= 2, lines
    os.kill(started[0], signal.SIGKILL)
    assert process.wait(250) == 0, lines
    reader.join(10)
    process.stderr.close()
    assert any("died (signal 9); started again" in line for line in lines)
    assert not list(Path(f"{out}.work").rglob("*.tmp"))
    assert schema.check_file(out) == 3
    found = documents(out)
    assert len({d["kernel_sha256"] for d in found}) == 3
    assert {d["schedule"]["device"] for d in found} <= {"cpu:0", "cpu:1"}
    wrong = source_sha256(RIGHT.replace("a @ b", "a @ b * 1.01"))
    assert next(d for d in found if d["kernel_sha256"] == wrong)["correctness"] == "failed"
    ahead = {d["kernel_sha256"]: d["schedule"]["build_s"] for d in found}
    assert [sha for sha, s in ahead.items() if s] == [source_sha256(RIGHT + "# no load_inline here\n")]
    for device in ("cpu:0", "cpu:1"):
        # One lock a device: what it measured never overlaps.
        spans = sorted(
            (d["schedule"]["held_at"], d["schedule"]["held_at"] + d["schedule"]["held_s"])
            for d in found
            if d["schedule"]["device"] == device
        )
        assert all(a[1] <= b[0] + 0.01 for a, b in itertools.pairwise(spans))
    again = subprocess.run(command(bundle, out), capture_output=True, text=True, cwd="/", timeout=250)
    assert again.returncode == 0, again.stderr
    assert len(documents(out)) == 3
    assert again.stderr.startswith("0 results") or "\n0 results" in again.stderr


def test_each_device_measures_references_against_themselves(bundle, tmp_path):
    out = tmp_path / "r.jsonl"
    asked = command(bundle, out, "--aa", "--each")
    done = subprocess.run(asked, capture_output=True, text=True, cwd="/", timeout=250)
    assert done.returncode == 0, done.stderr
    found = documents(out)
    assert sorted(d["schedule"]["device"] for d in found) == ["cpu:0", "cpu:1"]
    assert {d["kernel_sha256"] for d in found} == {against_itself(item(RIGHT)).kernel_sha256}
    assert {d["correctness"] for d in found} == {"passed"}
    said = subprocess.run(
        [sys.executable, "-S", "-E", str(bundle / "run.py"), "--report", "-o", str(out)], capture_output=True, text=True
    )
    assert said.returncode == 0
    assert said.stdout.startswith("2 results in ")
    subprocess.run(asked, capture_output=True, text=True, cwd="/", timeout=250, check=True)
    assert len(documents(out)) == 2


def test_a_device_that_is_not_there_ends_with_one_line(bundle, tmp_path):
    asked = [a if a != "cpu:0,cpu:1" else "7" for a in command(bundle, tmp_path / "r.jsonl")]
    done = subprocess.run(asked, capture_output=True, text=True, cwd="/", timeout=250)
    assert done.returncode == 1
    assert "no device can reach a verdict" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_of_devices(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert [(d.name, d.visible, d.torch) for d in schedule.devices_of("0,3")] == [
        ("0", "0", "cuda:0"),
        ("3", "3", "cuda:0"),
    ]
    assert schedule.devices_of("cpu:1")[0].torch == "cpu"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-ab")
    assert [d.visible for d in schedule.devices_of("all")] == ["5", "GPU-ab"]
    assert schedule.devices_of("1")[0].visible == "GPU-ab"
    for bad in ("2", "0,0", "", "x", "-1", "²"):
        with pytest.raises(NoVerdictError):
            schedule.devices_of(bad)


def test_models_of_gpu_never_stand_for_each_other(tmp_path):
    here = {"gpu": "A", "driver": "1", "cpu": "c", "cores": 8, "torch": "2", "python": "3"}
    one, other = (verification.result_key(item(RIGHT), here | {"gpu": g}, "cuda:0") for g in ("A", "B"))
    assert one != other
    pool = schedule.Pool([item(RIGHT)], schedule.devices_of("cpu:0,cpu:1"), tmp_path / "r.jsonl", schedule.Options())
    (name,) = pool.items
    for group in ("a", "b"):
        schedule.put(pool.work / "groups" / group, group)
    schedule.put(pool.work / "results" / f"{one}.json", json.dumps({"schedule": {"item": name, "of": "a"}}))
    assert pool._left(), "the result of one model is none of the other"
    schedule.put(pool.work / "results" / f"{other}.json", json.dumps({"schedule": {"item": name, "of": "b"}}))
    assert not pool._left()


def test_the_report_compares_devices_of_one_model(tmp_path):
    def line(device, model, value, low, high, at):
        told = {"device": device, "begun_at": at, "held_at": at, "held_s": 4.0, "build_s": 1.0, "waited_s": 0.5}
        fields = {"kernel_sha256": "k", "reference_sha256": "r", "precision": None, "gpu_model": model}
        measured = {"verdict": "CONFIRMED", "speedup": value, "speedup_lo": low, "speedup_hi": high, "speed": "faster"}
        return json.dumps(fields | measured | {"problem_name": "p", "schedule": told})

    out = tmp_path / "r.jsonl"
    out.write_text(
        "\n".join(
            [
                line("0", "A", 2.0, 1.9, 2.1, 0.0),
                line("1", "A", 2.2, 2.05, 2.3, 1.0),
                line("2", "B", 9.0, 8.0, 10.0, 6.0),
            ]
        )
    )
    found = agreement.of(out)
    assert found["wall_s"] == 10.0
    assert found["devices"]["0"]["share"] == 0.4
    assert [(k["gpu_model"], k["agree"]) for k in found["kernels"]] == [("A", True), ("B", None)]
    assert found["kernels"][0]["ratio"] == pytest.approx(1.1)
    assert "1 of 1 kernels agree" in agreement.text(found)


def test_a_lock_is_free_again_when_its_holder_is_killed(tmp_path):
    lock = tmp_path / "l"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with lanes.claimed(lock) as mine:
        assert not mine
    holder.kill()
    holder.communicate()
    with lanes.claimed(lock) as mine:
        assert mine


HOLD = """
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""
