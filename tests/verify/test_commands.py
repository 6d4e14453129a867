"""The command line of `verify`: what cannot work is said before a run, and a result serves every claim."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from kbstats.analytics.cli import app
from kbstats.analytics.verify import plan, schema
from kbstats.analytics.verify.runner import verdict
from kbstats.analytics.verify.runner.items import Item
from kbstats.analytics.verify.runner.session import NoVerdictError, check_writable
from kbstats.ingest.errors import KbstatsError, UsageError
from typer.testing import CliRunner

REPO = Path(__file__).resolve().parents[2]
PROBLEMS = tomllib.loads((REPO / "tests" / "verify" / "problems.toml").read_text(encoding="utf-8"))
KERNEL = "import torch\nimport torch.nn as nn\nclass ModelNew(nn.Module):\n    def forward(self, a, b):\n        return a @ b\n"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "k.py").write_text(KERNEL, encoding="utf-8")
    (tmp_path / "ref.py").write_text(PROBLEMS["matmul"], encoding="utf-8")
    return ["--kernel-file", str(tmp_path / "k.py"), "--reference-file", str(tmp_path / "ref.py"), "--device", "cpu"]


def test_results_that_cannot_be_kept_are_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("", encoding="utf-8")
    for path in (tmp_path, tmp_path / "a file" / "r.jsonl", Path("/proc/no/r.jsonl")):
        with pytest.raises(NoVerdictError, match="cannot be written"):
            check_writable(path)
    check_writable(tmp_path / "new" / "r.jsonl")
    assert not (tmp_path / "new" / "r.jsonl").exists()
    assert (tmp_path / "new").is_dir()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--claim", "inf"], "claim"),
        (["--claim", "0"], "claim"),
        (["--precision", "fp7"], "fp7"),
        (["-o", "/"], "folder"),
    ],
)
def test_what_cannot_work_starts_nothing(options: list[str], words: str, files: list[str]) -> None:
    done = CliRunner().invoke(app, ["verify", *files, *options])
    assert isinstance(done.exception, (KbstatsError, SystemExit))
    assert words in str(done.exception) + done.output
    assert "running" not in done.output


def measured(**more: Any) -> dict[str, Any]:
    return {
        "gpu_model": None, "speedup": 1.5, "speedup_lo": 1.4, "speedup_hi": 1.6, "precision_class": "own",
        "baseline": "eager", "baselines": {"eager": {"pairs": 8}}, "verdict": "SLOWER_THAN_CLAIMED", "kind": None,
        "claimed_speedup": 2.0, "claimed_baseline": None, "claimed_gpu": None, "claim_compared": True, **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "word"),
    [
        (2.0, "SLOWER_THAN_CLAIMED"),
        (1.45, "CONFIRMED"),
        (1.2, "CONFIRMED_FASTER"),
        (1.55, "INCONCLUSIVE"),
        (None, "CONFIRMED"),
    ],
)
def test_a_stored_measurement_serves_another_claim(claim: float | None, word: str) -> None:
    made = verdict.for_claim(measured(), Item("k", "r", "1", "2", claimed_speedup=claim))
    assert (made["verdict"], made["claimed_speedup"]) == (word, claim)
    assert made["claim_compared"] == (claim is not None)


def test_a_refusal_serves_every_claim() -> None:
    refused = measured(speedup=None, speedup_lo=None, speedup_hi=None, verdict="HACK:cache_replay", kind="cache_replay")
    assert verdict.for_claim(refused, Item("k", "r", "1", "2", claimed_speedup=7.0))["verdict"] == "HACK:cache_replay"
    reduced = measured(precision_class="bf16", verdict="CONFIRMED_REDUCED:bf16", kind="bf16")
    assert verdict.for_claim(reduced, Item("k", "r", "1", "2", claimed_speedup=7.0))["kind"] == "bf16"


def test_the_same_file_again_with_another_claim(files: list[str], tmp_path: Path) -> None:
    options = ["verify", *files, "--budget-s", "1", "-o", str(tmp_path / "r.jsonl"), "--format", "json"]
    first = CliRunner().invoke(app, [*options, "--claim", "50"])
    again = CliRunner().invoke(app, [*options, "--claim", "0.01"])
    before, after = json.loads(first.stdout), json.loads(again.stdout)
    assert before["verification_id"] == after["verification_id"]
    assert (before["claimed_speedup"], after["claimed_speedup"]) == (50, 0.01)
    assert before["verdict"] != "CONFIRMED"
    assert after["verdict"] in {"CONFIRMED", "CONFIRMED_FASTER", "NO_SPEEDUP"}
    assert schema.check_file(tmp_path / "r.jsonl") == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_leaves_nothing(number: int, files: list[str]) -> None:
    code = f"from kbstats.analytics.cli import main; import sys; sys.exit(main({['verify', *files]!r}))"
    command = [str(Path(sys.executable).parent / "kbstats"), "verify", *files]
    if not Path(command[0]).exists():
        command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not scratch(process.pid) and time.monotonic() < end and process.poll() is None:
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number, said
    assert "Traceback" not in said
    assert not scratch(process.pid)
    assert not [p for p in Path("/proc").iterdir() if p.name.isdigit() and _parent(p) == process.pid]


def scratch(pid: int) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"kbv-{pid}-*"))


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return -1


def test_a_cut_line_is_told_from_another_file(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    for text, cut in (('{"schema": "kbst', True), ('{"a": 1}\n', False)):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(KbstatsError) as caught:
            schema.check_file(file)
        assert ("cut off" in (caught.value.hint or "")) == cut


@pytest.mark.parametrize("name", ["fp16", "BF16", "half", "fp32", "float32", None])
def test_precisions_there_are(name: str | None) -> None:
    plan.check_precision(name)


def test_a_precision_there_is_not() -> None:
    with pytest.raises(UsageError, match="fp7"):
        plan.check_precision("fp7")
