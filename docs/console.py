"""Commands in the documents, and what they print: run again, compared, and written anew.

A block ```` ```console ```` holds lines `$ command`, each followed by what it prints on both streams. The
blocks of a page run in order in one new folder. What differs from run to run (durations, dates, sizes,
the folder's name) is written as `…`.

usage: python docs/console.py [PAGE]…     writes the output of the commands into the pages
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/tutorial.md", "docs/how-to/own-table.md", "docs/how-to/ci-gate.md")
BLOCK = re.compile(r"(?P<open>^```console\n)(?P<text>.*?)(?P<close>^```$)", re.MULTILINE | re.DOTALL)
_LIVES = (
    (re.compile(r"\b\d+(\.\d+)? s\b"), "… s"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b"), "…"),
    (re.compile(r"\b[\d,.]+ [KM]iB\b"), "… KiB"),
    (re.compile(r"\b[\d,]+ files written\b"), "… files written"),
    (re.compile(r"\b\d+ × "), "… × "),
)


def stable(text: str, folder: Path) -> str:
    """Output without what differs from run to run."""
    for place in (str(folder.resolve()), str(folder)):
        text = text.replace(place, "…")
    for pattern, new in _LIVES:
        text = pattern.sub(new, text)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


class Session:
    """A folder and what `cd` and `export` have made of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = self.place = folder
        keep = {k: v for k, v in os.environ.items() if k in {"PATH", "LANG", "LC_ALL", "TMPDIR", "OPENBLAS_CORETYPE"}}
        here = str(Path(sys.executable).parent)
        self.env = keep | {"PATH": f"{here}{os.pathsep}{keep['PATH']}", "HOME": str(folder), "COLUMNS": "80"}

    def run(self, command: str) -> str:
        """What a command prints."""
        if command.startswith("cd "):
            self.place = self.place / command[3:]
            return ""
        if command.startswith("export "):
            name, _, value = command[7:].partition("=")
            self.env[name] = value
            return ""
        p = subprocess.run(
            ["bash", "-c", command], cwd=self.place, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return stable(p.stdout, self.folder) + (f"(exit status {p.returncode})\n" if p.returncode else "")


def commands(text: str) -> list[str]:
    """The commands of a block; a line that ends in a backslash goes on."""
    out: list[str] = []
    going_on = False
    for line in text.splitlines():
        if going_on:
            out[-1] += "\n  " + line.strip()
        elif line.startswith("$ "):
            out.append(line[2:])
        going_on = (going_on or line.startswith("$ ")) and line.endswith("\\")
    return out


def fresh(page: str, text: str) -> str:
    """A page with the output its commands have now."""
    if not BLOCK.search(text):
        return text
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / Path(page).stem.lower()
        folder.mkdir()
        if page == "README.md":  # what `make demo` has left behind
            command = [Path(sys.executable).with_name("kbstats"), "demo", "-o", folder / "demo"]
            subprocess.run(command, check=True, capture_output=True)
        session = Session(folder)

        def again(m: re.Match[str]) -> str:
            done = "".join(f"$ {c}\n{session.run(c)}" for c in commands(m["text"]))
            return m["open"] + done + m["close"]

        return BLOCK.sub(again, text)


def main() -> None:
    """Write the pages named, or all."""
    for page in sys.argv[1:] or PAGES:
        path = ROOT / page
        path.write_text(fresh(page, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if shutil.which("bash") is None:
        sys.exit("bash is needed to run the commands of the documents")
    main()
