"""The sample suite and runs: complete, bounded, consistent, and honest where they claim."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tomllib
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "data"
TRAJECTORIES = sorted((DATA / "runs").rglob("*_trajectory.json"))
PROBLEMS = sorted((DATA / "problems").rglob("*.py"))
IDS = ["/".join(p.parts[-2:]) for p in TRAJECTORIES]

TOP = {
    "problem_id", "level", "problem_name", "run_name", "model_name", "backend", "precision", "max_turns",
    "max_tool_calls", "tools_enabled", "started_at", "finished_at", "agent_wall_clock_s",
    "chat_history_window_truncated", "truncation_occurred", "total_turns", "total_tool_calls",
    "llm_input_tokens", "llm_output_tokens", "llm_total_tokens", "outcome", "final_result", "turns",
}  # fmt: skip
TURN = {
    "turn_id", "messages_in", "response", "feedback_to_model", "llm_latency_s", "turn_wall_clock_s",
    "tools_wall_clock_s", "tool_output_truncated", "reasoning_logged_truncated", "provider_truncated",
    "provider_truncation_hints", "is_final", "submitted_kernel", "llm_usage", "tool_calls",
}  # fmt: skip
CALL = {"tool_name", "args", "result_text", "success", "metadata"}


def refuse(token: str) -> float:
    raise AssertionError(f"{token} is no JSON")


def load(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


def three_figures(value: float) -> float:
    # Not by the format mini-language that the recorder uses: through the decimal digits.
    digits, exponent = f"{value:e}".split("e")
    return float(f"{round(float(digits), 2)}e{exponent}")


@pytest.fixture(params=TRAJECTORIES, ids=IDS)
def trajectory(request: pytest.FixtureRequest) -> tuple[Path, dict]:
    return request.param, load(request.param)


def test_sizes_are_bounded() -> None:
    files = [p for p in (DATA / "runs").rglob("*") if p.is_file()]
    assert len(TRAJECTORIES) == 39
    assert max(p.stat().st_size for p in files) < 150_000
    assert sum(p.stat().st_size for p in files) < 2_500_000


def test_the_mix_of_outcomes() -> None:
    seen = Counter((d["model_name"], d["outcome"]) for d in map(load, TRAJECTORIES))
    assert seen == {
        ("sample-a", "correct"): 11,
        ("sample-a", "error"): 1,
        ("sample-b", "correct"): 5,
        ("sample-b", "incorrect"): 3,
        ("sample-b", "compile_fail"): 2,
        ("sample-c", "correct"): 6,
        ("sample-c", "incorrect"): 1,
        ("sample-c", "error"): 2,
        ("sample-d", "incorrect"): 6,
        ("sample-d", "compile_fail"): 1,
        ("sample-d", "error"): 1,
    }


def test_every_problem_was_tried() -> None:
    tried = Counter((d["level"], d["problem_id"], d["problem_name"]) for d in map(load, TRAJECTORIES))
    offered = {(int(p.parent.name[-1]), int(p.name.split("_")[0]), p.name) for p in PROBLEMS}
    assert set(tried) == offered
    assert min(tried.values()) == 2
    # The careful policy tried them all.
    assert Counter(d["model_name"] for d in map(load, TRAJECTORIES))["sample-a"] == len(offered)


def test_twelve_problems_at_four_levels() -> None:
    assert Counter(p.parent.name for p in PROBLEMS) == {"level1": 4, "level2": 4, "level3": 2, "level4": 2}
    # KernelBench numbers the problems of a level from 1.
    for level in {p.parent for p in PROBLEMS}:
        assert sorted(int(p.name.split("_")[0]) for p in level.glob("*.py")) == [
            *range(1, len(list(level.glob("*.py"))) + 1)
        ]


@pytest.mark.parametrize("path", PROBLEMS, ids=[p.name for p in PROBLEMS])
def test_one_constant_scales_a_problem(path: Path) -> None:
    """The inputs of N = 4 against those of N = 8: twice the elements, and they run on a CPU."""
    torch = pytest.importorskip("torch")
    shim = "kernelbench.distributed_collectives"
    sizes = []
    for n in (4, 8):
        text = re.sub(r"^N = \d+$", f"N = {n}", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        text = text.replace(f"from {shim} import default_device", "default_device = lambda: 'cpu'")
        names: dict = {"popcorn_pri": type("Fixed", (), {"jitter_int": staticmethod(lambda size: size)})}
        exec(compile(text, path.name, "exec"), names)
        inputs = names["get_inputs"]()
        out = names["Model"](*names["get_init_inputs"]())(*inputs)
        assert isinstance(out, torch.Tensor)
        sizes.append((sum(x.numel() for x in inputs), out.numel()))
    assert sizes[1] == (2 * sizes[0][0], 2 * sizes[0][1])


def test_keys_path_and_counts(trajectory: tuple[Path, dict]) -> None:
    path, d = trajectory
    assert set(d) == TOP
    assert path.name == f"level_{d['level']}_problem_{d['problem_id']}_trajectory.json"
    assert path.parent.name == d["model_name"]
    assert path.parents[2].name == d["run_name"]
    assert all(set(turn) == TURN for turn in d["turns"])
    assert [turn["turn_id"] for turn in d["turns"]] == list(range(d["total_turns"]))
    calls = [call for turn in d["turns"] for call in turn["tool_calls"]]
    assert len(calls) == d["total_tool_calls"] <= d["max_tool_calls"]
    assert all(set(call) == CALL for call in calls)
    assert 2 <= d["total_turns"] <= d["max_turns"]


def test_clocks_agree(trajectory: tuple[Path, dict]) -> None:
    _, d = trajectory
    started, finished = (datetime.fromisoformat(d[key]) for key in ("started_at", "finished_at"))
    # Stamps are whole seconds, each cut down: they may be off by one.
    assert abs((finished - started).total_seconds() - d["agent_wall_clock_s"]) <= 1
    spent = sum(turn["turn_wall_clock_s"] for turn in d["turns"])
    # Each is rounded to a millisecond.
    assert -0.0005 * (d["total_turns"] + 1) <= d["agent_wall_clock_s"] - spent < 1
    assert all(t["turn_wall_clock_s"] + 0.002 >= t["tools_wall_clock_s"] for t in d["turns"])


def test_messages_grow_by_what_was_said(trajectory: tuple[Path, dict]) -> None:
    _, d = trajectory
    first = d["turns"][0]["messages_in"]
    assert [m["role"] for m in first] == ["system", "user"]
    assert "scripted policy" in first[0]["content"]
    problem = DATA / "problems" / f"level{d['level']}" / d["problem_name"]
    assert problem.read_text(encoding="utf-8") in first[1]["content"]
    for turn, after in zip(d["turns"], d["turns"][1:], strict=False):
        added = after["messages_in"][len(turn["messages_in"]) :]
        assert after["messages_in"][: len(turn["messages_in"])] == turn["messages_in"]
        assert added[:-1] == turn["response"]
        assert added[-1]["output"] == turn["tool_calls"][0]["result_text"]


def test_calls_match_what_was_asked(trajectory: tuple[Path, dict]) -> None:
    _, d = trajectory
    for turn in d["turns"]:
        asked = [item for item in turn["response"] if item["type"] == "function_call"]
        assert [(a["name"], json.loads(a["arguments"])) for a in asked] == [
            (c["tool_name"], c["args"]) for c in turn["tool_calls"]
        ]
        for call in turn["tool_calls"]:
            head = call["result_text"].splitlines()[0]
            if call["tool_name"] != "get_gpu_specs":
                assert (" PASSED" in head) == call["success"]
                assert (" FAILED" in head) != call["success"]


def test_the_last_submission_decides(trajectory: tuple[Path, dict]) -> None:
    path, d = trajectory
    kernel = path.with_name(path.name.replace("_trajectory.json", "_kernel.py"))
    submitted = [t for t in d["turns"] if t["submitted_kernel"]]
    if not submitted:
        assert d["outcome"] == "error"
        assert d["final_result"] is None
        assert not kernel.exists()
        return
    assert submitted == [d["turns"][-1]]
    assert submitted[0]["is_final"]
    assert submitted[0]["tool_calls"][0]["metadata"] == d["final_result"]
    digests = {
        hashlib.sha256(text.encode()).hexdigest()
        for text in (kernel.read_text(encoding="utf-8"), submitted[0]["submitted_kernel"])
    }
    assert len(digests) == 1
    flags = (d["final_result"]["compiled"], d["final_result"]["correctness"])
    assert (
        flags
        == {"correct": (True, True), "incorrect": (True, False), "compile_fail": (False, False)}[d["outcome"]]
    )


def test_claims_name_their_hardware(trajectory: tuple[Path, dict]) -> None:
    _, d = trajectory
    result = d["final_result"]
    if not result or result["runtime"] <= 0:
        assert d["outcome"] != "correct"
        assert not result or (result["runtime"], result["ref_runtime"]) == (-1.0, -1.0)
        return
    machine = load(DATA / "runs" / d["run_name"] / "machine.json")
    assert result["metadata"]["hardware"] == machine["gpu"] == "NVIDIA H200"
    for key in ("runtime", "ref_runtime"):
        stats = result[f"{key}_stats"]
        assert stats["hardware"] == machine["gpu"]
        assert stats["num_trials"] >= 100
        assert 0 < stats["min"] <= stats["mean"] == result[key] <= stats["max"]
        assert all(stats[k] == three_figures(stats[k]) for k in ("mean", "std", "min", "max"))
    speedup = result["ref_runtime"] / result["runtime"]
    assert result["sol_stats"]["sol_score"] == pytest.approx(min(speedup / 10, 1.0), abs=1e-4)
    assert result["metadata"].get("excessive_speedup", False) == (speedup > 10)
    # Milliseconds under a label of microseconds: the profiler's own microseconds tell.
    kernels = result["kernel_launch_stats"]
    assert kernels["ref_total_cuda_time_us"] < 1000 * result["ref_runtime"]
    assert f"Kernel runtime: {result['runtime']:.2f} μs" in d["turns"][-1]["tool_calls"][0]["result_text"]
    assert result["energy_stats"]["avg_power_w"] <= machine["power_limit_w"]


def test_no_honest_kernel_beats_memory() -> None:
    """The gated residual moves four tensors: its time stays above what the data sheet allows."""
    sheets = tomllib.loads((DATA / "gpus.toml").read_text(encoding="utf-8"))["gpu"]
    bandwidth = next(s["bandwidth_gbs"] for s in sheets if "NVIDIA H200" in s["match"]) * 1e9
    floor_ms = 4 * 2048 * 4096 * 4 / bandwidth * 1e3
    for d in map(load, TRAJECTORIES):
        if d["problem_name"] == "1_Gated_Residual.py" and d["outcome"] == "correct":
            assert d["final_result"]["runtime"] > floor_ms


def test_kinds_of_failure_are_there() -> None:
    text = "\n".join(p.read_text(encoding="utf-8") for p in TRAJECTORIES)
    for mark in (
        "error: identifier",
        "Error building extension",
        "was never closed",
        "Cannot access global variable",
        "arange's range must be a power of 2",
        "an illegal memory access was encountered",
        "Output shape mismatch: {'shape_mismatch'",
        "Output type mismatch: {'type_mismatch'",
        "shapes cannot be multiplied",
        "max_difference: ['nan'",
        "eval server did not respond within 12s",
        "torchrun eval timed out after 15s",
        "LLM call failed: ConnectionError",
        "Contains try-except block",
    ):
        assert mark in text, mark


def test_the_planted_claims() -> None:
    """Claims that do not hold; what they rest on stands in their kernels, not in the README."""
    by_run = {(d["model_name"], d["level"], d["problem_id"]): d for d in map(load, TRAJECTORIES)}
    submitted = {run: d["turns"][-1]["submitted_kernel"] or "" for run, d in by_run.items()}
    planted = {
        ("sample-b", 3, 1): "torch.empty((16, 24)",  # one batch of those that can be drawn
        ("sample-b", 1, 4): "tl.log(decay)",  # divides by a product that underflows
        ("sample-c", 1, 3): "torch.cuda.stream(self.side)",  # leaves the stream that is timed
        ("sample-c", 2, 3): "torch.cuda.manual_seed(42 + self.calls)",  # draws the reference's noise again
        ("sample-c", 2, 4): "tl.full((BLOCK,), 1",  # never reads its input
        ("sample-c", 3, 1): "x._version",  # the rest replays answers
        ("sample-c", 3, 2): "x.data_ptr()",
        ("sample-c", 4, 1): "self.seen[key] > 3",
    }
    for run, mark in planted.items():
        assert by_run[run]["outcome"] == "correct", run
        assert mark in submitted[run], run
    for problem in ((3, 1), (3, 2), (4, 1)):
        # Timed calls that launch nothing: the profiler saw it, the harness did not care.
        assert by_run["sample-c", *problem]["final_result"]["kernel_launch_stats"]["num_kernels"] == 0
    claimed = {
        run: d["final_result"]["ref_runtime"] / d["final_result"]["runtime"]
        for run, d in by_run.items()
        if d["outcome"] == "correct"
    }
    for problem in ((3, 1), (3, 2), (4, 1)):
        assert claimed["sample-c", *problem] > 2 * claimed["sample-a", *problem] > 2


def test_the_closed_form_of_the_scan_is_wrong_where_products_underflow() -> None:
    """What sample-b's kernel computes, in torch: right on the recorded inputs, not on smaller decays."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    x, decay = torch.randn(4, 48, 8), torch.rand(4, 48, 8)

    def closed_form(decay):  # noqa: ANN202
        product = torch.cumsum(decay.log(), dim=1).exp()
        return product * torch.cumsum(x / product, dim=1)

    names: dict = {}
    exec((DATA / "problems" / "level1" / "4_Decay_Scan.py").read_text(encoding="utf-8"), names)
    scan = names["Model"]()
    assert torch.allclose(closed_form(decay), scan(x, decay), rtol=1e-4, atol=1e-4)
    assert not torch.isfinite(closed_form(0.1 * decay)).all()
    assert torch.isfinite(scan(x, 0.1 * decay)).all()


def test_no_paths_or_hosts_of_the_recording_machine() -> None:
    allowed = ("/tmp/suite", "/opt/venv", "/usr/", "https:", "/dev/")
    pattern = re.compile(r"(?<![\w.\-*<)])/(?:root|home|work|opt|mnt|scratch|var|tmp)\b[^\s\"'`,)]*")
    for path in (p for p in (DATA / "runs").rglob("*") if p.is_file()):
        found = {m for m in pattern.findall(path.read_text(encoding="utf-8")) if not m.startswith(allowed)}
        assert not found, (path.name, found)


@pytest.mark.parametrize("path", PROBLEMS, ids=[p.name for p in PROBLEMS])
def test_problem_form(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {n.name for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    assert names == {"Model", "get_inputs", "get_init_inputs"}
    assert ast.get_docstring(tree)
    first = next(n for n in tree.body if isinstance(n, ast.Assign))
    assert isinstance(first.targets[0], ast.Name)
    assert first.targets[0].id == "N"


def test_data_sheets_are_consistent() -> None:
    sheets = tomllib.loads((DATA / "gpus.toml").read_text(encoding="utf-8"))["gpu"]
    assert len(sheets) == 12
    names = [name for sheet in sheets for name in sheet["match"]]
    assert len(names) == len(set(names))
    for sheet in sheets:
        # Title and revision of the sheet, or the word that the revision is not known.
        assert re.search(r"(data ?sheet|whitepaper|product brief).*(revision not noted|-r\d|_v\d)", sheet["source"])
        # Two-byte formats run at twice the rate of TF32 on every tensor core listed.
        ratio = sheet["bf16_tensor_tflops"] / sheet["tf32_tensor_tflops"]
        assert ratio == pytest.approx(2, rel=0.02)
        assert 70 <= sheet["board_power_w"] <= 1400
        assert sheet["bandwidth_gbs"] > 8 * sheet["memory_gb"]


def test_aliases_have_the_documented_form() -> None:
    aliases = tomllib.loads((DATA / "models.toml").read_text(encoding="utf-8")).get("alias", [])
    assert all({"raw", "model"} <= set(a) <= {"raw", "model", "note"} for a in aliases)


def test_path_finds_packaged_data() -> None:
    data = pytest.importorskip("kbstats.data")
    assert (data.path("runs") / "samples_default").is_dir()
    with pytest.raises(FileNotFoundError, match=r"nothing\.toml"):
        data.path("nothing.toml")
