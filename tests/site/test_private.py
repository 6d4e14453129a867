"""Secrets in every shape they are met in never reach a built file."""

from __future__ import annotations

import json
import re
import string
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from kbstats.site.build import build
from kbstats.site.redact import Redactor

from .test_hostile import hostile

HEX, ALNUM = "0123456789abcdef", string.ascii_letters + string.digits


def word(alphabet: str, least: int, most: int | None = None):
    """A word that holds a letter and a digit, as made-up secrets do."""
    return st.text(alphabet, min_size=least, max_size=most or least).map(lambda s: f"q7{s}")


NAMES = st.text(string.ascii_lowercase, min_size=6, max_size=12).map(lambda s: f"zq{s}")
OCTETS = st.integers(100, 255)


def path_of(*shapes: str):
    return st.tuples(st.sampled_from(shapes), NAMES).map(lambda x: (x[0].replace("WHO", x[1]), x[1]))


PATHS = path_of(
    "/home/WHO/run.py",
    "/Users/WHO/run.py",
    "/Users/o'WHO/run.py",
    "/Users/Ann WHO/run.py",
    "/home/ann WHO/x/run.py",
    "C:\\Users\\WHO\\x.cu",
    "C:\\Users\\Ann WHO\\x.cu",
    "d:/users/WHO",
    "/mnt/WHO/x",
    "/mnt/c/Users/WHO/x",
    "/data/home/WHO/x",
    "/scratch/WHO/x",
    "/u/WHO/x",
    "/lustre/WHO/x",
    "~WHO/x",
    "cd ~WHO",
    "\\\\server\\WHO\\x",
    "\\\\WHO\\share",
    "%2Fhome%2FWHO%2Fx",
    "-Users-WHO-project",
    "file:///home/WHO/x",
    "\\/home\\/WHO\\/x",
)
PEOPLE = path_of(
    "WHO@laptop",
    "WHO@gpu-box:~/x$ make",
    "[WHO@somewhere x]$ make",
    "WHO@somewhere ~ % ls",
    "ssh WHO@somewhere",
    "scp x WHO@somewhere:/x",
    "WHO.x@example.org",
    "x@WHO.example.com",
    "USER=WHO",
    '"username": "WHO"',
    "uid=1000(WHO)",
    "drwxr-xr-x 2 WHO staff 64 x",
    "HOSTNAME=WHO",
    "WHO.cluster.local",
)
TOKENS = st.one_of(
    st.tuples(
        st.sampled_from(
            re.findall(
                r"\S+",
                "sk-ant- sk-proj- sk- ghp_ github_pat_ glpat- hf_ AIza gsk_ nvapi- xai- npm_ pypi- r8_ rpa_ fw_ "
                "sk_live_ dckr_pat_ tvly- figd_ ya29.",
            )
        ),
        word(ALNUM, 40),
    ).map(lambda x: (x[0] + x[1], x[1])),
    st.text(string.ascii_uppercase + string.digits, min_size=16, max_size=16).map(lambda s: (f"AKIA{s}", s)),
    st.tuples(word(ALNUM, 20), word(ALNUM, 20), word(ALNUM, 20)).map(lambda x: (f"eyJ{x[0]}.eyJ{x[1]}.{x[2]}", x[1])),
    word(ALNUM, 20).map(lambda s: (f"Authorization: Bearer {s}", s)),
    st.tuples(
        st.sampled_from(
            (
                "OPENAI_API_KEY=%s",
                'api_key = "%s"',
                '{"api_key": "%s"}',
                "--token %s",
                "client_secret: %s",
                "password=%s",
                'password: "%s"',
                "https://me:%s@example.net/x",
            )
        ),
        word(ALNUM, 18),
    ).map(lambda x: (x[0] % x[1], x[1])),
)
ADDRESSES = st.one_of(
    st.tuples(st.sampled_from(["10.%d.%d.%d", "192.168.%d.%d", "172.20.%d.%d"]), OCTETS, OCTETS, OCTETS).map(
        lambda x: (ip := x[0] % x[1 : 1 + x[0].count("%d")], ip)
    ),
    st.text(HEX, min_size=4, max_size=4).map(lambda h: (f"fd00:77::{h}:1", f"fd00:77::{h}")),
)
SECRETS = st.one_of(PATHS, PEOPLE, TOKENS, ADDRESSES)
WRAPS = (
    str,
    lambda s: f"see {s} there",
    lambda s: f"({s})",
    lambda s: f"first\n{s}\nlast",
    lambda s: json.dumps(f"first\n{s}\tlast"),
    lambda s: json.dumps({"said": json.dumps({"text": f"x\n{s}"})}),
    lambda s: f'x = "{s}"',
    lambda s: f"`{s}`",
)


@settings(max_examples=300, deadline=None)
@given(SECRETS, st.sampled_from(WRAPS))
def test_no_shape_gets_through(secret, wrap):
    text, core = secret
    redact = Redactor()
    shown = redact(wrap(text))
    assert core not in shown
    assert redact(shown) == shown


@settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(SECRETS, st.sampled_from(WRAPS)), min_size=25, max_size=25))
def test_no_built_file_holds_one(found):
    cores = [core for (_, core), _ in found]
    # Words at both ends: the hostile names are numbered, and a number behind an address makes another text of it.
    bad = "\n".join(["shown", *(wrap(text) for (text, _), wrap in found), "shown"])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        build(hostile(Path(folder) / "h.duckdb", bad), out, title=bad)
        kinds = set()
        for path in sorted(p for p in out.rglob("*") if p.is_file()):
            kinds.add(path.suffix)
            text = (
                path.read_text(encoding="utf-8") if path.suffix != ".parquet" else str(pq.read_table(path).to_pylist())
            )
            low = text.lower()
            for core in cores:
                at = low.find(core.lower())
                shown = [text for (text, c), _ in found if c == core], low[max(0, at - 60) : at + 60]
                assert at < 0, (str(path.relative_to(out)), shown)
        assert kinds >= {".html", ".js", ".json", ".csv", ".parquet"}


@pytest.mark.parametrize("limit", [20, 40, 60, 160])
def test_a_secret_that_is_cut_off_is_hidden_first(limit, tmp_path):
    token = "ghp_" + "a1" * 18
    assert "ghp_" not in build_with_title(tmp_path, f"{'x' * (limit - 12)} {token}")


def build_with_title(tmp_path: Path, text: str) -> str:
    """All pages of a site whose every text is this one."""
    build(hostile(tmp_path / "h.duckdb", text), tmp_path / "out")
    return "".join(p.read_text(encoding="utf-8") for p in (tmp_path / "out").rglob("*.html"))
