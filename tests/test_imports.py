"""Who may import whom, and what a bare command may load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = (
    "duckdb",
    "polars",
    "pyarrow",
    "altair",
    "vl_convert",
    "scipy",
    "torch",
    "numpy",
    "jinja2",
    "sqlglot",
    "pygments",
)

# Data flows one way: ingest -> sql -> analytics -> site. A folder may import those before it.
MAY = {
    "ingest": {"ingest", "data"},
    "sql": {"sql", "ingest", "data"},
    "analytics": {"analytics", "sql", "ingest", "data"},
    "site": {"site", "analytics", "sql", "ingest", "data"},
    "data": {"data"},
}


def imports(path: Path) -> set[str]:
    """Absolute module names a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
    return names


def sources(folder: str) -> list[Path]:
    skip = {"problems", "runs", "shims"}
    return [p for p in sorted((ROOT / folder).rglob("*.py")) if not skip & set(p.relative_to(ROOT).parts)]


@pytest.mark.parametrize("folder", MAY)
def test_data_flows_one_way(folder: str) -> None:
    for path in sources(folder):
        for name in imports(path):
            part = name.split(".")[1] if name.startswith("kbstats.") else None
            # the one door from the command line to the site: its own command module and the demo
            if part == "site" and path.parent == ROOT / "analytics" / "commands" and path.stem in {"site", "demo"}:
                continue
            assert part is None or part in MAY[folder], f"{path.relative_to(ROOT)} imports {name}"


def test_nothing_imports_the_command_line() -> None:
    for folder in MAY:
        for path in sources(folder):
            assert not {n for n in imports(path) if n.startswith("kbstats.analytics.cli")}, path


def test_imports_name_the_installed_package() -> None:
    """`ingest.rows` and `kbstats.ingest.rows` would be two modules of one file."""
    for folder in (*MAY, "tests", "benchmarks", "docs"):
        for path in sources(folder):
            tops = {n.split(".")[0] for n in imports(path)}
            assert not tops & {"ingest", "sql", "analytics"}, path


def test_torch_stays_in_verify() -> None:
    verify = ROOT / "analytics" / "verify"
    for folder in MAY:
        for path in sources(folder):
            if verify not in path.parents:
                assert not {n for n in imports(path) if n.split(".")[0] in {"torch", "triton"}}, path


def test_the_runner_needs_torch_and_the_standard_library_alone() -> None:
    allowed = set(sys.stdlib_module_names) | {"torch", "triton", "pynvml"}
    files = sorted((ROOT / "analytics" / "verify" / "runner").rglob("*.py"))
    assert files
    for path in files:
        assert not {n for n in imports(path) if n.split(".")[0] not in allowed}, path


def loaded(code: str) -> set[str]:
    # Not where the help goes: its words are no modules, whatever they say.
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    p = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(p.stderr.split())


@pytest.mark.parametrize(
    "argv", [["--help"], ["--version"], ["leaderboard", "--help"], ["verify", "--help"], ["site", "build", "--help"]]
)
def test_help_loads_nothing_heavy(argv: list[str]) -> None:
    code = f"import sys\nsys.argv = ['kbstats', *{argv!r}]\nfrom kbstats.analytics.cli import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
    assert not loaded(code) & set(HEAVY)


def test_the_packages_are_light() -> None:
    code = "import kbstats.ingest, kbstats.sql, kbstats.analytics, kbstats.site, kbstats.data"
    assert not loaded(code) & {*HEAVY, "typer", "rich", "msgspec"}
