"""Trace pages of three generations, and what becomes of a page beside its trajectory."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

import pytest
from kbstats.ingest.formats.popcornbench_page import FORMAT
from kbstats.ingest.formats.popcornbench_summary import FORMAT as SUMMARY

T = "popcornbench_page/report/v/popcorn/t"
K1 = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x + x\n"


def sha(text):
    return hashlib.sha256(text.rstrip().encode()).hexdigest()


def test_only_trace_pages_are_claimed(claimed, fixtures):
    assert {p.name for p in claimed(FORMAT, fixtures / "popcornbench_page")} == {
        "model-x__l2_p7.html", "model-x__l3_p8.html", "model-y__l5_p3.html", "cut__l5_p4.html",
    }


def test_first_generation_cuts_arguments(read, fixtures):
    found = read(FORMAT, fixtures / T / "model-x__l2_p7.html")
    run = found.run(problem_id=7)
    assert (run.sweep, run.variant, run.model_raw, run.level, run.problem_name) == ("demo_gen1_single", "popcorn", "model-x", 2, "7_double.py")
    assert (run.speedup, run.runtime_us, run.ref_runtime_us) == (2.31, 20.0, 50.0), "milliseconds under a wrong label"
    assert (run.max_turns, run.n_turns, run.n_tool_calls, run.mode) == (10, 2, 2, "single")
    assert run.extra["cut_arguments"] is True
    assert found.codes() == {"cut_arguments": 1}
    cut, whole = found["tool_calls"]
    assert cut.kernel_sha256 is None
    assert cut.args["kernel_code_cut"] == K1[:60]
    assert whole.kernel_sha256 == run.submitted_kernel_sha256 is not None, "the page shows the last one whole"
    assert [k.kernel_sha256 for k in found["kernels"]] == [whole.kernel_sha256]
    assert [t.llm_s for t in found["turns"]] == [12.5, 7.0]


def test_the_reference_of_a_page(read, fixtures):
    found = read(FORMAT, fixtures / T / "model-x__l2_p7.html")
    (problem,) = found["problems"]
    run = found.run(problem_id=7)
    assert problem.source_sha256 == run.reference_sha256 == sha(problem.source_code)
    assert problem.draws_shapes is True
    assert (problem.level, problem.variant, problem.problem_name) == (2, "popcorn", "7_double.py")


def test_second_generation_without_a_result(read, fixtures):
    found = read(FORMAT, fixtures / T / "model-x__l3_p8.html")
    run = found.run(problem_id=8)
    assert (run.source_outcome, run.compiled, run.correct, run.speedup, run.runtime_us) == ("error", None, None, None, None)
    assert (run.backend, run.precision) == ("triton", "fp16")
    (turn,) = found["turns"]
    assert turn.llm_s == 3600.0
    assert turn.feedback == "LLM call failed: Empty: "
    assert "rounded" not in run.extra


def test_third_generation(read, fixtures):
    found = read(FORMAT, fixtures / T / "model-y__l5_p3.html")
    run = found.run(problem_id=3)
    assert (run.wall_s, run.total_tokens, run.input_tokens, run.truncated) == (92.7, 12322, None, False)
    assert run.started_at == datetime(2026, 5, 13, 13, 12, 40, tzinfo=UTC)
    assert run.hardware == "NVIDIA H100 80GB HBM3"
    assert run.submitted_kernel_sha256 == sha(K1)
    assert [(t.input_tokens, t.output_tokens, t.total_tokens, t.tools_s) for t in found["turns"]] == [(4774, 533, 5307, 0.1), (5752, 1263, 7015, 70.1)]
    assert [t.is_final for t in found["turns"]] == [False, True]
    assert [(m.kind, m.text) for m in found["messages"]] == [("reasoning", "think of <b>double</b> & half"), ("assistant", "submitting")]
    metrics = found.metrics(run)
    assert metrics["candidate", "occupancy"] == 131.3
    assert metrics["candidate", "runtime.mean"] == pytest.approx(30.0)
    assert metrics["reference", "runtime.std"] == pytest.approx(10.0)
    assert run.extra["rounded"]


def test_a_page_cut_short_is_partial(read, fixtures):
    found = read(FORMAT, fixtures / T / "cut__l5_p4.html")
    assert (found.status, found["runs"], dict(found.codes())) == ("partial", [], {"truncated": 1})


def test_a_page_without_its_cells_is_rejected(read, tmp_path):
    path = tmp_path / "a.html"
    path.write_text('<title>L1 P1 · x</title><div class="site-title">L1 P1</div><div class="site-subtitle">a · b · c</div></html>')
    assert read(FORMAT, path).codes() == {"not_a_trace_page": 1}


def trajectory(**changes):
    """The trajectory that the third page was rendered from, with the page's rounded runtimes."""
    return {
        "problem_id": 3, "level": 5, "problem_name": "03_double.py", "run_name": "demo_gen3_all", "model_name": "model-y", "max_turns": 15,
        "outcome": "correct", "finished_at": "2026-05-13T14:00:00Z", "total_turns": 1,
        "turns": [{"turn_id": 0, "tool_calls": [{"tool_name": "submit_kernel", "args": {"kernel_code": K1}, "success": True}]}],
        "final_result": {"compiled": True, "correctness": True, "runtime": 0.03, "ref_runtime": 0.12},
        **changes,
    }


@pytest.fixture
def both(wh, fixtures, tmp_path):
    def run(order, **changes):
        folder = tmp_path / "runs/demo_gen3_all/popcorn/model-y"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "level_5_problem_3_trajectory.json"
        path.write_text(json.dumps(trajectory(**changes)))
        page = fixtures / T / "model-y__l5_p3.html"
        for name in order:
            wh.ingest(path if name == "trajectory" else page)
        return wh, path, page

    return run


@pytest.mark.parametrize("order", [("trajectory", "page"), ("page", "trajectory")])
def test_a_page_is_a_copy_of_its_trajectory(both, order):
    wh, *_ = both(order)
    assert wh.rows("select format, speedup, n_turns from runs") == [{"format": "popcornbench", "speedup": 4.52, "n_turns": 1}]
    assert wh.column("select record ->> '$.run.format' from run_copies") == ["popcornbench_page"]
    extra = json.loads(wh.one("select extra from runs"))
    assert (extra["speedup_from"], extra["speedup_own"], extra["reference_from"]) == ("page", 4.0, "page")
    assert wh.one("select reference_sha256 is not null from runs")


def test_runtimes_that_agree_with_the_page_keep_their_quotient(both):
    wh, *_ = both(("trajectory", "page"), final_result={"compiled": True, "correctness": True, "runtime": 0.0265, "ref_runtime": 0.12})
    assert wh.one("select speedup from runs") == pytest.approx(0.12 / 0.0265)
    assert "speedup_from" not in json.loads(wh.one("select extra from runs"))


def test_without_the_page_its_speedup_goes(both):
    wh, path, _ = both(("trajectory", "page"))
    wh.con.execute("delete from run_copies")
    path.with_name("level_5_problem_4_trajectory.json").write_text(json.dumps(trajectory(problem_id=4)))
    wh.ingest(path.parent)
    rows = wh.rows("select problem_id, speedup, extra ->> '$.speedup_from' as f, reference_sha256 as r from runs order by 1")
    assert rows == [{"problem_id": p, "speedup": 4.0, "f": None, "r": None} for p in (3, 4)]


def test_summary(read, fixtures):
    found = read(SUMMARY, fixtures / "popcornbench_summary/run_summary.json")
    run = found.run(problem_id=1)
    assert (run.runtime_us, run.ref_runtime_us, run.speedup, run.correct) == (40.0, 100.0, 2.5, True), "they hold milliseconds"
    assert (run.sweep, run.variant, run.mode, run.n_turns) == ("demo_gen2_all", "popcorn", "all", 4)
    assert found.run(problem_id=8).runtime_us is None
    skipped = found.run(problem_id=9)
    assert (skipped.problem_name, skipped.extra) == (None, {"skip_reason": "unsupported api_kind"})
    assert found.codes() == {"type_dropped": 2}


def test_a_summary_and_a_page_are_one_run(wh, fixtures):
    wh.ingest(fixtures / "popcornbench_summary", fixtures / T)
    assert wh.rows("select format from runs where problem_id = 8") == [{"format": "popcornbench_page"}]
    assert wh.one("select count(*) from run_copies") == 1


def test_mutated_summaries(fuzz, fixtures):
    fuzz(SUMMARY, "run_summary.json", json.loads((fixtures / "popcornbench_summary/run_summary.json").read_text()), examples=40)


def test_mutated_pages(fuzz, fixtures):
    words = (fixtures / T / "model-y__l5_p3.html").read_text().split(" ")
    fuzz(FORMAT, "a.html", words, dump=lambda d: " ".join(map(str, d)) if isinstance(d, list) else str(d), examples=40)
