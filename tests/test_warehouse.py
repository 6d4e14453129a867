"""The database file: what a stopped process leaves behind is finished by the next one; what changed is computed anew."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import duckdb
import pytest
from kbstats.analytics import warehouse
from kbstats.ingest import changes, hashing
from kbstats.ingest.pipeline import ingest
from kbstats.sql import catalog

DATA = Path(__file__).resolve().parent.parent / "data"
RUNS = DATA / "runs"
PAGE = Path(__file__).resolve().parent / "data/popcornbench_page/report/v/popcorn/t/model-y__l5_p3.html"


def board(con) -> int:
    return con.execute("select count(*) from board() where n > 0").fetchall()[0][0]


def test_an_ingest_stopped_before_its_end_is_finished_by_a_reader(tmp_path: Path) -> None:
    con = warehouse.open_write(tmp_path / "x.duckdb")
    ingest(con, [RUNS])
    assert warehouse.is_stale(con)
    con.close()  # stopped here: rows are committed, stored models are empty
    con = warehouse.open_read(tmp_path / "x.duckdb")
    assert board(con) == con.execute("select count(distinct model) from runs").fetchall()[0][0] == 4
    assert not warehouse.is_stale(con)
    con.close()


def test_and_by_an_ingest_that_finds_nothing_new(kbstats, tmp_path: Path) -> None:
    con = warehouse.open_write(tmp_path / "x.duckdb")
    ingest(con, [RUNS])
    con.close()
    p = kbstats("ingest", RUNS, "--db", tmp_path / "x.duckdb")
    assert p.returncode == 0
    con = duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True)
    assert board(con) == 4
    con.close()


def test_a_file_without_tables_is_a_new_one(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "x.duckdb")).close()
    con = warehouse.open_write(tmp_path / "x.duckdb")
    assert con.execute("select count(*) from runs").fetchall() == [(0,)]
    con.close()


def test_a_word_in_the_documentation_makes_nobody_rebuild(monkeypatch) -> None:
    before = catalog.digest("schema")
    files = catalog.sql_files("schema")
    reworded = tuple(catalog._parse("schema", f.name, f.sql.replace("-- ", "-- put better: ")) for f in files)
    changed = (*files[1:], catalog._parse("schema", "runs", files[0].sql.replace("varchar", "bigint", 1)))
    monkeypatch.setattr(catalog, "sql_files", lambda _kind: reworded)
    assert catalog.digest("schema") == before
    monkeypatch.setattr(catalog, "sql_files", lambda _kind: changed)
    assert catalog.digest("schema") != before


def same_as_a_full_one(con: duckdb.DuckDBPyConnection) -> None:
    for f in catalog.models():
        if f.stored:
            for a, b in ((f.name, f"{f.name}__source"), (f"{f.name}__source", f.name)):
                assert con.execute(f"from {a} except all from {b}").fetchall() == [], f.name


def beside(folder: Path, rng: random.Random, n: int) -> None:
    """Files of other formats that speak of the same runs: a table, a page, a problem, results of a verification."""
    what = rng.choice(["row", "page", "problem", "results", "gone"])
    extra = folder.parent / "beside"
    extra.mkdir(exist_ok=True)
    if what == "row":
        path = rng.choice(sorted(folder.rglob("*_trajectory.json")))
        run = json.loads(path.read_text())
        names = "folder,set_id,mode,task,problem_id,level,model_raw,model,correct,outcome,speedup,total_turns,wall_clock_s"
        models = (run["model_name"], f"other-{n}")
        table = [names.split(",")]
        table += [[run["run_name"], "s", "default", run["problem_name"][:-3], run["problem_id"], run["level"], m, m, "True", "correct", 2.5, run.get("total_turns"), run.get("agent_wall_clock_s")] for m in models]
        (extra / f"results{n % 2}.csv").write_text("".join(",".join(map(str, r)) + "\n" for r in table))
    elif what == "page":  # of a run that its trajectory times otherwise
        shutil.copy(PAGE, extra / PAGE.name)
        path = folder / "demo_gen3_all/popcorn/model-y/level_5_problem_3_trajectory.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        result = {"compiled": True, "correctness": True, "runtime": 0.03, "ref_runtime": 0.12}
        call = {"tool_name": "submit_kernel", "args": {"kernel_code": "class ModelNew: pass"}, "success": True}
        path.write_text(json.dumps({"problem_id": 3, "level": 5, "problem_name": "03_double.py", "run_name": "demo_gen3_all", "model_name": "model-y", "outcome": "correct", "turns": [{"turn_id": 0, "tool_calls": [call]}] * rng.randrange(1, 3), "final_result": result}))
    elif what == "problem":
        path = extra / f"KernelBench/level{rng.randrange(1, 5)}/{rng.randrange(1, 4)}_Some_Other.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"import torch\nclass Model(torch.nn.Module):\n    pass  # {n}\n\ndef get_inputs():\n    return []\n")
    elif what == "results":
        lines = (DATA / "verifications/h200.jsonl").read_text().splitlines()
        (extra / "verifications.jsonl").write_text("\n".join(rng.sample(lines, rng.randrange(1, len(lines)))) + "\n")
    elif files := sorted(p for p in extra.rglob("*") if p.is_file()):
        rng.choice(files).unlink()


def change(folder: Path, rng: random.Random, n: int) -> None:
    """Something of what happens to a folder of runs between two ingests."""
    files = sorted(folder.rglob("*_trajectory.json"))
    for path in rng.sample(files, 3):
        what = rng.choice(["gone", "verdict", "text", "kernel", "other name", "copy", "beside", "beside"])
        if what == "beside":
            beside(folder, rng, n)
            continue
        if what == "gone":
            path.unlink()
            continue
        run = json.loads(path.read_text())
        calls = [c for t in run["turns"] for c in t["tool_calls"] or ()]
        if what == "verdict":
            run["turns"] = run["turns"][: rng.randrange(len(run["turns"]) + 1)]
            run["outcome"] = rng.choice(["correct", "incorrect", "compile_fail", "timeout"])
        elif what == "text" and calls:
            call = rng.choice(calls)
            call["success"] = False
            call["result_text"] = rng.choice(["torchrun eval timed out after 60 s", "CUDA error: out of memory", "x"])
        elif what == "kernel" and calls:  # at times one that another run has sent, or will
            source = f"import torch\nclass ModelNew:\n    pass  # {n % 2}\ntorch.backends.cuda.matmul.allow_tf32 = True\n"
            rng.choice(calls)["args"] = {"kernel_code": source}
        elif what == "other name":
            run["model_name"] = f"model-{n}"
        elif what == "copy":
            to = path.parent.parent / f"copy{n}" / path.name
            to.parent.mkdir(exist_ok=True)
            to.write_text(json.dumps(run))
            continue
        path.write_text(json.dumps(run))


@pytest.mark.parametrize("seed", range(2))
def test_what_changed_is_computed_as_if_everything_were(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    folder = tmp_path / "runs"
    shutil.copytree(RUNS, folder)
    con = warehouse.open_write(tmp_path / "x.duckdb", models=False)
    partly = 0
    beside(folder, rng, 0)
    for n in range(4):
        ingest(con, [tmp_path], prune=True)
        changed = changes.take(con)
        partly += changed is not None and n > 0
        warehouse.refresh(con, changed)
        same_as_a_full_one(con)
        change(folder, rng, n)
    assert partly == 3, "this is about refreshing a part"
    con.close()


def test_a_refresh_that_does_not_fit_into_its_memory_takes_more(tmp_path: Path, monkeypatch) -> None:
    con = warehouse.open_write(tmp_path / "x.duckdb", models=False)
    ingest(con, [RUNS])
    before = con.execute("select current_setting('memory_limit')").fetchall()
    monkeypatch.setattr(warehouse, "REFRESH_MB", 1)
    warehouse.refresh(con)
    assert con.execute("select current_setting('memory_limit')").fetchall() == before
    assert not warehouse.is_stale(con)
    same_as_a_full_one(con)
    con.close()


def test_a_kernel_whose_text_comes_with_another_run_is_looked_at(tmp_path: Path) -> None:
    con = warehouse.open_write(tmp_path / "x.duckdb")
    source = "class ModelNew: pass"
    sha = hashing.source_sha256(source)
    first, second = (sorted((RUNS).rglob("*_trajectory.json"))[i] for i in (0, 1))
    ingest(con, [first])
    con.execute("update runs set submitted_kernel_sha256 = ?", [sha])
    warehouse.refresh(con)
    run = json.loads(second.read_text())
    run["turns"][0]["tool_calls"] = [{"tool_name": "compile_kernel", "args": {"kernel_code": source}, "success": True}]
    path = tmp_path / second.name
    path.write_text(json.dumps(run))
    changes.take(con)
    ingest(con, [path])
    warehouse.refresh(con, changes.take(con))
    assert con.execute("select mark from kernel_marks where kernel_sha256 = ?", [sha]).fetchall()
    same_as_a_full_one(con)
    con.close()


def test_an_ingest_that_was_stopped_half_way_makes_the_next_refresh_a_full_one(tmp_path: Path) -> None:
    con = warehouse.open_write(tmp_path / "x.duckdb")
    runs = sorted(RUNS.rglob("*_trajectory.json"))
    ingest(con, runs[:1])
    con.close()
    con = warehouse.open_write(tmp_path / "x.duckdb")
    ingest(con, runs[1:2])
    assert changes.take(con) is None
    con.close()
