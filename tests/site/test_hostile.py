"""Text that attacks stays text, in every place a trace can put it, through the whole build."""

from __future__ import annotations

import re

import pytest
from kbstats.site.build import build

from .conftest import Db, insert
from .test_build import check_page, files, html

PAYLOADS = {
    "script": "</script><script>window.pwned=1</script>",
    "attribute": "\" autofocus onfocus=window.pwned=1 x='",
    "elements": "<img src=x onerror=window.pwned=1><svg/onload=window.pwned=1>]]><![CDATA[ --><script>window.pwned=1</script><!-- "
    "</title></pre></style></textarea><script>window.pwned=1</script>"
    '<meta http-equiv=refresh content="0;url=https://evil.example"><base href="https://evil.example/">'
    "<math><mtext><table><mglyph><style><!--</style></SCRIPT\t></script >",
    "link": "[x](javascript:window.pwned=1) javascript:window.pwned=1 <a href=javascript:window.pwned=1>",
    "template": "{{ 7*7 }}{% raw %}{{ site.con }}${7*7} %s %n {0} {x!r} \\x3cscript\\x3e &lt;script&gt; &#60;",
    "hidden": "\x1b[31mred\x1b[0m\x1b]8;;javascript:1\x07x\x9b31m abc\u202efdp.exe\u2066\u200b a\u2028b\u2029c\r\nd",
    "path": '../../../../etc/passwd%2f..%2f..\\..\\evil\x00 CON.txt:a*?"<>|#frag?q=1&b=2;c=%00 \t.. __proto__',
}


def hostile(path, bad: str):
    """Every column of text in every table holds the payload."""
    db = Db(path)
    bad_key = bad.replace("\x00", "")
    kernel = f"x = '''{bad}'''\n__global__ void k() {{}} // {bad}\n"
    insert(db.con, "kernels", kernel_sha256="a" * 64, source_code=kernel, language=bad, n_lines=2, n_chars=len(kernel))
    s = db.source(path=f"/home/eve/{bad_key}", root="/home/eve")
    insert(
        db.con,
        "problems",
        source_id=s,
        suite=bad,
        level=1,
        problem_name=bad + ".py",
        source_code=f"# {bad}",
        source_sha256="b",
        variant=bad,
    )
    for run_id in (bad_key, bad_key + "2"):
        db.run(
            run_id,
            model=bad,
            problem_id=1,
            kernel="a" * 64,
            suite=bad,
            sweep=bad,
            variant=bad,
            mode=bad,
            harness=bad,
            backend=bad,
            precision=bad,
            hardware=bad,
            problem_name=bad + ".py",
            source_outcome=bad,
            baseline=bad,
            extra={bad: bad},
        )
        db.turn(
            run_id,
            0,
            tool=bad,
            ok=False,
            kernel="a" * 64,
            result=bad,
            reasoning=bad,
            errors=[(1, bad)],
            args={bad: bad},
        )
        db.metric(run_id, bad, 1.0, bad, source=bad)
        insert(db.con, "timeouts", run_id=run_id, turn=0, seq=0, scope=bad, message=bad)
    insert(db.con, "messages", run_id=bad_key, turn=0, seq=1, kind="user", text=bad)
    insert(
        db.con,
        "verifications",
        verification_id=bad,
        source_id=s,
        kernel_sha256="a" * 64,
        suite=bad,
        level=1,
        variant=bad,
        problem_name=bad + ".py",
        precision=bad,
        verdict=bad,
        correctness="failed",
        speed=bad,
        gate=bad,
        witness={bad: bad},
        badges=[bad],
        speedup=1.0,
        speedup_lo=0.9,
        speedup_hi=1.1,
        claimed_speedup=2.0,
        baseline=bad,
        device=bad,
        gpu_model=bad,
        protocol=bad,
        document={"machine": {bad: bad}},
    )
    insert(
        db.con, "verification_checks", verification_id=bad, source_id=s, gate=bad, passed=False, n=1, detail={bad: bad}
    )
    insert(
        db.con,
        "verification_timings",
        verification_id=bad,
        source_id=s,
        baseline=bad,
        pair=0,
        ref_us=1.0,
        cand_us=1.0,
        kept=True,
        clock_mhz=1.0,
    )
    insert(db.con, "ingest_issues", source_id=s, path=bad, severity=bad, code=bad, message=bad, location=bad)
    insert(db.con, "annotations", source_id=s, run_id=bad_key, verdict=bad, text=bad, author=bad)
    return db.close()


@pytest.mark.parametrize("kind", PAYLOADS)
def test_stays_text(kind, tmp_path):
    bad = PAYLOADS[kind]
    out = tmp_path / "deep/er/out"
    build(hostile(tmp_path / "h.duckdb", bad), out, title=bad)
    written = {p for p in tmp_path.rglob("*") if p.is_file()} - {tmp_path / "h.duckdb"}
    assert all(out in p.parents for p in written)
    for name, data in files(out).items():
        if re.fullmatch(r"data/[a-z-]+\.parquet", name):
            continue
        text = data.decode("utf-8")
        if name != "kbstats-site.json":
            assert re.fullmatch(r"(?:[a-z0-9-]+/)?[a-z0-9-]+\.(?:html|css|js|txt|csv)", name), name
        if name.endswith(".txt"):
            continue
        if name.endswith(".csv"):  # data: no markup to escape from, but nothing hidden either
            assert not re.search(
                "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202e\u2066]", text.replace("\r\n", "\n")
            ), name
            continue
        assert "<script>window.pwned" not in text, name
        assert "<img src=x" not in text, name
        assert "<svg/onload" not in text, name
        assert 'href="javascript:' not in text, name
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202e\u2066]", text), name
    built = html(out)
    for name, page in built.items():
        check_page(name, page, out)
    if "pwned" in bad:
        assert any("window.pwned" in p for p in built.values())  # shown, escaped
    if kind == "template":
        assert not any("49{%" in p for p in built.values())
        assert any("{{ 7*7 }}" in p for p in built.values())


def test_a_huge_text_stands_in_a_file_of_its_own(tmp_path):
    db = Db(tmp_path / "h.duckdb")
    line = "<script>" + "z" * 3_000_000 + " /home/alice/x"
    db.run("r")
    db.turn("r", 0, result=line)
    out = tmp_path / "out"
    build(db.close(), out)
    texts = list((out / "texts").iterdir())
    assert [t.read_text() for t in texts] == [line.replace("/home/alice", "[home]")]
    assert max(len(p) for p in html(out).values()) < 200_000


def test_long_turns_move_to_pages_of_their_own(tmp_path):
    db = Db(tmp_path / "h.duckdb")
    db.run("r")
    for n in range(12):
        db.turn("r", n, result=f"turn {n} " + "word " * 3_000, reasoning="thought " * 500)
    out = tmp_path / "out"
    build(db.close(), out)
    built = html(out)
    run = next(v for k, v in built.items() if k.startswith("runs/") and "-turn-" not in k)
    parts = [k for k in built if "-turn-" in k]
    assert len(run) < 150_000
    assert parts
    for n in range(12):  # nothing is lost: each turn's text stands on exactly one page
        assert (
            sum(
                f"turn {n} word" in re.sub(r"<summary>.*?</summary>", "", v)
                for k, v in built.items()
                if k.startswith("runs/")
            )
            >= 1
        )
    for name, page in built.items():
        check_page(name, page, out)


def test_private_things_are_hidden_by_default_and_shown_on_demand(tmp_path):
    db = Db(tmp_path / "h.duckdb")
    secret = "ghp_" + "a1" * 18
    db.run("r", model="m-of-alice@example.com")
    db.turn("r", 0, result=f"/scratch/user/KB failed; token {secret}", reasoning="see C:\\Users\\bob\\x")
    path = db.close()
    report = build(path, tmp_path / "hidden")
    pages = "".join(html(tmp_path / "hidden").values())
    for private in ("/scratch/user", secret, "alice@example.com", "Users\\bob"):
        assert private not in pages, private
    assert "alice" not in "".join(files(tmp_path / "hidden"))  # file names neither
    assert report.hidden["token"] >= 1
    assert "[token]" in pages
    assert "home folder" in html(tmp_path / "hidden")["data.html"]
    build(path, tmp_path / "shown", redact=False)
    shown = "".join(html(tmp_path / "shown").values())
    assert secret in shown
    assert "/scratch/user" in shown
