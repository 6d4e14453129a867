"""Choosing: references are found where suites keep them, helpers and shims travel along."""

from __future__ import annotations

from pathlib import Path

import pytest
from kbstats.analytics.verify import plan, problems, shims
from kbstats.ingest.errors import KbstatsError


@pytest.mark.parametrize("base", ["", "KernelBench"])
@pytest.mark.parametrize(("variant", "folder"), [("original", ""), ("default", ""), (None, ""), ("popcorn", "popcorn")])
def test_find_reference(tmp_path: Path, base: str, variant: str | None, folder: str) -> None:
    place = tmp_path / base / "level3" / folder
    place.mkdir(parents=True)
    (place / "1_x.py").write_text("", encoding="utf-8")
    assert problems.find_reference(tmp_path, 3, variant, "1_x.py") == place / "1_x.py"
    assert problems.find_reference(tmp_path, 3, variant, "2_y.py") is None
    assert problems.find_reference(tmp_path, 3, variant, "../level3/1_x.py") == place / "1_x.py"


def test_helpers_are_found_through_each_other(tmp_path: Path) -> None:
    (tmp_path / "src/suite").mkdir(parents=True)
    (tmp_path / "src/suite/__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "src/suite/a.py").write_text("from suite.b import y\n", encoding="utf-8")
    (tmp_path / "src/suite/b.py").write_text("y = 1\n", encoding="utf-8")
    found = problems.helpers("import torch\nfrom suite.a import x\n", tmp_path / "r.py", tmp_path, set())
    assert set(found) == {"suite/__init__.py", "suite/a.py", "suite/b.py"}


def test_shims_come_with_the_names_that_need_them(tmp_path: Path) -> None:
    assert shims.shims_for("import torch") == []
    assert len(shims.shims_for("popcorn_pri.jitter_int(3)")) == 1
    broken = tmp_path / "s.py"
    broken.write_text("def (", encoding="utf-8")
    with pytest.raises(KbstatsError, match="shim"):
        shims.shims_for("", [broken])


def test_candidates_best_claim_first_and_only_what_can_be_run() -> None:
    duckdb = pytest.importorskip("duckdb")
    con = duckdb.connect()
    con.execute("""
        create table runs as select * from (values
            ('a', 's', 1, null, 1, 'p.py', 'm', 'M', 'fp32', 2.0, 'eager', 'H100', 'k1', 'w'),
            ('b', 's', 1, null, 2, 'q.py', 'm', 'M', 'fp32', 9.0, 'eager', 'H100', 'gone', 'w'),
            ('c', 's', 2, null, 3, 'r.py', 'n', 'N', 'fp32', 5.0, 'eager', 'H100', 'k1', 'v'),
            ('d', 's', 2, null, 3, 'r.py', 'n', 'N', 'fp32', 7.0, 'eager', 'H100', 'k1', 'v')
        ) t(run_id, suite, level, variant, problem_id, problem_name, model, model_raw, precision, speedup, baseline, hardware,
            submitted_kernel_sha256, sweep);
        create table kernels as select 'k1' as kernel_sha256, 'pass' as source_code;
        create table run_status as select
            run_id, true as attempted, if(run_id = 'a', ['x'], []) as blocks_speed, [] as blocks_correctness, [] as blocks_identity
        from runs;
        -- The board itself has its own tests: here it ranks what is not `d`.
        create macro ranked_runs(
            levels := null, variants := null, suites := null, sweeps := null, modes := null, models := null, hardwares := null,
            backends := null, precisions := null, trust := 'claimed', attempted_only := true
        ) as table
        select run_id, variant, problem_id, problem_name, speedup, run_id <> 'd' as counts_correct,
            if(run_id = 'd', 'incorrect', 'correct') as outcome
        from runs as r
        where
            (levels is null or list_contains(levels, r.level))
            and (models is null or list_contains(models, r.model) or list_contains(models, r.model_raw));
    """)
    sql = Path(__file__).resolve().parents[2] / "sql/models/verify_candidates.sql"
    con.execute(sql.read_text(encoding="utf-8"))
    rows = plan.candidates(con, plan.Selection())
    assert [(r["run_id"], r["kernel"]) for r in rows] == [("b", None), ("c", "pass"), ("a", "pass")]
    assert [r["run_id"] for r in plan.candidates(con, plan.Selection(levels=[2]))] == ["c"]
    assert [r["run_id"] for r in plan.candidates(con, plan.Selection(models=["M"]))] == ["b", "a"]
    assert [r["run_id"] for r in plan.candidates(con, plan.Selection(runs=["d"]))] == ["d"]
    assert [r["run_id"] for r in plan.candidates(con, plan.Selection(flagged=True))] == ["a"]
    drawn = [_left_out(con, plan.Selection(sample=2, seed=seed)) for seed in (1, 1, 2, 3, 4, 5)]
    assert drawn[0] == drawn[1]
    assert {len(d) for d in drawn} == {2}
    assert len({tuple(d) for d in drawn}) > 1
    made = plan.make(con, plan.Selection(), Path("/nowhere"), shim=(), precision=None, version="0")
    assert made.items == []
    assert "its source stands in no ingested file" in made.left_out[0]
    assert "no reference" in made.left_out[1]


def _left_out(con: object, chosen: plan.Selection) -> list[str]:
    made = plan.make(con, chosen, Path("/nowhere"), shim=(), precision=None, version="0")  # type: ignore[arg-type]
    return made.left_out
