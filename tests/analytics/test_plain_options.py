"""Options that are read without typer's checks get the values that typer's checks give."""

from __future__ import annotations

import json
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest
import typer
import typer.main
from kbstats.analytics.plain_options import _Plain, lighten


class Word(StrEnum):
    one = "one"
    two_words = "two-words"


def command(
    name: Annotated[str | None, typer.Option()] = None,
    level: Annotated[list[int] | None, typer.Option()] = None,
    share: Annotated[float, typer.Option(min=0, max=1)] = 0.0,
    count: Annotated[int, typer.Option(min=1)] = 3,
    word: Annotated[Word, typer.Option()] = Word.one,
    words: Annotated[list[Word] | None, typer.Option()] = None,
    place: Annotated[Path | None, typer.Option()] = None,
    flag: Annotated[bool, typer.Option("--flag")] = False,
    rest: Annotated[list[Path] | None, typer.Argument()] = None,
) -> None:
    print([name, level, share, count, word, words, place, flag, rest])


TEXTS = [
    "", "a", "1", "-1", "+1", "01", " 1", "1_0", "0.5", "-0.5", "1e-1", ".5", "nan", "inf", "2", "99999999999999999999",
    "one", "ONE", "two-words", "two_words", "a/b", "~", ".", "é", "\U0001f600", "a\x00b", "true", "0", "1.0", "bad\udcff",
]  # fmt: skip
OPTIONS = ["--name", "--level", "--share", "--count", "--word", "--words", "--place", None]


def made(*, light):
    app = typer.Typer()
    app.command()(command)
    found = typer.main.get_command(app)
    if light:
        lighten(found.params)
    return found


def run(argv, capsys, *, light):
    """Exit status and everything printed."""
    with pytest.raises(SystemExit) as end:
        made(light=light).main(argv, prog_name="x")
    return end.value.code, capsys.readouterr()


@pytest.mark.parametrize("option", OPTIONS)
def test_every_text_is_read_as_typer_reads_it(option, capsys):
    for text in TEXTS:
        given = [[option, text]] if option else [["--", text]]
        if option in {"--level", "--words"}:
            given.append([option, "1" if option == "--level" else "one", option, text])
        for argv in given:
            assert run(argv, capsys, light=True) == run(argv, capsys, light=False), argv


def test_defaults_and_flags_are_those_of_the_command(capsys):
    for argv in ([], ["--flag", "x"], ["--help"]):
        assert run(argv, capsys, light=True) == run(argv, capsys, light=False)


def test_some_are_read_at_once():
    """Else this module does nothing, and nobody would notice."""
    light = {p.name: p.get_runtime_param() for p in made(light=True).params}
    wanted = ["name", "level", "share", "count", "word", "words", "place", "rest"]
    assert [name for name in wanted if not isinstance(light[name], _Plain)] == []


BOARD = """
import json, sys
from kbstats.analytics.cli import main
sys.argv = ["kbstats", *sys.argv[1:]]
try:
    main()
except SystemExit as e:
    assert not e.code, e.code
print(json.dumps(sorted({m.split(".")[0] for m in sys.modules})), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("argv", "without"),
    [
        (["leaderboard", "--level", "1", "--trust", "audited"], ("pydantic", "numpy", "scipy", "polars", "pyarrow", "sqlglot", "tomllib")),
        (["failures", "--by", "owner"], ("pydantic", "numpy", "scipy", "polars", "pyarrow", "sqlglot")),
        (["audit"], ("pydantic", "numpy", "scipy", "polars", "pyarrow", "sqlglot")),
    ],
)  # fmt: skip
def test_a_reading_command_loads_what_it_needs(argv, without, kbstats, tmp_path):
    db = tmp_path / "k.duckdb"
    from kbstats.data import path

    assert kbstats("ingest", path("runs"), "--db", db).returncode == 0
    done = subprocess.run([sys.executable, "-c", BOARD, *argv, "--db", str(db)], capture_output=True, text=True, check=True)
    assert done.stdout
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    assert "duckdb" in loaded
    assert loaded & set(without) == set()


def test_the_sign_test_loads_no_statistics():
    code = "import sys; from kbstats.analytics.compare import sign_test; sign_test(3, 5); print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
