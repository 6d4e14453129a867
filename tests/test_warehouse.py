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

RUNS = Path(__file__).resolve().parent.parent / "data" / "runs"


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


def change(folder: Path, rng: random.Random, n: int) -> None:
    """Something of what happens to a folder of runs between two ingests."""
    files = sorted(folder.rglob("*_trajectory.json"))
    for path in rng.sample(files, 3):
        what = rng.choice(["gone", "verdict", "text", "kernel", "other name", "copy"])
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
        elif what == "kernel" and calls:
            source = f"import torch\nclass ModelNew:\n    pass  # {n}\ntorch.backends.cuda.matmul.allow_tf32 = True\n"
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
    for n in range(4):
        ingest(con, [folder], prune=True)
        changed = changes.take(con)
        partly += changed is not None and n > 0
        warehouse.refresh(con, changed)
        same_as_a_full_one(con)
        change(folder, rng, n)
    assert partly == 3, "this is about refreshing a part"
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
