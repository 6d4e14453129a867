"""Small databases made from inline rows, and sites built from them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kbstats.analytics import warehouse
from kbstats.site.build import build

from .browsing import FLAGS, NAMES

os.environ["KBSTATS_CACHE"] = ""  # what is tested is drawn and compiled anew
GPU = "NVIDIA H200"
KERNEL = (
    "import torch\nfrom torch.utils.cpp_extension import load_inline\n\n"
    'SRC = r"""\n#include <torch/extension.h>\n__global__ void scale(float* x, int n) {\n'
    '    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) x[i] *= 2.0f; // twice\n}\n"""\n\n\n'
    "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x * {n}\n"
)
REFERENCE = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + x\n"


def sha(text: str) -> str:
    return hashlib.sha256(text.rstrip().encode()).hexdigest()


def insert(con, table: str, **values) -> None:
    values = {k: json.dumps(v) if isinstance(v, dict) else v for k, v in values.items()}
    marks = ", ".join("?" for _ in values)
    con.execute(f"insert into {table} ({', '.join(values)}) values ({marks})", list(values.values()))


@dataclass
class Db:
    """A database under construction; `close` before a build."""

    path: Path

    def __post_init__(self):
        self.con = warehouse.open_write(self.path)
        self.n = 0

    def source(self, path="/data/traces/sweep/a.json", root="/data/traces", status="ok", n_runs=1) -> str:
        self.n += 1
        source_id = f"s{self.n}"
        insert(
            self.con,
            "sources",
            source_id=source_id,
            path=f"{path}.{self.n}",
            root=root,
            format="popcornbench",
            content_hash="x",
            size_bytes=2048,
            mtime=datetime(2026, 1, 1, tzinfo=UTC),
            ingested_at=datetime(2026, 1, 2, tzinfo=UTC),
            status=status,
            n_runs=n_runs,
        )
        return source_id

    def kernel(self, source: str, language="cuda") -> str:
        key = sha(source)
        if not self.con.execute("select 1 from kernels where kernel_sha256 = ?", [key]).fetchall():
            insert(
                self.con,
                "kernels",
                kernel_sha256=key,
                source_code=source,
                language=language,
                n_lines=source.count("\n") + 1,
                n_chars=len(source),
            )
        return key

    def run(
        self,
        run_id: str,
        model="model-a",
        problem_id=1,
        *,
        kernel: str | None = None,
        correct=True,
        speedup: float | None = 2.0,
        **more,
    ) -> str:
        base = {
            "run_id": run_id,
            "source_id": self.source(),
            "format": "popcornbench",
            "suite": "suite",
            "sweep": "sweep-1",
            "mode": "all",
            "model_raw": model,
            "model": model,
            "harness": "harness",
            "level": 1,
            "problem_id": problem_id,
            "problem_name": f"{problem_id}_Scale.py",
            "sample_id": 0,
            "backend": "cuda",
            "precision": "fp32",
            "hardware": GPU,
            "max_turns": 5,
            "n_turns": 2,
            "n_tool_calls": 2,
            "started_at": datetime(2026, 5, 4, 12, tzinfo=UTC),
            "finished_at": datetime(2026, 5, 4, 13, tzinfo=UTC),
            "wall_s": 75.0,
            "total_tokens": 12_000,
            "source_outcome": "correct" if correct else "incorrect",
            "compiled": True,
            "correct": correct,
            "runtime_us": 10.0 if speedup else None,
            "ref_runtime_us": 10.0 * speedup if speedup else None,
            "speedup": speedup,
            "baseline": "eager",
            "submitted_kernel_sha256": kernel,
        }
        insert(self.con, "runs", **{**base, **more})
        return run_id

    def turn(
        self,
        run_id: str,
        turn: int,
        *,
        tool="run_correctness",
        ok=True,
        kernel: str | None = None,
        result="run_correctness PASSED",
        reasoning: str | None = None,
        errors=(),
        args=None,
    ) -> None:
        insert(
            self.con,
            "turns",
            run_id=run_id,
            turn=turn,
            llm_s=5.5,
            tools_s=1.5,
            wall_s=7.0,
            total_tokens=900,
            is_final=False,
        )
        if reasoning is not None:
            insert(self.con, "messages", run_id=run_id, turn=turn, seq=0, kind="reasoning", text=reasoning)
        insert(
            self.con,
            "tool_calls",
            run_id=run_id,
            turn=turn,
            seq=0,
            tool=tool,
            ok=ok,
            outcome="passed" if ok else "failed",
            kernel_sha256=kernel,
            args=args,
            result_text=result,
        )
        for i, (line, message) in enumerate(errors):
            insert(
                self.con,
                "compile_errors",
                run_id=run_id,
                turn=turn,
                seq=0,
                ordinal=i,
                toolchain="nvcc",
                severity="error",
                file="cuda.cu",
                line=line,
                message=message,
            )

    def metric(
        self, run_id: str, name: str, value: float, unit: str | None, subject="candidate", source="nsight"
    ) -> None:
        insert(self.con, "metrics", run_id=run_id, subject=subject, name=name, value=value, unit=unit, source=source)

    def close(self) -> Path:
        warehouse.refresh(self.con)
        self.con.close()
        return self.path


def full(path: Path) -> Path:
    """A database in which every page kind has something to show."""
    db = Db(path)
    k1, k2 = db.kernel(KERNEL.replace("{n}", "2")), db.kernel(KERNEL.replace("{n}", "3"))
    insert(
        db.con,
        "problems",
        source_id=db.source(),
        suite="suite",
        level=1,
        problem_id=1,
        problem_name="1_Scale.py",
        source_code=REFERENCE,
        source_sha256=sha(REFERENCE),
        draws_shapes=True,
    )
    db.run("run-good", "model-a", 1, kernel=k1)
    db.turn(
        "run-good",
        0,
        tool="compile_kernel",
        ok=False,
        kernel=k2,
        result="compile_kernel FAILED: RuntimeError",
        reasoning="I will try a kernel.",
        errors=[(49, 'identifier "foo" is undefined')],
    )
    db.turn(
        "run-good", 1, tool="submit_kernel", kernel=k1, result="submit_kernel PASSED: (5 / 5)", args={"note": "final"}
    )
    for name, value, unit in (
        ("runtime.mean", 10.0, "us"),
        ("occupancy", 250.0, "pct"),
        ("warp_stall.long_scoreboard", 41.0, "pct"),
        ("memory.peak", 2.0**21, "bytes"),
        ("sol.score", 0.5, "ratio"),
        ("brand_new.counter", 7.0, "count"),
    ):
        db.metric("run-good", name, value, unit)
    db.metric("run-good", "runtime.mean", 20.0, "us", "reference")
    db.run("run-huge", "model-b", 1, kernel=k1, speedup=5000.0)
    db.run("run-bad", "model-b", 2, correct=False, speedup=None, kernel=k2)
    db.turn(
        "run-bad",
        0,
        tool="submit_kernel",
        ok=False,
        kernel=k2,
        result="submit_kernel FAILED: correctness check did not pass ((0 / 3) trials).\ncorrectness_issue: Output mismatch",
    )
    db.run("run-three", "model-a", 3, kernel=None, speedup=0.5)
    for vid, key, verdict, correctness, speedup in (
        ("ver-1", k1, "CONFIRMED", "passed", 1.9),
        ("ver-2", k2, "INCORRECT", "failed", None),
    ):
        insert(
            db.con,
            "verifications",
            verification_id=vid,
            source_id="s1",
            kernel_sha256=key,
            suite="suite",
            level=1,
            problem_name="1_Scale.py" if key == k1 else "2_Scale.py",
            precision="fp32",
            claimed_speedup=2.0,
            verdict=verdict,
            correctness=correctness,
            speed="faster" if speedup else "not_measured",
            gate=None if speedup else "G2",
            witness=None if speedup else {"shapes": [[13, 64]], "expected": "torch.Size([13, 64])"},
            speedup=speedup,
            speedup_lo=1.8 if speedup else None,
            speedup_hi=2.0 if speedup else None,
            baseline="eager",
            device="cuda",
            gpu_model=GPU,
            protocol="1",
            sandbox_ok=True,
            verified_at=datetime(2026, 6, 1, tzinfo=UTC),
            document={"machine": {"driver": "580.1", "torch": "2.11"}},
        )
        insert(
            db.con,
            "verification_checks",
            verification_id=vid,
            source_id="s1",
            gate="G2",
            passed=bool(speedup),
            n=200,
            detail={"worst": 1e-7},
        )
    for pair in range(6):
        insert(
            db.con,
            "verification_timings",
            verification_id="ver-1",
            source_id="s1",
            baseline="eager",
            pair=pair,
            ref_us=19.0 + pair / 10,
            cand_us=10.0,
            kept=pair != 3,
            clock_mhz=1980.0 - pair,
        )
    insert(
        db.con,
        "ingest_issues",
        source_id="s1",
        path="/data/traces/sweep/half.json",
        severity="error",
        code="truncated",
        message="the file ends in the middle of an object",
        location="byte 812",
    )
    insert(
        db.con,
        "annotations",
        source_id="s1",
        run_id="run-huge",
        verdict="disputed",
        text="measured the empty stream",
        author="a reader",
    )
    return db.close()


@pytest.fixture(scope="session")
def full_db(tmp_path_factory) -> Path:
    return full(tmp_path_factory.mktemp("db") / "full.duckdb")


@pytest.fixture(scope="session")
def full_site(full_db, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site") / "out"
    build(full_db, out, title="Test board")
    return out


def html_of(out: Path) -> dict[str, str]:
    return {p.relative_to(out).as_posix(): p.read_text(encoding="utf-8") for p in sorted(out.rglob("*.html"))}


@pytest.fixture(scope="session")
def browser():
    found = os.environ.get("KBSTATS_CHROMIUM") or next((p for n in NAMES if (p := shutil.which(n))), None)
    if found is None:
        words = "NO CHROMIUM on this machine: the pages were not opened in a browser (apt-get install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        b = p.chromium.launch(executable_path=found, args=FLAGS)
        yield b
        b.close()


def wide(path: Path) -> Path:
    """Runs that differ in level, mode, variant and GPU, so that filters have something to choose."""
    db = Db(path)
    n = 0
    for model, skill in (("model-a", 3), ("model-b", 2), ("model-c", 1)):
        for level in (1, 2):
            for mode in ("all", "single"):
                for problem in range(1, 5):
                    n += 1
                    right = (problem + level) % 4 < skill + (mode == "all")
                    db.run(
                        f"run-{n:03}",
                        model,
                        problem,
                        kernel=db.kernel(KERNEL.replace("{n}", str(n))),
                        level=level,
                        mode=mode,
                        sweep=f"sweep-{mode}",
                        variant="turned" if problem == 4 else None,
                        hardware=GPU if level == 1 else "NVIDIA H100 80GB HBM3",
                        correct=right,
                        speedup=(0.5 + skill * problem / 2 if problem < 4 else 400.0) if right else None,
                    )
                    db.turn(
                        f"run-{n:03}",
                        0,
                        tool="submit_kernel",
                        ok=right,
                        kernel=db.kernel(KERNEL.replace("{n}", str(n))),
                        result="submit_kernel PASSED: (5 / 5)"
                        if right
                        else "submit_kernel FAILED: correctness check did not pass ((0 / 3) trials).\ncorrectness_issue: Output mismatch",
                    )
    return db.close()


@pytest.fixture(scope="session")
def wide_db(tmp_path_factory) -> Path:
    return wide(tmp_path_factory.mktemp("wide") / "wide.duckdb")


@pytest.fixture(scope="session")
def wide_site(wide_db, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wide-site") / "out"
    build(wide_db, out, title="Test board")
    return out
