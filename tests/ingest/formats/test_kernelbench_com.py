"""kernelbench.com: results, catalog, boards and annotations."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import yaml
from kbstats.ingest.formats.kernelbench_com import FORMAT
from kbstats.ingest.formats.kernelbench_com_logs import read_check
from kbstats.ingest.formats.kernelbench_com_runs import run_id_of

RUNS = "kernelbench_com/outputs/runs"
FP8 = "20260102_030405_demo-claude_org_model-a_01_fp8_gemm"
MEGA = "20260103_000000_demo_model-b_02_kimi_linear_decode"


def test_claims_all_four_kinds(claimed, fixtures):
    files = claimed(FORMAT, fixtures)
    assert all(p.is_relative_to(fixtures / "kernelbench_com") for p in files)
    assert Counter(p.name.split(".", 1)[-1] for p in files) == {"json": 7, "yaml": 3, "result.json": 1}


@pytest.mark.parametrize("text", [
    '{"cli": "x", "task": "t", "run_id": "r", "harness_result": {"correctness": true}}',
    '{"op": {"compiled": true, "correctness": true, "performance": null}}', '{"harness": "x", "problem": "y"}',
])
def test_other_result_json_are_not_its_own(tmp_path, text):
    assert not FORMAT.sniff(tmp_path / "result.json", text.encode())


def test_second_schema(read, fixtures):
    found = read(FORMAT, fixtures / RUNS / FP8 / "result.json")
    run = found.run()
    assert run.run_id == run_id_of(FP8)
    assert (run.suite, run.sweep, run.variant, run.problem_id) == ("kernelbench.com", "demo_sweep", "hard", 1)
    assert (run.model_raw, run.harness, run.problem_name) == ("org/model-a", "demo-claude", "01_fp8_gemm")
    assert (run.source_outcome, run.correct, run.compiled) == ("pass", True, None)
    assert run.started_at.isoformat() == "2026-01-02T09:04:05+00:00"
    assert (run.wall_s, run.input_tokens, run.output_tokens, run.total_tokens, run.cost_usd) == (3600, 1000, 250, 1250, 1.75)
    assert found.metrics(run) == {("ratio", "roofline.fraction"): 0.42}
    assert run.speedup is None, "a fraction of the roofline is no speedup"
    assert run.submitted_kernel_sha256 in found.batch.kernels
    assert run.extra["check_log"] == "PASS\n"


def test_a_deck_whose_score_is_a_speedup_and_a_regrade(read, fixtures):
    found = read(FORMAT, fixtures / RUNS / MEGA / "result.json")
    run = found.run()
    assert (run.variant, run.speedup, run.correct, run.source_outcome) == ("mega", 14.5, True, "check_timeout")
    assert not found["metrics"]
    assert (run.hardware, "regrade" in run.extra["re_eval"]) == ("NVIDIA Demo 2", True)
    assert [(t.scope, t.budget_s, t.elapsed_s) for t in found["timeouts"]] == [("check", 180.0, None)]


def test_check_timeout(read, fixtures):
    found = read(FORMAT, fixtures / RUNS / "20260102_070000_demo-claude_org_model-a_06_sonic_moe_swiglu" / "result.json")
    assert [(t.scope, t.budget_s, t.elapsed_s) for t in found["timeouts"]] == [("check", 180.0, 180.0)]
    assert found.run().source_outcome == "check_timeout"


def test_check_log_tells_wrong_values_from_a_failed_build(read, fixtures):
    wrong = read(FORMAT, fixtures / RUNS / "20260102_050000_demo-claude_org_model-a_05_topk_bitonic" / "result.json")
    assert list(wrong.run().extra["metadata"]) == ["correctness_issue"]
    built = read(FORMAT, fixtures / RUNS / "20260102_060000_demo-claude_org_model-a_07_w4a16_gemm" / "result.json")
    assert list(built.run().extra["metadata"]) == ["compilation_error"]
    assert ("nvcc", 12) in [(e.toolchain, e.line) for e in built["compile_errors"]]


@pytest.mark.parametrize(("text", "want"), [
    ("", {}), ("warming up\nPASS\n", {}),
    ("FAIL: forbidden op used: torch.topk", {"error": "FAIL: forbidden op used: torch.topk"}),
    ("Traceback\nRuntimeError: CUDA error: out of memory", {"runtime_error": "Traceback\nRuntimeError: CUDA error: out of memory"}),
    ("AttributeError: module 'solution' has no attribute 'Model'", {"compilation_error": "AttributeError: module 'solution' has no attribute 'Model'"}),
    ("one\ntwo", {"error": "one\ntwo"}),
])
def test_read_check(text, want):
    assert read_check(text) == want


def test_first_schema_takes_its_id_from_the_file_name(read, fixtures):
    (path,) = (fixtures / "kernelbench_com/v1").iterdir()
    found = read(FORMAT, path)
    run = found.run()
    assert run.run_id == run_id_of(path.name.removesuffix(".result.json"))
    assert (run.source_outcome, run.correct, run.problem_id, run.variant) == ("no_solution", False, 10, "hard")
    assert [t.scope for t in found["timeouts"]] == ["session"]


def test_a_result_without_any_id_is_told_of(read, fixtures, tmp_path):
    document = json.loads((fixtures / RUNS / FP8 / "result.json").read_text())
    del document["run_id"]
    (tmp_path / "result.json").write_text(json.dumps(document))
    found = read(FORMAT, tmp_path / "result.json")
    assert (len(found["runs"]), found.codes()) == (1, {"no_run_id": 1})


def test_catalog_and_board_speak_of_the_same_runs(read, fixtures):
    catalog = read(FORMAT, fixtures / "kernelbench_com/catalog.json")
    assert {r.run_id for r in catalog["runs"]} == {run_id_of(FP8), run_id_of(MEGA)}
    run = catalog.run(run_id=run_id_of(MEGA))
    assert (run.speedup, run.hardware, run.wall_s, run.extra["verdict"]) == (14.5, "demo2", None, "unaudited")
    assert catalog.codes() == {"no_run_id": 1}
    board = read(FORMAT, fixtures / "kernelbench_com/leaderboard.json")
    run = board.run()
    assert run.run_id == run_id_of("20260104_000000_codex_model-d_02_kda_cutlass")
    assert (run.model_raw, run.harness, run.hardware, run.wall_s) == ("model-d", "codex", "Demo RTX", 950)
    assert board.metrics(run) == {("ratio", "roofline.fraction"): 0.031}
    assert board.codes() == {"type_dropped": 1}


def test_annotations(read, fixtures):
    folder = fixtures / "kernelbench_com/annotations"
    (note,) = read(FORMAT, folder / f"{FP8}.yaml")["annotations"]
    assert (note.run_id, note.verdict, note.author) == (run_id_of(FP8), "rubric_leak", "demo auditor")
    assert note.text.startswith("summary: Upcasts to bf16")
    assert "quote: solution.py:3-9 the cast\nx = x.to(bf16)" in note.text
    (note,) = read(FORMAT, next(folder.glob("*_h100.yaml")))["annotations"]
    assert note.run_id == run_id_of("20260102_050000_demo-claude_org_model-a_05_topk_bitonic"), "the id inside counts"
    assert (note.verdict, note.author, note.text) == ("clean", "kernelbench.com", "correct: true (rescored)")


def test_an_annotation_that_is_no_yaml_still_gives_its_verdict(read, fixtures):
    (path,) = (fixtures / "kernelbench_com/annotations").glob("*w4a16_gemm.yaml")
    found = read(FORMAT, path)
    (note,) = found["annotations"]
    assert (note.verdict, note.text.strip(), found.codes()) == ("bug", path.read_text().strip(), {"bad_yaml": 1})


def test_never_raises(fuzz, fixtures):
    fuzz(FORMAT, f"{FP8}/result.json", json.loads((fixtures / RUNS / FP8 / "result.json").read_text()))
    fuzz(FORMAT, "catalog.json", json.loads((fixtures / "kernelbench_com/catalog.json").read_text()))
    fuzz(FORMAT, "leaderboard.json", json.loads((fixtures / "kernelbench_com/leaderboard.json").read_text()), examples=30)
    note = yaml.safe_load((fixtures / f"kernelbench_com/annotations/{FP8}.yaml").read_text())
    fuzz(FORMAT, f"annotations/{FP8}.yaml", note, yaml.safe_dump)


@pytest.mark.real
def test_real_results_and_catalog(read, claimed, real):
    files = claimed(FORMAT, real)
    assert all(p.is_relative_to(real / "kernelbench_com") for p in files)
    results = [p for p in files if p.name.endswith(".result.json")]
    assert set(results) == {*real.glob("kernelbench_com/result_json*/*.json")}
    for path in results:
        raw = json.loads(path.read_text())
        run = read(FORMAT, path).run()
        assert (run.correct, run.wall_s) == (raw["correct"], raw["elapsed_seconds"])
        assert run.run_id == run_id_of(path.name.removesuffix(".result.json"))
        score = raw["peak_fraction"]
        assert run.speedup == (score if run.variant == "mega" else None)
    catalog = read(FORMAT, real / "kernelbench_com/catalog.json")
    cells = json.loads((real / "kernelbench_com/catalog.json").read_text())["cells"]
    assert len(catalog["runs"]) == len(cells)
    assert Counter(r.variant for r in catalog["runs"]) == Counter(c["bench"] for c in cells)
    assert sum(r.speedup is not None for r in catalog["runs"]) == sum(c["bench"] == "mega" and c["score"] is not None for c in cells)


@pytest.mark.real
def test_real_annotations(read, claimed, real):
    files = [p for p in claimed(FORMAT, real) if p.suffix == ".yaml"]
    assert set(files) == set((real / "kernelbench_com").rglob("*.yaml"))
    verdicts, problems = Counter(), 0
    for path in files:
        found = read(FORMAT, path)
        (note,) = found["annotations"]
        verdicts[note.verdict] += 1
        problems += bool(found.issues)
    want = Counter()
    for path in files:
        (line,) = [x for x in path.read_text().splitlines() if x.startswith("verdict:")]
        want[line.split(":", 1)[1].split("#")[0].strip()] += 1
    assert verdicts == want
    assert problems == 1


def test_no_tokens_are_unknown_tokens():
    from kbstats.ingest.formats.kernelbench_com_runs import _count

    assert [_count(v) for v in (0, -1, None, 7)] == [None, None, None, 7]
