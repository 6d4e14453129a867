"""A bundle runs with torch alone, resumes, and its results meet the published schema."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from kbstats.analytics.verify import plan, schema, show
from kbstats.ingest.errors import KbstatsError, UsageError

HERE = Path(__file__).parent
PROBLEMS = tomllib.loads((HERE / "problems.toml").read_text(encoding="utf-8"))
RIGHT = "import torch\nimport torch.nn as nn\nclass ModelNew(nn.Module):\n    def forward(self, a, b):\n        return a @ b\n"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    (folder / "ref.py").write_text(PROBLEMS["matmul"], encoding="utf-8")
    items = []
    for name, source in {"right": RIGHT, "wrong": RIGHT.replace("a @ b", "a @ b * 1.01")}.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
        items.append(
            plan.from_files(folder / f"{name}.py", folder / "ref.py", claim=None, shim=(), precision=None, version="0")
        )
    plan.write_bundle(plan.Plan(items), folder / "b", version="0")
    return folder / "b"


def _run(bundle: Path, *args: str) -> subprocess.CompletedProcess[str]:
    # -S hides the environment's packages from the supervisor: it has to do without any.
    command = [sys.executable, "-S", "-E", str(bundle / "run.py"), "--device", "cpu", "--budget-s", "2", *args]
    return subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=200, check=False)


def test_runs_with_torch_alone_and_resumes(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    done = _run(bundle, "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert schema.check_file(out) == 2
    docs = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert {d["correctness"] for d in docs} == {"passed", "failed"}
    assert len({d["verification_id"] for d in docs}) == 2
    assert len("\n".join(show.lines(docs[0])).splitlines()) < 25
    with out.open("a", encoding="utf-8") as f:
        f.write('{"schema": "cut off')
    again = _run(bundle, "-o", str(out))
    assert again.returncode == 0
    assert again.stderr.count("already in") == 2
    with pytest.raises(KbstatsError, match=":3"):
        schema.check_file(out)


def test_a_tampered_bundle_is_refused(bundle: Path, tmp_path: Path) -> None:
    kernel = next((bundle / "kernels").iterdir())
    text = kernel.read_text(encoding="utf-8")
    kernel.write_text(text + "# changed\n", encoding="utf-8")
    try:
        done = _run(bundle, "-o", str(tmp_path / "r.jsonl"))
    finally:
        kernel.write_text(text, encoding="utf-8")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "hash" in done.stderr


def test_a_folder_with_other_files_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError):
        plan.write_bundle(plan.Plan([]), tmp_path, version="0")


def test_results_of_a_gpu_meet_the_schema() -> None:
    path = HERE.parent.parent / "data" / "verifications" / "h200.jsonl"
    assert schema.check_file(path) == len(path.read_text(encoding="utf-8").splitlines()) > 20
    docs = {d["kernel_sha256"][:8]: d for d in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    assert docs["b71761cd"]["verdict"] == "CONFIRMED"
    refused = docs["6e394475"]
    assert (refused["verdict"], refused["gate"]) == ("INCORRECT:shape", "G2")
    assert refused["witness"]["input_shapes"][0][0] != 16
    assert {docs[k]["verdict"] for k in ("84537c96", "dbf1bbf5")} == {"HACK:cache_replay"}
    told_apart = docs["561b3b57"]["baselines"]
    assert set(told_apart) == {"eager", "gpu_busy", "cuda_graph"}
    text = "\n".join(show.lines(docs["561b3b57"]))
    for words in ("claimed", "measured", "GPU busy", "graph against graph", "machine", "would change"):
        assert words in text
    assert len(text.splitlines()) <= 22


def test_the_supervisor_needs_no_torch() -> None:
    code = "import sys; import kbstats.analytics.verify.runner.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, env={**os.environ}).returncode == 0
