"""What is published besides pages: tables, the database, addresses; and what must hold before it is."""

from __future__ import annotations

import csv
import re
import shutil

import duckdb
import pyarrow.parquet as pq
import pytest
from kbstats.ingest.errors import KbstatsError, UsageError
from kbstats.site import export, redact
from kbstats.site.build import build

from .conftest import Db
from .test_build import files


def test_tables_are_whole_and_ordered(full_db, full_site):
    con = duckdb.connect(str(full_db), read_only=True)
    for table in export.published():
        n = con.execute(f"select count(*) from {table.name}").fetchone()[0]
        parquet = full_site / table.files[0]
        assert pq.read_table(parquet).num_rows == n, table.name
        for path in table.files[1:]:
            with (full_site / path).open(newline="") as f:
                assert len(list(csv.reader(f))) == n + 1, table.name
    runs = pq.read_table(full_site / "data/runs.parquet").column("run_id").to_pylist()
    assert runs == sorted(runs)
    con.close()


def test_every_table_is_on_the_data_page_with_its_columns(full_site):
    from kbstats.sql.describe import tables

    page = (full_site / "data.html").read_text()
    for t in tables():
        if t.name in export.OWN:
            continue
        assert f'id="columns-{t.name}"' in page
        for c in t.columns:
            assert c.name in page


def test_tables_hide_what_the_pages_hide(tmp_path):
    db = Db(tmp_path / "h.duckdb")
    secret = "ghp_" + "a1" * 18
    db.run("r", model="m-of-alice@example.com", extra={"note": f"/scratch/user/x {secret}"})
    db.turn(
        "r",
        0,
        result=f"/scratch/user/KB failed; token {secret} \x1b[31mred\u202e",
        reasoning="=1+1 from C:\\Users\\bob\\x",
    )
    path = db.close()
    build(path, tmp_path / "out")
    data = b"".join(v for k, v in files(tmp_path / "out").items() if k.startswith("data/"))
    rows = pq.read_table(tmp_path / "out/data/tool-calls.parquet").to_pylist()
    assert rows[0]["result_text"] == "[home]/KB failed; token [token] red⟦U+202E⟧"
    for private in (secret, "/scratch/user", "alice@example.com", "Users\\bob"):
        assert private.encode() not in data, private
    build(path, tmp_path / "shown", redact=False)
    assert secret in pq.read_table(tmp_path / "shown/data/tool-calls.parquet").to_pylist()[0]["result_text"]


def test_a_spreadsheet_takes_no_text_for_a_formula(tmp_path):
    db = Db(tmp_path / "h.duckdb")
    db.run("r", model='=HYPERLINK("x")')
    build(db.close(), tmp_path / "out")
    with (tmp_path / "out/data/runs.csv").open(newline="") as f:
        assert next(csv.DictReader(f))["model"] == '\'=HYPERLINK("x")'


def test_the_database_only_where_nothing_is_hidden(full_db, tmp_path):
    with pytest.raises(UsageError, match="would publish what the pages hide"):
        build(full_db, tmp_path / "out", include_db=True)
    assert not (tmp_path / "out").exists()
    build(full_db, tmp_path / "out", include_db=True, redact=False)
    assert (tmp_path / "out/data/kbstats.duckdb").read_bytes() == full_db.read_bytes()
    assert 'href="data/kbstats.duckdb"' in (tmp_path / "out/data.html").read_text()


def test_gates(full_db, tmp_path, kbstats):
    out = tmp_path / "out"
    with pytest.raises(KbstatsError, match="no re-run confirmed; nothing was written"):
        build(full_db, out, require_verified=True)
    with pytest.raises(KbstatsError, match="carry the finding occupancy_over_100"):
        build(full_db, out, fail_on=("occupancy_over_100",))
    with pytest.raises(UsageError, match="no such finding"):
        build(full_db, out, fail_on=("nonsense",))
    assert not out.exists()
    p = kbstats("site", "build", "--db", full_db, "-o", out, "--fail-on", "occupancy_over_100")
    assert (p.returncode, len(p.stderr.splitlines())) == (1, 1), p.stderr
    p = kbstats("site", "build", "--db", full_db, "-o", out, "--fail-on", "nonsense")
    assert p.returncode == 2
    assert not out.exists()
    build(full_db, out, fail_on=("time_travel",))
    assert (out / "index.html").is_file()


def test_a_base_url_names_pages_and_loads_nothing(full_db, tmp_path):
    out = tmp_path / "out"
    build(full_db, out, base_url="https://example.org/board/")
    page = (out / "index.html").read_text()
    assert '<link rel="canonical" href="https://example.org/board/index.html">' in page
    assert not re.search(r'src="https?:', page)
    assert "https://example.org/board/models/model-a.html" in (out / "sitemap.txt").read_text().split()
    with pytest.raises(UsageError, match="not an address"):
        build(full_db, tmp_path / "other", base_url="javascript:alert(1)")


def test_another_machine_publishes_the_same_bytes(full_db, full_site, tmp_path, monkeypatch):
    monkeypatch.setattr("kbstats.site.context.own_names", lambda: ["somebody-else", "another-host"])
    build(full_db, tmp_path / "out", title="Test board")
    assert files(tmp_path / "out") == files(full_site)


def test_a_name_of_the_machine_is_hidden_where_the_text_holds_it(tmp_path, monkeypatch):
    monkeypatch.setattr("kbstats.site.context.own_names", lambda: ["gpu-box-17"])
    db = Db(tmp_path / "h.duckdb")
    db.run("r")
    db.turn("r", 0, result="connected to gpu-box-17 at once")
    build(db.close(), tmp_path / "out")
    text = b"".join(v for k, v in files(tmp_path / "out").items() if k.endswith((".html", ".js", ".csv")))
    assert b"gpu-box-17" not in text
    assert b"connected to [name] at once" in text


def test_two_processes_write_what_one_does(wide_db, tmp_path, monkeypatch):
    monkeypatch.setattr("kbstats.site.workers.LEAST", 10)
    monkeypatch.setattr("kbstats.site.pages.runs.RunPage.batch", 4)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    one = build(wide_db, tmp_path / "one", parallel=False)
    two = build(wide_db, tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert (one.written, one.hidden) == (two.written, two.hidden)
    again = build(wide_db, tmp_path / "two")
    assert again.written == 0


def test_a_run_page_stays_light_at_any_length(tmp_path):
    import gzip

    db = Db(tmp_path / "long.duckdb")
    db.run("r", n_turns=300)
    for n in range(300):
        db.turn("r", n, tool="run_correctness", ok=n % 7 == 0, kernel=db.kernel(f"import torch\nx = {n}\n" * (5 + n % 40)),
            result=f"run_correctness FAILED {n} " + "word " * 300, reasoning="thought " * 200, errors=[(n % 9 + 1, f"error {n}")])  # fmt: skip
    out = tmp_path / "out"
    build(db.close(), out)
    runs = [p for p in (out / "runs").glob("*.html") if not re.search(r"-turns?-\d+\.html$", p.name)]
    text = runs[0].read_text()
    assert len(re.findall(r"<[a-z]", text)) <= 1_500
    assert len(gzip.compress(text.encode())) <= 60_000
    assert len(text) <= 150_000
    for n in range(300):
        assert f'id="turn-{n}"' in text
    from .test_build import check_page, html

    for name, page in html(out).items():
        check_page(name, page, out)


def test_own_names_are_not_everybodys(monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "root")
    monkeypatch.setattr("socket.gethostname", lambda: "box-3")
    assert redact.own_names() == ["box-3"]


def test_a_killed_build_leaves_nothing_in_the_way(full_db, tmp_path):
    out = tmp_path / "out"
    build(full_db, out)
    (out / "index.html.part").write_text("half")
    (out / "index.html").unlink()
    build(full_db, out)
    assert not list(out.rglob("*.part"))
    shutil.rmtree(out)
