"""Trajectories, one frozen file a quirk."""

from __future__ import annotations

import json

import pytest

RUNS = "popcornbench/runs/"


def path(data, problem, folder="demo_all/popcorn/model-x"):
    return data / RUNS / folder / f"level_1_problem_{problem}_trajectory.json"


@pytest.fixture
def run(wh, data):
    def read(problem, folder="demo_all/popcorn/model-x"):
        wh.ingest(path(data, problem, folder))
        (row,) = wh.rows("select * from runs")
        row["extra"] = json.loads(row["extra"])
        return row

    return read


def test_a_whole_trajectory(wh, run):
    r = run(1)
    assert (r["suite"], r["sweep"], r["variant"], r["mode"]) == ("popcornbench", "demo_all", "popcorn", "all")
    assert (r["level"], r["problem_id"], r["problem_name"]) == (1, 1, "1_Scale.py")
    assert (r["n_turns"], r["n_tool_calls"], r["max_turns"]) == (3, 3, 5)
    assert r["hardware"] == "NVIDIA H100 80GB HBM3"
    assert (r["runtime_us"], r["ref_runtime_us"]) == (20.0, 50.0)
    assert r["speedup"] == pytest.approx(2.5)
    assert r["baseline"] == "eager"
    assert (r["input_tokens"], r["output_tokens"], r["total_tokens"]) == (1200, 300, 1500)
    assert r["started_at"].isoformat() == "2026-05-20T10:00:00+00:00"
    assert r["extra"]["metadata"]["correctness_trials"] == "(5 / 5)"
    assert r["submitted_kernel_sha256"] == wh.one("select kernel_sha256 from tool_calls where tool = 'submit_kernel'")


def test_messages_calls_and_kernels_are_stored_once(wh, run):
    run(1)
    kinds = dict(wh.con.execute("select kind, count(*) from messages group by 1").fetchall())
    assert kinds == {"user": 1, "reasoning": 3, "feedback": 1}
    assert wh.column("select outcome from tool_calls order by turn") == ["failed", "failed", "passed"]
    assert wh.one("select count(*) from kernels") == 2
    assert wh.one("select count(*) from kernels where language = 'cuda'") == 2
    assert wh.column("select distinct args::varchar from tool_calls") == ["{}"], (
        "the kernel is taken out of the arguments"
    )


def test_diagnostics_of_a_failed_build(wh, run):
    run(1)
    found = wh.rows("select toolchain, severity, file, line, code, class from compile_errors order by ordinal")
    assert found == [
        {
            "toolchain": "nvcc",
            "severity": "error",
            "file": "cuda.cu",
            "line": 7,
            "code": None,
            "class": "compile.undeclared",
        },
        {"toolchain": "nvcc", "severity": "warning", "file": "cuda.cu", "line": 9, "code": "177-D", "class": None},
        {
            "toolchain": "ninja",
            "severity": "error",
            "file": None,
            "line": None,
            "code": None,
            "class": "compile.extension_build",
        },
    ]


def test_sentinels_never_become_metrics(wh, run):
    run(1)
    final = {
        (m["subject"], m["name"]): (m["value"], m["unit"]) for m in wh.rows("select * from metrics where turn is null")
    }
    assert final["candidate", "runtime.std"] == (0.0, "us"), "a spread of 0 is a value"
    assert final["candidate", "runtime.mean"] == (20.0, "us")
    assert final["candidate", "occupancy"] == (140.0, "pct"), "impossible values are kept, the audit names them"
    assert final["candidate", "compute.utilization"] == (0.0, "pct")
    assert final["candidate", "memory.peak"] == (1048576.0, "bytes"), "the exact figure, not the rounded one"
    assert final["reference", "memory.peak"] == (2 * 1048576.0, "bytes")
    assert final["candidate", "warp_stall.long_scoreboard"] == (210.5, "pct")
    names = {name for _, name in final}
    assert not names & {"fusion", "sol.score", "power.mean", "energy.per_run"}
    assert ("reference", "kernels.launched") not in final
    assert wh.one("select value from metrics where turn = 1 and name = 'error.max_abs'") == 0.5


def test_legacy_layout_and_missing_fields(run):
    r = run(2, "demo_old_single/model-x")
    assert (r["sweep"], r["variant"], r["mode"]) == ("demo_old_single", "default", "single")
    assert (r["runtime_us"], r["speedup"], r["wall_s"], r["truncated"]) == (None, None, None, None)
    assert r["ref_runtime_us"] == 100.0
    assert (r["source_outcome"], r["compiled"], r["correct"]) == ("incorrect", True, False)


def test_in_progress(run):
    r = run(3)
    assert (r["source_outcome"], r["finished_at"], r["compiled"]) == ("in_progress", None, None)
    assert r["total_tokens"] == 500, "0 tokens mean unknown: the turns' own are summed"


def test_skip_marker(run):
    r = run(4)
    assert (r["source_outcome"], r["problem_name"], r["n_turns"]) == ("skipped", None, 0)
    assert r["extra"]["skip_reason"] == "unsupported api_kind"


def test_swallowed_work_item_timeout_is_no_compile_error(wh, run):
    r = run(5)
    assert r["source_outcome"] == "timeout"
    assert wh.rows("select turn, seq, scope from timeouts") == [{"turn": 0, "seq": 0, "scope": "work_item"}]
    assert wh.one("select count(*) from compile_errors") == 0
    assert wh.column("select outcome from tool_calls") == ["timeout"]


def test_relabelled(wh, run):
    r = run(6)
    assert r["extra"]["correct_source"] == "timeout_recovery"
    assert r["extra"]["outcome_original"] == "compile_fail"
    assert wh.rows("select turn, scope, budget_s from timeouts") == [
        {"turn": 1, "scope": "torchrun", "budget_s": 300.0}
    ]
    assert wh.one("select count(*) from compile_errors") == 0


def test_reevaluated_result_contradicts_its_turns(run):
    r = run(7)
    assert r["correct"] is True
    assert r["speedup"] == pytest.approx(2.5)
    assert r["extra"]["metadata"]["re_eval_torchrun_timeout_s"] == 1800


def test_automatic_submission_after_the_last_turn(wh, run):
    r = run(8)
    assert (r["max_turns"], r["n_turns"], r["n_tool_calls"]) == (1, 2, 2)
    assert r["submitted_kernel_sha256"] == wh.one("select kernel_sha256 from tool_calls where tool = 'submit_kernel'")


def test_candidates_of_an_evolutionary_search(wh, run):
    run(9)
    calls = wh.rows("select tool, ok, outcome, duration_s, kernel_sha256 from tool_calls order by seq")
    assert [(c["ok"], c["outcome"], c["duration_s"]) for c in calls] == [(True, "passed", 3.5), (False, "failed", 1.0)]
    assert len({c["kernel_sha256"] for c in calls}) == 2
    assert wh.one("select count(*) from compile_errors where toolchain = 'nvcc' and severity = 'error'") == 1


def test_refused_calls_and_lost_connections(wh, run):
    run(10)
    assert wh.column("select outcome from tool_calls order by seq") == ["refused", "refused", "refused", "timeout"]
    assert wh.rows("select scope, budget_s, elapsed_s from timeouts order by turn") == [
        {"scope": "eval_rpc", "budget_s": 900.0, "elapsed_s": None},
        {"scope": "llm", "budget_s": None, "elapsed_s": 600.0},
    ]


def test_chat_api(wh, run):
    r = run(11)
    assert (r["input_tokens"], r["output_tokens"], r["total_tokens"]) == (10, 5, 15)
    assert wh.column("select kind || ':' || text from messages order by seq") == [
        "system:You write kernels.",
        "user:Write one.",
        "assistant:hello",
    ]


def test_wrong_types_are_repaired_field_by_field(wh, run):
    r = run(12)
    assert (r["problem_id"], r["level"], r["max_turns"], r["n_turns"], r["wall_s"]) == (12, 1, 5, 3, 300.5)
    assert r["extra"]["brand_new_key"] == {"a": 1}, "a key that nobody declared is kept"
    issues = dict(wh.con.execute("select location, code from ingest_issues").fetchall())
    assert issues["/problem_id"] == "type_repaired"
    assert issues["/turns/3"] == "type_dropped"
    assert wh.column("select ok from tool_calls order by turn") == [False, False, True]


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (20, "non_finite"),
        (21, "byte_order_mark"),
        (22, "surrogate"),
        (24, "too_deep"),
        (28, "trailing_data"),
        (29, "invalid_utf8"),
    ],
)
def test_read_with_a_repair(wh, data, problem, code):
    summary = wh.ingest(path(data, problem, "damaged/original/model-y"))
    assert summary.runs == 1
    assert code in summary.issues
    assert wh.one("select status from sources") == "ok"
    assert wh.one("select count(*) from tool_calls where ok") == 1


def test_control_characters_are_kept(wh, data):
    wh.ingest(path(data, 23, "damaged/original/model-y"))
    assert wh.one("select text from messages where kind = 'reasoning'") == "tab\x01here"


@pytest.mark.parametrize(
    ("problem", "code", "status"),
    [
        (25, "truncated", "partial"),
        (26, "not_json", "rejected"),
        (27, "empty_file", "partial"),
        (30, "not_json", "rejected"),
    ],
)
def test_not_readable(wh, data, problem, code, status):
    summary = wh.ingest(path(data, problem, "damaged/original/model-y"))
    assert (summary.runs, summary.incomplete) == (0, True)
    assert wh.one("select status from sources") == status
    assert wh.one("select code from ingest_issues where severity = 'error'") == code


def test_the_sweeps_configuration_tells_limits_and_mode(wh, data, tmp_path):
    folder = tmp_path / "runs" / "night" / "popcorn" / "model-x"
    folder.mkdir(parents=True)
    text = path(data, 5).read_text().replace("demo_all", "night")
    (folder / "level_1_problem_5_trajectory.json").write_text(text)
    config = {"run": {"tools": "default"}, "parallelism": {"worker_timeout_s": 2700}}
    (tmp_path / "runs" / "night" / "sweep_config.json").write_text(json.dumps(config))
    summary = wh.ingest(tmp_path)
    assert not summary.ignored, "a companion is not ignored"
    assert wh.one("select mode from runs") == "default"
    assert wh.one("select budget_s from timeouts") == 2700.0


def test_a_cut_kernel_has_no_hash_and_is_not_lost(wh, data, tmp_path):
    document = json.loads(path(data, 1).read_text())
    cut = "import torch\n... (512 more chars)"
    document["turns"][0]["tool_calls"][0]["args"]["kernel_code"] = cut
    target = tmp_path / "level_1_problem_1_trajectory.json"
    target.write_text(json.dumps(document))
    wh.ingest(target)
    sha, args = wh.one("select kernel_sha256, args from tool_calls where turn = 0")
    assert sha is None
    assert json.loads(args)["kernel_code"] == cut


@pytest.mark.parametrize("shape", [True, 3, "text", {"a": 1}, [1], [None]])
@pytest.mark.parametrize("slow", [False, True])
def test_messages_of_another_shape_cost_the_messages_alone(wh, data, tmp_path, shape, slow):
    document = json.loads(path(data, 1).read_text())
    document["turns"][0]["messages_in"] = shape
    document["slow"] = float("nan") if slow else 0  # NaN takes the path that repairs
    place = tmp_path / "runs/demo_all/popcorn/model-x/level_1_problem_1_trajectory.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(document))
    wh.ingest(tmp_path)
    assert wh.column("select code from ingest_issues where location = '/turns/0/messages_in'") == ["type_dropped"]
    assert wh.rows("select status, n_runs from sources") == [{"status": "ok", "n_runs": 1}]
    assert wh.one("select count(*) from tool_calls") == 3
    assert wh.column("select distinct kind from messages order by 1") == ["feedback", "reasoning"]
