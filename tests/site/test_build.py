"""The whole site from small databases: links, determinism, what is rewritten, what is never touched."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from kbstats.analytics import warehouse
from kbstats.ingest.errors import KbstatsError, UsageError
from kbstats.site import pages
from kbstats.site.build import build
from kbstats.site.output import MANIFEST, Folder
from kbstats.site.serve import server


class Tags(HTMLParser):
    """Every tag with its attributes."""

    def __init__(self, text: str):
        super().__init__()
        self.all: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.all.append((tag, dict(attrs)))


def files(out: Path) -> dict[str, bytes]:
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}


def html(out: Path) -> dict[str, str]:
    return {k: v.decode() for k, v in files(out).items() if k.endswith(".html")}


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def check_page(name: str, page: str, out: Path) -> None:
    """No foreign request, no inline script or style, every local link and anchor resolves."""
    tags = Tags(page).all
    for tag, attrs in tags:
        assert not {a for a in attrs if a == "style" or a.startswith("on")}, (name, tag, attrs)
        assert tag not in ("style", "iframe", "object", "embed", "base", "form"), (name, tag)
        assert tag != "script" or attrs.get("src"), name
        for key in ("href", "src"):
            url = attrs.get(key)
            if not url or url == "data:,":
                continue
            assert re.fullmatch(r"[A-Za-z0-9_./?=&%#+-]*", url), (name, url)
            path, _, fragment = url.partition("#")
            target = (out / name).parent / unquote(path) if path else out / name
            assert target.is_file(), (name, url)
            if fragment and "?" not in fragment and target.suffix == ".html":
                assert f'id="{unquote(fragment)}"' in target.read_text(), (name, url)
    assert "default-src 'none'" in page
    ids = [a["id"] for _, a in tags if a.get("id")]
    assert len(ids) == len(set(ids)), (name, sorted(i for i in ids if ids.count(i) > 1))


def test_every_page_kind_is_built_and_every_link_resolves(full_site):
    built = html(full_site)
    for name, page in built.items():
        check_page(name, page, full_site)
    kinds = {n.partition("/")[0] for n in built}
    assert kinds >= {
        "index.html",
        "levels",
        "models",
        "problems",
        "runs",
        "kernels",
        "failures.html",
        "audit.html",
        "verification.html",
        "verifications",
        "methodology.html",
        "data.html",
    }
    assert len([p for p in pages.registry() if p.nav]) == 6


def test_the_front_page_has_the_three_levels_side_by_side(full_site):
    page = text_of(html(full_site)["index.html"])
    assert "4 runs of 2 models on 3 problems, 2026-05-04, on NVIDIA H200." in page
    assert "3 of 4 runs claimed correct" in page
    assert "of the claims re-run and right" in page
    assert "<svg" in html(full_site)["index.html"]


def test_a_run_page_says_what_the_founding_page_could_not(full_site):
    page = next(v for k, v in html(full_site).items() if k.startswith("runs/l1-p1-model-a"))
    text = text_of(page)
    assert "Claims 2.00×." in text
    assert "measured 1.90× (1.80× to 2.00×) against eager" in text
    assert "nvcc error cuda.cu:49 identifier &#34;foo&#34; is undefined" in text
    assert "candidate reference runtime mean 10 µs 20 µs" in text  # microseconds, candidate and reference in one line
    assert "occupancy occupancy over 100 250 %" in text  # the finding stands at the number
    assert "memory peak 2.0 MiB" in text
    assert "Brand new" in text  # a metric nobody declared a group for appears by itself
    assert "__global__" in page
    assert "draws at least one dimension" in text
    assert 'id="turn-1"' in page


def test_an_annotation_and_a_refusal_are_shown(full_site):
    built = html(full_site)
    assert "measured the empty stream" in next(v for k, v in built.items() if k.startswith("runs/l1-p1-model-b"))
    refused = next(v for k, v in built.items() if k.startswith("verifications/2-scale"))
    assert "INCORRECT" in refused
    assert "wrong result at input [13, 64]: expected torch.Size([13, 64])" in text_of(refused)
    overview = built["verification.html"]
    assert overview.index("INCORRECT") < overview.index("CONFIRMED")  # refusals first


def test_the_data_page_names_a_damaged_file_below_its_root_alone(full_site):
    page = html(full_site)["data.html"]
    assert "the file ends in the middle of an object" in page
    assert "half.json" in page
    assert not any("/data/traces" in v for v in html(full_site).values())


def test_methodology_comes_from_the_code(full_site):
    from kbstats.analytics import taxonomy
    from kbstats.sql.catalog import sql_files

    page = html(full_site)["methodology.html"]
    for f in (*sql_files("audits"), *sql_files("models")):
        assert f.name in page
    for c in taxonomy.classes():
        assert c["id"] in page


def test_two_builds_are_byte_identical(full_db, full_site, tmp_path):
    build(full_db, tmp_path / "again", title="Test board")
    assert files(tmp_path / "again") == files(full_site)


def test_a_second_build_writes_nothing(full_db, tmp_path):
    out = tmp_path / "out"
    build(full_db, out)
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()}
    report = build(full_db, out)
    assert (report.written, report.removed) == (0, 0)
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()} == before


def test_one_changed_run_rewrites_what_depends_on_it(full_db, tmp_path):
    db, out = tmp_path / "copy.duckdb", tmp_path / "out"
    shutil.copy(full_db, db)
    build(db, out)
    before = files(out)
    con = warehouse.open_write(db)
    con.execute(
        "update tool_calls set result_text = 'submit_kernel PASSED: changed words' where run_id = 'run-good' and turn = 1"
    )
    warehouse.refresh(con)
    con.close()
    report = build(db, out)
    after = files(out)
    changed = sorted(k for k in after if before.get(k) != after[k])
    run = next(k for k in after if k.startswith("runs/l1-p1-model-a"))
    assert [k for k in changed if k != MANIFEST] == ["data/tool-calls.parquet", run]
    assert report.written == 2


def test_pages_of_a_run_that_is_gone_are_removed(full_db, tmp_path):
    db, out = tmp_path / "copy.duckdb", tmp_path / "out"
    shutil.copy(full_db, db)
    build(db, out)
    (out / "CNAME").write_text("board.example\n")
    con = warehouse.open_write(db)
    con.execute("delete from runs where run_id = 'run-three'")
    warehouse.refresh(con)
    con.close()
    report = build(db, out)
    assert report.removed == 3  # the run with its data for comparisons, and its problem
    assert not list((out / "runs").glob("l1-p3-*"))
    assert (out / "CNAME").read_text() == "board.example\n"
    for name, page in html(out).items():
        check_page(name, page, out)


def test_a_folder_of_somebody_else_is_refused(full_db, tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="not a kbstats site"):
        build(full_db, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
    build(full_db, tmp_path, force=True)
    assert (tmp_path / "thesis.tex").read_text() == "x"
    assert (tmp_path / "index.html").is_file()


def test_a_forged_manifest_removes_nothing_outside(tmp_path):
    (tmp_path / "out").mkdir()
    victim = tmp_path / "victim.html"
    victim.write_text("x")
    units = {
        "u": {
            "key": None,
            "files": {"../victim.html": "0", "/etc/hostname": "0", "a/../../victim.html": "0"},
            "hidden": {},
        }
    }
    (tmp_path / "out" / MANIFEST).write_text(json.dumps({"format": 1, "units": units}))
    Folder(tmp_path / "out").close({})
    assert victim.read_text() == "x"


def test_nothing_is_written_through_a_link(full_db, tmp_path):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    build(full_db, out)
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("x")
    (out / "index.html").unlink()
    (out / "index.html").symlink_to(elsewhere / "precious")
    build(full_db, out)
    assert (elsewhere / "precious").read_text() == "x"
    assert not (out / "index.html").is_symlink()
    shutil.rmtree(out / "models")
    (out / "models").symlink_to(elsewhere)
    with pytest.raises(KbstatsError, match="leads outside"):
        build(full_db, out)
    assert [p.name for p in elsewhere.iterdir()] == ["precious"]


def test_a_damaged_manifest_is_one_line(full_db, tmp_path):
    build(full_db, tmp_path / "out")
    (tmp_path / "out" / MANIFEST).write_text("{")
    with pytest.raises(UsageError, match="manifest is damaged"):
        build(full_db, tmp_path / "out")


def test_an_empty_database(tmp_path):
    warehouse.open_write(tmp_path / "empty.duckdb").close()
    build(tmp_path / "empty.duckdb", tmp_path / "out")
    assert "No runs yet." in (tmp_path / "out/index.html").read_text()
    for name, page in html(tmp_path / "out").items():
        check_page(name, page, tmp_path / "out")


def test_the_command(kbstats, full_db, tmp_path):
    p = kbstats("site", "build", "--db", full_db, "-o", tmp_path / "out", "--title", "A <b>title")
    assert p.returncode == 0, p.stderr
    assert p.stdout == ""
    assert p.stderr.splitlines()[-1].endswith("index.html")
    assert "files written" in p.stderr
    assert "A &lt;b&gt;title" in (tmp_path / "out/index.html").read_text()
    p = kbstats("site", "build", "--db", tmp_path / "none.duckdb", "-o", tmp_path / "out2")
    assert (p.returncode, len(p.stderr.splitlines())) == (1, 1)
    (tmp_path / "x").mkdir()
    (tmp_path / "x/y").touch()
    assert kbstats("site", "build", "--db", full_db, "-o", tmp_path / "x").returncode == 2


def test_serve_listens_on_this_machine_alone(full_site, tmp_path):
    with server(full_site, 0) as httpd:
        assert httpd.server_address[0] == "127.0.0.1"
    with pytest.raises(UsageError, match="no site"):
        server(tmp_path, 0)


def test_charts_fit_a_phone_and_the_page_of_re_runs_counts_claims(full_site):
    pages_ = html(full_site)
    widths = [int(w) for p in pages_.values() for w in re.findall(r'<svg class="chart"[^>]* width="(\d+)', p)]
    assert widths
    assert max(widths) <= 480  # shown at three quarters, 12 px letters can still be read
    text = text_of(pages_["verification.html"])
    found = re.search(
        r"Of (\d+) runs claimed correct: (\d+) refuted ?\((\d+) not right, (\d+) right and not as fast as claimed\), "
        r"(\d+) confirmed ?, (\d+) re-run without a decision, (\d+) not re-run\.",
        text,
    )
    assert found
    claimed, refuted, wrong, slow, confirmed, undecided, waiting = map(int, found.groups())
    assert refuted == wrong + slow
    assert claimed == refuted + confirmed + undecided + waiting == 3
