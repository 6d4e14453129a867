"""The warehouse in a notebook: frames say what the commands say, and slips are told with what there is."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "how-to" / "notebook.ipynb"


@pytest.fixture(scope="module")
def path(tmp_path_factory, kbstats) -> Path:
    """A database of the samples that come with kbstats."""
    found = tmp_path_factory.mktemp("notebook") / "kbstats.duckdb"
    p = kbstats("ingest", ROOT / "data" / "runs", ROOT / "data" / "verifications", "--db", found)
    assert p.returncode == 0, p.stderr
    return found


@pytest.fixture
def db(path: Path):
    import kbstats.analytics as kb

    with kb.connect(path) as found:
        yield found


def quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def test_each_method_gives_a_polars_frame_that_says_what_the_command_says(db, path: Path, kbstats) -> None:
    import polars as pl

    models = quiet(db.leaderboard)["model"].sort().to_list()
    frames = {
        ("leaderboard", "--level", 3, "--trust", "audited"): lambda: db.leaderboard(level=3, trust="audited"),
        ("leaderboard", "--by", "run", "--trust", "verified"): lambda: db.runs(trust="verified"),
        ("failures", "--by", "owner"): lambda: db.failures(by="owner"),
        ("failures", "--runs"): lambda: db.failures(by="run"),
        ("audit", "--by", "model", "--severity", "error"): lambda: db.audit(by="model", severity="error"),
        ("audit",): db.audit,
        ("sql", "select model, count(*) as n from runs group by all order by 1"): lambda: db.sql(
            "select model, count(*) as n from runs group by all order by 1"
        ),
    }
    got = {command: quiet(call) for command, call in frames.items()}
    pairs = quiet(lambda: db.compare(models[0], models[1]))
    total = quiet(lambda: db.compare(models[0], models[1], rows="total"))
    levels = quiet(lambda: db.compare(models[0], models[1], rows="level"))
    db.close()
    for command, frame in got.items():
        assert isinstance(frame, pl.DataFrame)
        want = json.loads(kbstats(*command, "--db", path, "--format", "json").stdout)
        assert want
        assert json.loads(json.dumps(frame.to_dicts(), default=str)) == want, command
    want = json.loads(kbstats("compare", models[0], models[1], "--db", path, "--format", "json").stdout)
    assert pairs.to_dicts() == want["pair_rows"]
    assert levels.to_dicts() == want["by_level"]
    assert total.to_dicts() == [{k: v for k, v in want.items() if not isinstance(v, list)}]


def test_one_value_or_several(db) -> None:
    one = quiet(lambda: db.leaderboard(level=3))
    assert one.equals(quiet(lambda: db.leaderboard(level=[3])))
    both = quiet(lambda: db.runs(level=(1, 3)))
    assert set(both["level"]) == {1, 3}


def test_sql_binds_arguments_and_keeps_types(db) -> None:
    import polars as pl

    frame = db.sql("select count(*) as n, max(finished_at) as at from runs where level = $level", level=3)
    assert frame.schema["n"] == pl.Int64
    assert str(frame.schema["at"]).startswith("Datetime")
    hostile = db.sql("select $x as x", x="'; drop table runs --")
    assert hostile["x"].to_list() == ["'; drop table runs --"]


def test_notes_of_a_board_are_warnings(tmp_path: Path) -> None:
    import kbstats.analytics as kb
    from kbstats.analytics import warehouse

    con = warehouse.open_write(tmp_path / "x.duckdb")
    for i, gpu in enumerate(["NVIDIA H100", "NVIDIA H200"]):
        con.execute(
            "insert into runs by name select ? as run_id, 's' as source_id, 'popcornbench' as format, 'kb' as suite, "
            "1 as level, 1 as problem_id, 'm' as model, 'correct' as source_outcome, true as correct, ? as hardware",
            [f"r{i}", gpu],
        )
    warehouse.refresh(con)
    con.close()
    with kb.connect(tmp_path / "x.duckdb") as db, pytest.warns(kb.BoardNote, match="H100"):
        db.leaderboard()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda db: db.leaderboard(level=9), "there are 1, 2, 3"),
        (lambda db: db.leaderboard(model="nobody"), "sample-a"),
        (lambda db: db.leaderboard(trust="proven"), "claimed, audited, verified"),
        (lambda db: db.leaderboard(by="colour"), "problem"),
        (lambda db: db.leaderboard(sort="beauty"), "geomean_speedup"),
        (lambda db: db.leaderboard(baseline="magic"), "eager"),
        (lambda db: db.failures(by="colour"), "owner"),
        (lambda db: db.failures(level=9), "there are"),
        (lambda db: db.audit(code="label_conflct"), "label_conflict"),
        (lambda db: db.audit(severity="grave"), "warning"),
        (lambda db: db.audit(by="colour"), "finding"),
        (lambda db: db.compare("nobody", "sample-a"), "kbstats leaderboard"),
        (lambda db: db.compare("sample-a", "sample-b", rows="all"), "pair"),
        (lambda db: db.run("nobody L9 P9"), "kbstats leaderboard --by run"),
        (lambda db: db.sql("select modell from runs"), "model"),
        (lambda db: db.sql("selekt"), "does not parse"),
        (lambda db: db.sql("select 1; select 2"), "one query"),
    ],
)
def test_a_slip_is_told_with_what_there_is(db, call, words: str) -> None:
    import kbstats.analytics as kb

    with pytest.raises(kb.KbstatsError, match=words):
        call(db)


@pytest.mark.parametrize(
    "query",
    ["drop table runs", "copy runs to 'x.csv'", "from '/etc/passwd'", "from read_text('/etc/passwd')", "attach 'y.duckdb'"],
)
def test_a_notebook_reads_the_database_and_nothing_else(db, path: Path, query: str) -> None:
    import kbstats.analytics as kb

    before = path.read_bytes()
    with pytest.raises(kb.KbstatsError, match=r"failed|parse"):
        db.sql(query)
    assert path.read_bytes() == before


def test_no_database_and_a_closed_one(tmp_path: Path, path: Path, monkeypatch) -> None:
    import kbstats.analytics as kb

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KBSTATS_DB", raising=False)
    with pytest.raises(kb.KbstatsError, match="kbstats ingest"):
        kb.connect()
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("KBSTATS_DB", str(path))
    db = kb.connect()
    assert "runs from" in repr(db)
    db.close()
    db.close()
    assert "closed" in repr(db)
    with pytest.raises(kb.KbstatsError, match="connect again"):
        db.leaderboard()


def test_one_run_by_words(db) -> None:
    row = quiet(lambda: db.runs(level=3)).row(0, named=True)
    assert db.run(row["run_id"])["run"]["model"] == row["model"]


def test_what_is_offered_is_listed_and_nothing_heavy_is_loaded() -> None:
    code = "import kbstats.analytics as kb, sys; assert {'connect', 'KbstatsError'} <= set(dir(kb)); print('duckdb' in sys.modules)"
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert p.stdout == "False\n"
    import kbstats.analytics as kb

    with pytest.raises(AttributeError, match="nothing_such"):
        kb.nothing_such  # noqa: B018


def test_the_example_notebook_runs(path: Path, tmp_path: Path) -> None:
    """As a kernel runs it: cell by cell in one namespace, the last expression of a cell shown."""
    cells = [c for c in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    assert all(not c["outputs"] and c["execution_count"] is None for c in cells)  # nobody's machine is published
    script = []
    for c in cells:
        tree = ast.parse("".join(c["source"]))
        if tree.body and isinstance(last := tree.body[-1], ast.Expr):
            tree.body[-1] = ast.fix_missing_locations(
                ast.Expr(ast.Call(ast.Name("print", ast.Load()), [last.value], []))
            )
        script.append(ast.unparse(tree))
    env = {"KBSTATS_DB": str(path), "PATH": "", "HOME": str(tmp_path), "POLARS_FMT_MAX_COLS": "20", "COLUMNS": "200"}
    p = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(script)], capture_output=True, text=True, env=env, cwd=tmp_path
    )
    assert p.returncode == 0, p.stderr
    for word in ("sample-a", "withdrawn", "runs_ended", "label_conflict", "verified", "submit_kernel"):
        assert word in p.stdout, word
