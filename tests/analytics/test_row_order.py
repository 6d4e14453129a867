"""No answer depends on the order in which rows lie in the database.

A table has no order: a rebuilt database, another number of workers or a lake hands the same rows over in
another one. Each corpus is loaded twice, the second time with every table the other way round, and all models,
audits, boards and lists must be the same, to the last bit.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import random
import re
from pathlib import Path

import pytest
from kbstats.analytics import audit, compare, failures, leaderboards, matrix, paths, runs, warehouse
from kbstats.data import path as sample_path
from kbstats.sql import catalog, describe, refresh

_spec = importlib.util.spec_from_file_location("kbstats_test_inline", Path(__file__).parents[1] / "sql" / "inline.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
TABLES = [t for t in describe.tables() if t.name not in {"meta", "failure_classes", "failure_rules"}]

# Few values a column, so that nearly everything ties with something.
RUNS, KERNELS, MODELS = [f"r{i}" for i in range(24)], ["k1", "k2", "k3"], ["A", "B", "C"]
TEXTS = [
    'submit_kernel FAILED: kernel did not compile.\nk.cu(3): error: expected a ";"',
    "run_correctness FAILED: check did not pass ((0 / 5) trials).\ncorrectness_issue: Output mismatch",
    "run_correctness FAILED: ?\nruntime_error: CUDA error: an illegal memory access was encountered",
    "torchrun eval timed out after 300s (world_size=8)", "something that no rule names", "another that none names",
]  # fmt: skip
SOURCES = [
    "batch_size = 16\nrows = 32\ndef get_inputs():\n    return [torch.rand(jitter_int(batch_size), jitter_int(rows))]",
    "batch_size = 32\nrows = 16\ndef get_inputs():\n    return [torch.rand(jitter_int(rows), jitter_int(batch_size))]",
]
METRICS = [
    "occupancy", "power.mean", "dram.bandwidth", "dram.read_bandwidth", "peak.bandwidth", "dram.utilization",
    "compute.utilization", "l2.hit_rate", "sol.score", "roofline.fraction", "warp_stall.wait", "runtime.mean",
    "runtime.std", "runtime.trials", "speedup.vs_compile", "speedup.vs_eager", "error.max_abs", "error.max_rel",
    "energy.per_run.zero", "power.mean.zero", "gpu_time", "cuda_time.total", "kernels.launched", "arithmetic_intensity",
]  # fmt: skip
EXTRAS = [
    {"outcome_original": "compile_fail"}, {"timeout_recovered": "true"}, {"re_eval": True}, {},
    {"metadata": {"compilation_error": "A", "other_error": "error: B", "gpu_error": "something"}},
    {"metadata": {"runtime_error": "CUDA error: out of memory", "correctness_issue": "Output mismatch", "error": "mismatch"}},
    {"metadata": {"error": "timed out after 300s", "error_message": "torchrun eval timed out after 20s"}, "error": "timeout"},
]  # fmt: skip
POOLS = {
    "run_id": RUNS, "linked_run_id": RUNS, "submitted_kernel_sha256": [*KERNELS, None], "kernel_sha256": KERNELS,
    "model": MODELS, "model_raw": ["raw"], "suite": ["kb"], "level": [1, 2], "problem_id": [1, 2, None],
    "problem_name": ["1_A.py", "2_B.py", None], "variant": ["original", "default", "popcorn", None],
    "sweep": ["s", "t"], "mode": ["all", "single", None], "format": ["popcornbench"], "harness": ["h", None],
    "hardware": ["NVIDIA H100", "H100_Modal", "NVIDIA A100", None], "gpu_model": ["NVIDIA H100", "NVIDIA A100"],
    "device": ["cuda"], "turn": [0, 1, 2, 3], "seq": [0, 1, None], "ordinal": [0, 1], "pair": [0, 1],
    "tool": ["submit_kernel", "compile_kernel", "run_correctness"], "result_text": TEXTS, "feedback": [*TEXTS, "LLM call failed: Empty:"],
    "source_outcome": ["correct", "incorrect", "compile_fail", "timeout", "skipped", None], "outcome": ["failed", "passed", "refused"],
    "speedup": [0.1, 0.7, 2.0, 2.0, 300.0, None], "runtime_us": [0.1, 130.0, 1000.1, None], "ref_runtime_us": [0.3, 1000.1, None],
    "mean_us": [0.1, 0.3, 1000.1], "baseline": ["eager", "compile", None], "precision": ["fp32", "bf16", None],
    "wall_s": [0.1, 0.2, 0.3, 7.7, 100.3, None], "llm_s": [0.1, 0.7, 33.3, None], "tools_s": [0.2, 1.1, 77.7, None],
    "cost_usd": [0.1, 0.2, 0.7, None], "total_tokens": [100, 200, None], "n_turns": [0, 3, None], "sample_id": [0, 1, None],
    "name": METRICS, "subject": ["candidate", "reference", "ratio"], "value": [0.0, 0.3, 1.07, 7.0, 101.5, 5000.0, 5000.0],
    "source": ["nsight", "heuristic", "torch.profiler"], "unit": ["pct", "us"], "metadata": [{"error": e} for e in ("timeout", "x")],
    "source_code": SOURCES, "draws_shapes": [True], "n_lines": [40, 50], "extra": EXTRAS, "reason": ["relabelled", "rerun"],
    "record": [{"run": {"source_outcome": v}} for v in ("timeout", "incorrect", "correct", None)],
    "matched_on": ["speedup", "wall_s"], "scope": ["work_item", "session", "tool"], "message": ["one", "another"],
    "verdict": ["CONFIRMED", "INCORRECT", "SLOWER_THAN_CLAIMED", "NO_SPEEDUP", "INCONCLUSIVE", "CONFIRMED_REDUCED"],
    "kind": ["bf16", None], "correctness": ["passed"], "speed": ["faster"], "sandbox_ok": [True], "protocol": ["1", "2"],
    "speedup_lo": [0.05], "speedup_hi": [400.0], "reference_sha256": ["f1", "f2", None], "witness": [{"call": 1}, None],
    "code": ["E1", "E2"], "text": ["said", "also said"], "author": ["a", "b"], "kind_of": ["assistant"],
}  # fmt: skip
SIZES = {"runs": len(RUNS), "kernels": len(KERNELS), "metrics": 900, "tool_calls": 160, "turns": 60, "verifications": 40, "run_copies": 30}  # fmt: skip
PLAIN = {"varchar": ["x", "y"], "bigint": [1, 2], "double": [0.1, 0.2, 0.3], "boolean": [True, False], "json": [{}, {"a": 1}],
         "timestamptz": ["2026-01-01 00:00:00+00", "2026-01-02 00:00:00+00"], "varchar[]": [["x"], []]}  # fmt: skip


def fill(con, rng):
    """Rows of any table, few values a column; what is one row's key stands once."""
    for table in TABLES:
        grain = next(f.header["grain"] for f in catalog.sql_files("schema") if f.name == table.name)
        columns = [c.name for c in table.columns]
        key = [c for c in (part.strip() for part in grain.split(",")) if c in columns]
        seen = {}
        for i in range(SIZES.get(table.name, 40)):
            pools = {c.name: [v for v in POOLS.get(c.name) or PLAIN[c.type] if v is not None or not c.required] for c in table.columns}
            row = {name: rng.choice(pool) for name, pool in pools.items()}
            if table.name in {"runs", "kernels"}:
                row[columns[0]] = (RUNS if table.name == "runs" else KERNELS)[i]
            for unique in {"verification_id", "source_id", "path"} & set(columns):
                row[unique] = f"{table.name}{i}"
            if table.name == "tool_calls":
                row["ok"] = row["outcome"] == "passed"
            if table.name == "run_links" and row["run_id"] == row["linked_run_id"]:
                continue
            seen.setdefault(tuple(row[c] for c in key) if key else i, row)
        marks = ", ".join("?" for _ in columns)
        rows = [[json.dumps(v) if isinstance(v, dict) else v for v in r.values()] for r in seen.values()]
        con.executemany(f"insert into {table.name} values ({marks})", rows)


def loaded(rows, order):
    """A database with those rows of each table in that order, stored models and intervals computed."""
    from kbstats.analytics import intervals

    con = _module.connect()
    con.execute("set threads = 2")
    for name, values in rows.items():
        if values:
            marks = ", ".join("?" for _ in values[0])
            con.executemany(f"insert into {name} values ({marks})", order(values))
    refresh.refresh_stored(con)
    intervals.store(con)
    return con


def rows_of(con):
    return {t.name: con.execute(f"from {t.name}").fetchall() for t in TABLES}


def made_up(seed):
    con = _module.connect()
    fill(con, random.Random(seed))
    return rows_of(con)


def samples(folder):
    from kbstats.ingest import pipeline

    con = warehouse.open_write(folder / "samples.duckdb")
    pipeline.ingest(con, [sample_path("runs"), sample_path("verifications")])
    warehouse.refresh(con)
    return rows_of(con)


def shuffled(values):
    values = list(values)
    random.Random(7).shuffle(values)
    return values


@pytest.fixture(scope="module", params=["samples", 0, 1])
def pair(request, tmp_path_factory):
    """The same rows in two databases: as they came, and turned round or mixed."""
    rows = samples(tmp_path_factory.mktemp("samples")) if request.param == "samples" else made_up(request.param)
    other = shuffled if request.param == 1 else lambda values: values[::-1]
    cons = loaded(rows, list), loaded(rows, other)
    assert rows_of(cons[0])["metrics"] != rows_of(cons[1])["metrics"], "the second holds them in another order"
    yield cons
    for con in cons:
        con.close()


def same(pair, ask):
    """Ask both databases; what they say must be equal, and there must be something."""
    one, other = (ask(con) for con in pair)
    assert one == other
    return one


def as_set(con, sql):
    return sorted(map(repr, con.execute(sql).fetchall()))


VIEWS = [f.name for f in catalog.models() if not re.search(r"create or replace macro", f.sql)]


@pytest.mark.parametrize("name", VIEWS)
def test_every_model_has_the_same_rows(pair, name):
    same(pair, lambda con: as_set(con, f"from {name}"))


@pytest.mark.parametrize("by", leaderboards.GROUPINGS)
def test_every_board_is_the_same(pair, by):
    for trust, baseline in (("claimed", "eager"), ("audited", None), ("verified", None)):
        filters = leaderboards.Filters(trust=trust, baseline=baseline)
        found = same(pair, functools.partial(whole_board, filters=filters, by=by))
        assert found[0]


def whole_board(con, *, filters, by):
    try:
        found = leaderboards.board(con, filters, by=by, ks=() if by == "run" else (1, 2))
    except leaderboards.offers.UsageError:  # the samples have no baselines of eager
        found = leaderboards.board(con, leaderboards.Filters(trust=filters.trust), by=by)
    return found.rows, found.notes


@pytest.mark.parametrize("trust", leaderboards.TRUST)
def test_matrix_macro_and_comparisons_are_the_same(pair, trust):
    filters = leaderboards.Filters(trust=trust)
    assert same(pair, lambda con: matrix.matrix(con, filters).rows)
    for by in ("model", "problem", "level"):
        same(pair, lambda con, by=by: as_set(con, f"from board(\"grouping\" := '{by}', trust := '{trust}')"))
    models = [r["model"] for r in leaderboards.board(pair[0], filters).rows][:2]
    assert same(pair, lambda con: compare.compare(con, *models, filters=filters))


def test_lists_of_failures_and_findings_have_one_order(pair):
    for by in failures.GROUPINGS:
        assert same(pair, lambda con, by=by: failures.summary(con, by=by))
    same(pair, failures.unclassified)
    assert same(pair, failures.failed_runs)
    same(pair, failures.patterns)
    assert same(pair, paths.paths)
    assert same(pair, audit.findings)


def test_a_run_is_shown_the_same(pair):
    for (run_id,) in pair[0].execute("select run_id from runs order by run_id").fetchall()[::3]:
        same(pair, lambda con, run_id=run_id: runs.load(con, run_id))
