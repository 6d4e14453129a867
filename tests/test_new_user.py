"""The path of a new user: nothing asked, wrong folders, missing parts. Each answer names the next step."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RUN = "level_1_problem_1_trajectory.json"


def one_line(text: str) -> str:
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    assert "Traceback" not in text
    return lines[0]


def sample(folder: Path) -> Path:
    """A folder with one sample run in it."""
    target = folder / "samples_default" / "original" / "sample-a" / RUN
    target.parent.mkdir(parents=True)
    shutil.copy(ROOT / "data" / "runs" / "samples_default" / "original" / "sample-a" / RUN, target)
    return target


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, kbstats) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    sample(folder)
    assert kbstats("ingest", ".", cwd=folder).returncode == 0
    return folder


def copied(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "copy"))


def told(kbstats, folder: Path) -> str:
    p = kbstats(cwd=folder)
    assert (p.returncode, p.stderr) == (0, ""), p.stderr
    assert max(map(len, p.stdout.splitlines())) <= 80
    assert "kbstats --help" in p.stdout
    return p.stdout


def change(db: Path, *statements: str) -> None:
    import duckdb

    con = duckdb.connect(str(db))
    for s in statements:
        con.execute(s)
    con.close()


def test_nothing_here(kbstats, tmp_path: Path) -> None:
    out = told(kbstats, tmp_path)
    for step in ("kbstats demo", "kbstats samples", "kbstats ingest PATH"):
        assert step in out
    assert not list(tmp_path.iterdir())


def test_traces_here_and_no_database(kbstats, tmp_path: Path) -> None:
    sample(tmp_path)
    out = told(kbstats, tmp_path)
    assert "popcornbench 1" in out
    assert "kbstats ingest ." in out


def test_a_look_is_short_and_leaves_out_what_nobody_wrote_by_hand(kbstats, tmp_path: Path) -> None:
    for name in ("node_modules", ".venv", "__pycache__"):
        (tmp_path / name).mkdir()
        shutil.copy(ROOT / "data" / "runs" / "samples_default" / "original" / "sample-a" / RUN, tmp_path / name / RUN)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "many").mkdir()
    for i in range(400):
        (tmp_path / "many" / f"{i}.json").write_text("{}")
    assert "No traces here" in told(kbstats, tmp_path)


def test_the_database_is_in_another_folder(kbstats, filled: Path, tmp_path: Path) -> None:
    below = filled / "samples_default"
    out = told(kbstats, below)
    assert "kbstats leaderboard --db ../kbstats.duckdb" in out
    line = one_line(kbstats("leaderboard", cwd=below).stderr)
    assert "../kbstats.duckdb" in line
    assert "--db" in line
    # A parent of its own: beside `filled` stand the folders of other tests.
    (tmp_path / "below").mkdir()
    shutil.copy(filled / "kbstats.duckdb", tmp_path / "below")
    line = one_line(kbstats("leaderboard", cwd=tmp_path).stderr)
    assert "below/kbstats.duckdb" in line


def test_a_database_here(kbstats, filled: Path) -> None:
    out = told(kbstats, filled)
    assert "1 runs of 1 models from 1 files" in out
    for command in ("leaderboard --trust audited", "failures", "verify --top", "site build -o"):
        assert f"kbstats {command}" in out
    assert "changed" not in out


def test_files_that_changed_and_files_that_are_gone(kbstats, filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    path = sample(folder)
    assert kbstats("ingest", ".", cwd=folder).returncode == 0
    later = path.stat().st_mtime + 10
    os.utime(path, (later, later))
    out = told(kbstats, folder)
    assert "1 of its files changed since" in out
    assert "kbstats ingest ." in out
    path.unlink()
    assert "--prune" in told(kbstats, folder)


def test_a_site_that_was_built_here(kbstats, filled: Path, tmp_path: Path) -> None:
    folder = copied(filled, tmp_path)
    assert kbstats("site", "build", "-o", "board", cwd=folder).returncode == 0
    out = told(kbstats, folder)
    assert "kbstats site build -o board" in out
    assert "kbstats site serve board" in out


def test_findings_and_verifications_are_told(kbstats, tmp_path: Path) -> None:
    p = kbstats("ingest", ROOT / "data" / "runs", ROOT / "data" / "verifications", cwd=tmp_path)
    assert p.returncode == 0
    out = told(kbstats, tmp_path)
    assert "finding of severity error" in out
    assert "refuted" in out
    assert "kbstats audit" in out
    assert "run again yet" not in out


def test_an_empty_database(kbstats, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert kbstats("ingest", "empty", cwd=tmp_path).returncode == 3  # the wrong folder, most likely
    assert "holds no runs" in told(kbstats, tmp_path)
    for command in (["leaderboard"], ["leaderboard", "--level", "3"], ["failures"], ["audit"]):
        p = kbstats(*command, cwd=tmp_path)
        assert p.returncode == 0
        assert "kbstats ingest PATH" in one_line(p.stderr), command
    assert "holds no runs" in kbstats("site", "build", "-o", "site", cwd=tmp_path).stderr
    sample(tmp_path)
    assert "kbstats ingest ." in told(kbstats, tmp_path)


def test_a_filter_that_nothing_fits(kbstats, filled: Path) -> None:
    for command in ("leaderboard", "failures", "audit"):
        if command != "audit":  # the one sample run has findings or not; a level that is not there has none
            assert "there are 1" in kbstats(command, "--level", "9", cwd=filled).stderr
    assert "there are sample-a" in kbstats("audit", "--model", "nobody", cwd=filled).stderr


def test_an_old_database(kbstats, filled: Path, tmp_path: Path) -> None:
    folder = copied(filled, tmp_path)
    change(
        folder / "kbstats.duckdb",
        "update meta set value = 'older' where key = 'schema_hash'",
        "update meta set value = '0.0.1' where key = 'kbstats_version'",
    )
    assert "kbstats ingest PATH" in told(kbstats, folder)
    for command in (["leaderboard"], ["site", "build", "-o", "x"]):
        line = one_line(kbstats(*command, cwd=folder).stderr)
        assert "0.0.1" in line
        assert "kbstats ingest PATH" in line
    p = kbstats("ingest", ".", cwd=folder)  # what the line says to do
    assert p.returncode == 0
    assert kbstats("leaderboard", cwd=folder).returncode == 0
    assert (folder / "kbstats.duckdb.0.0.1.old").is_file()


def test_a_newer_database(kbstats, filled: Path, tmp_path: Path) -> None:
    folder = copied(filled, tmp_path)
    change(
        folder / "kbstats.duckdb",
        "update meta set value = 'newer' where key = 'schema_hash'",
        "update meta set value = '99.0.0' where key = 'kbstats_version'",
    )
    before = (folder / "kbstats.duckdb").read_bytes()
    assert "update kbstats" in told(kbstats, folder)
    for command in (["leaderboard"], ["ingest", "."], ["verify", "--top", "1", "--problems", "."]):
        p = kbstats(*command, cwd=folder)
        assert p.returncode == 1
        assert "update kbstats" in one_line(p.stderr)
    assert (folder / "kbstats.duckdb").read_bytes() == before


@pytest.mark.parametrize("text", ["", "no database " * 1000])
def test_a_file_that_is_no_database(kbstats, tmp_path: Path, text: str) -> None:
    (tmp_path / "kbstats.duckdb").write_text(text)
    assert "--db" in told(kbstats, tmp_path)
    assert "--db" in one_line(kbstats("leaderboard", cwd=tmp_path).stderr)


def test_somebody_else_s_database(kbstats, tmp_path: Path) -> None:
    change(tmp_path / "kbstats.duckdb", "create table t as select 1")
    assert "no kbstats database" in told(kbstats, tmp_path)


def test_a_folder_or_file_that_is_not_there(kbstats, tmp_path: Path) -> None:
    p = kbstats("ingest", "runs", cwd=tmp_path)
    assert p.returncode == 2
    assert "no such file or folder: runs" in one_line(p.stderr)
    p = kbstats("ingest", ROOT / "data" / "runs", "--db", "a/b/x.duckdb", cwd=tmp_path)
    assert p.returncode == 1
    assert "mkdir -p a/b" in one_line(p.stderr)
    assert not list(tmp_path.iterdir())


def test_no_gpu(kbstats, tmp_path: Path) -> None:
    model = "import torch\n\n\nclass {0}(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    (tmp_path / "r.py").write_text(model.format("Model") + "\n\ndef get_inputs():\n    return [torch.ones(4)]\n\n\ndef get_init_inputs():\n    return []\n")
    (tmp_path / "k.py").write_text(model.format("ModelNew"))
    p = kbstats("verify", "--kernel-file", "k.py", "--reference-file", "r.py", cwd=tmp_path, env={"CUDA_VISIBLE_DEVICES": ""})
    assert p.returncode == 1
    assert "--device cpu" in p.stderr.splitlines()[-1]
    out = " ".join(kbstats("doctor", cwd=tmp_path, env={"PATH": "/nowhere", "CUDA_VISIBLE_DEVICES": ""}).stdout.split())
    assert "kbstats verify plan" in out
    assert "CUDA toolkit" in out  # no nvcc


def test_the_samples_are_copied_once_and_nothing_is_written_over(kbstats, tmp_path: Path) -> None:
    assert [line.split()[0] for line in kbstats("samples", cwd=tmp_path).stdout.splitlines()] == ["runs/", "problems/", "verifications/"]
    assert "verification 1" in told(kbstats, tmp_path)
    p = kbstats("samples", cwd=tmp_path)
    assert (p.returncode, "name another folder" in one_line(p.stderr)) == (2, True)
    (tmp_path / "file").touch()
    p = kbstats("samples", "file/x", cwd=tmp_path)
    assert (p.returncode, "cannot be copied to file/x" in one_line(p.stderr)) == (1, True)


def test_verify_without_references(kbstats, filled: Path) -> None:
    assert "--problems DIR" in one_line(kbstats("verify", "--top", "1", cwd=filled).stderr)
    assert "--problems" in one_line(kbstats("verify", "--top", "1", "--problems", "nowhere", cwd=filled).stderr)


@pytest.mark.parametrize(
    ("shell", "words", "want"),
    [
        ("bash", "kbstats lea", "leaderboard"),
        ("bash", "kbstats leaderboard --trust ", "audited"),
        ("bash", "kbstats site b", "build"),
        ("zsh", "kbstats verify im", "import"),
        ("fish", "kbstats comp", "compare"),
    ],
)
def test_shells_complete(shell: str, words: str, want: str, tmp_path: Path) -> None:
    env = os.environ | {
        "_KBSTATS_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    exe = Path(sys.executable).with_name("kbstats")
    p = subprocess.run([exe], capture_output=True, text=True, env=env, cwd=tmp_path)
    assert want in p.stdout, p.stderr
