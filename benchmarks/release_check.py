"""What must hold before a release: built from the last commit, installed where nothing else is, and run.

usage: python benchmarks/release_check.py [--python PYTHON]… [--dist DIR]

1. The version stands in one place, and the changelog has a section of it.
2. Wheel and sdist are built from the last commit; `twine check --strict` passes both.
3. In a fresh environment of each interpreter named: the wheel installs with its dependencies, `pip check`
   passes, `kbstats demo` runs in an empty folder; then the same from the sdist.
4. Every distribution that came along has a licence of the list below.

Exit status: 0 all hold, 1 one does not. The files built are left in DIR (default: dist).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PERMISSIVE = re.compile(
    r"(?i)\b(apache|mit|bsd|0bsd|isc|psf|python software foundation|cnri-python|zlib|unlicense|cc0|hpnd"
    r"|mozilla public license 2\.0|mpl-2\.0|zpl|llvm-exception|boost|bsl-1\.0)\b"
)
"""Licences under which a dependency may be used and passed on beside Apache-2.0."""
COPYLEFT = re.compile(r"(?i)\b(a?gpl|lgpl|gnu|eupl|sspl|busl|non-?commercial)")
NAMED_HERE = {"clarabel": "Apache-2.0"}
"""Distributions whose metadata name no licence, with what their LICENSE file says."""

_LICENCES = """
import importlib.metadata as m, json
out = {}
for d in m.distributions():
    meta = d.metadata
    trove = [c.split(" :: ")[-1] for c in meta.get_all("Classifier") or () if c.startswith("License ::")]
    text = meta.get("License-Expression") or ", ".join(trove) or (meta.get("License") or "").splitlines()[:1]
    out[meta["Name"]] = [meta["Version"], text if isinstance(text, str) else "".join(text)]
print(json.dumps(out))
"""


def run(*command: object, **more: object) -> str:
    """Run a command; its output. On failure both streams are printed and the check ends."""
    p = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    if p.returncode:
        sys.exit(f"FAILED ({p.returncode}): {' '.join(map(str, command))}\n{p.stdout}\n{p.stderr}")
    return str(p.stdout)


def version() -> str:
    """The version of pyproject.toml, after a look at where else it might stand."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if f"\n## {found}\n" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        sys.exit(f"FAILED: CHANGELOG.md has no section {found}")
    command = ["git", "grep", "-lE", r"^__version__", "--", "*.py", "*.toml", "*.cfg"]
    others = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    if others:
        sys.exit(f"FAILED: a version of its own stands in {others}")
    return str(found)


def build(scratch: Path, dist: Path) -> tuple[Path, Path]:
    """Wheel and sdist of the last commit, checked by twine."""
    tree, packed = scratch / "tree", scratch / "tree.tar"
    run("git", "archive", "--format=tar", "-o", packed, "HEAD", cwd=ROOT)
    with tarfile.open(packed) as tar:
        tar.extractall(tree, filter="data")
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", dist, tree)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    return wheel, sdist


def demo(environment: Path, folder: Path, want: str) -> None:
    """The installed command in an empty folder, without a way to anywhere."""
    folder.mkdir()
    kbstats = environment / "bin" / "kbstats"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("KBSTATS_", "PYTHON"))}
    env |= {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    if run(kbstats, "--version", cwd=folder, env=env) != f"kbstats {want}\n":
        sys.exit(f"FAILED: {kbstats} is not version {want}")
    run(kbstats, "demo", "-o", "demo", cwd=folder, env=env)
    if not (folder / "demo" / "site" / "index.html").is_file():
        sys.exit("FAILED: the demo built no site")
    if "doctor" not in run(kbstats, "--help", cwd=folder, env=env):
        sys.exit("FAILED: --help")


def licences(python: Path) -> list[str]:
    """A line a distribution; ends the check where one has none of the list."""
    found = json.loads(run(python, "-c", _LICENCES))
    lines, bad = [], []
    for name, (number, text) in sorted(found.items(), key=lambda i: i[0].lower()):
        shown = text or NAMED_HERE.get(name.lower(), "")
        lines.append(f"  {name} {number}: {shown[:60]}")
        if not PERMISSIVE.search(shown) or COPYLEFT.search(shown):
            bad.append(lines[-1])
    if bad:
        sys.exit("FAILED: licences to look at:\n" + "\n".join(bad))
    return lines


def main() -> None:
    """Check everything, and say so."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", help="Interpreter to install into; repeatable.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    want = version()
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        wheel, sdist = build(scratch, args.dist)
        print(f"built and checked: {wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB), {sdist.name}")
        for n, python in enumerate(args.python or [sys.executable]):
            environment = scratch / f"env{n}"
            run(python, "-m", "venv", environment)
            inner = environment / "bin" / "python"
            pip = (inner, "-m", "pip", "--disable-pip-version-check")
            run(*pip, "install", "--quiet", "-c", ROOT / "constraints.txt", wheel)
            run(*pip, "check")
            demo(environment, scratch / f"wheel{n}", want)
            run(*pip, "install", "--quiet", "--no-deps", "--force-reinstall", sdist)
            demo(environment, scratch / f"sdist{n}", want)
            kinds = licences(inner)
            name = run(inner, "--version").strip()
            print(f"{name}: wheel and sdist install, the demo runs, {len(kinds)} licences are fine", flush=True)
        print("\n".join(kinds))


if __name__ == "__main__":
    main()
