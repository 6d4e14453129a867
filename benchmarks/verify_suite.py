"""How far kbstats' verifier can be trusted on this machine: adversaries, honest kernels, A/A, 2n against n.

    python benchmarks/verify_suite.py [--device cpu|cuda] [--repeats 3] [--honest-repeats 5] [--sessions 20]
        [--parts adversaries,honest,persistent,power,same,loaded,twice,noop] [--rows 64,1024] [--part i/n]
        [--budget-s S] [--timing-budget-s S] [--seconds S] [--only TEXT] [--json FILE] [--resume FILE]
        [--documents FILE]

Needs torch and nothing else of kbstats' packages. Prints one line a case and a table of the targets;
exits 1 when a target is missed. `loaded` is `same` while compilers run on the cores that no measurement
uses. `--seconds` ends the suite in time: what did not run is named, and with `--resume` on the file that
`--json` wrote the next call goes on there. That file is written anew behind every case, so that a suite that
is killed costs the case it was at; every row names the load of the machine at its beginning and end.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import verify_cases as cases
from tree import linked
from verify_targets import targets

sys.path.insert(0, str(linked()))

from kbstats.analytics.verify import shims
from kbstats.analytics.verify.runner import PROTOCOL, machine
from kbstats.analytics.verify.runner.items import Item, source_sha256
from kbstats.analytics.verify.runner.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTS = ("adversaries", "honest", "persistent", "power", "same", "loaded", "twice", "noop")
CODE = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(machine.__file__).parent.glob("*.py")))).hexdigest()[
    :16
]
"""What the verifier consists of: a row of other code is no result of this one."""
AS_GOOD = {"cuda": {"c39728200e6a46aa": "33c733c8b1af3997"}}
"""Code -> later code that does the same on a device: only what the CPU's clocks are compared with was changed."""
KEPT = ("verdict", "gate", "badges", "speedup", "speedup_lo", "speedup_hi", "verified_calls", "baselines", "witness")
"""Fields of a result document that a row keeps."""


def chosen(args: argparse.Namespace) -> list[cases.Case]:
    """Return the cases that were asked for, in order."""
    device = args.device.partition(":")[0]
    rows = tuple(int(n) for n in args.rows.split(",") if n)
    lists = {
        "adversaries": lambda: cases.adversaries(device, args.repeats),
        "honest": lambda: cases.honest(device, args.honest_repeats),
        "persistent": lambda: cases.persistent(device),
        "power": cases.power,
        "same": lambda: cases.same(device, args.sessions, "same", rows),
        "loaded": lambda: cases.same(device, args.sessions, "loaded", rows),
        "twice": lambda: cases.twice(device, args.repeats),
        "noop": lambda: cases.noop(device),
    }
    found = []
    for part in args.parts.split(","):
        if part not in lists:
            raise SystemExit(f"no such part: {part}; there are {', '.join(PARTS)}")
        found += lists[part]()
    found = [c for c in found if any(text in c.name for text in args.only.split(","))]
    number, _, of = args.part.partition("/")
    return found[int(number) - 1 :: int(of)]


class Suite:
    """The session, and what came out."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.session = Session(args.device, budget_s=args.budget_s)
        self.rows: list[dict[str, Any]] = []
        self.left_out: list[str] = []
        if args.resume and args.resume.exists():
            before = json.loads(args.resume.read_text(encoding="utf-8"))
            here = before["machine"] == self.where()
            same = AS_GOOD.get(args.device.partition(":")[0], {})
            self.rows = [
                r
                for r in before["rows"]
                if here and r["protocol"] == PROTOCOL and same.get(r["code"], r["code"]) == CODE
            ]
            if gone := len(before["rows"]) - len(self.rows):
                print(f"{gone} rows of {args.resume} are of another machine or other code, and not kept", flush=True)
        self.done = {r["key"] for r in self.rows}

    def run(self, todo: list[cases.Case]) -> None:
        """Run what is not done, part by part."""
        for part in dict.fromkeys(c.part for c in todo):
            mine = [c for c in todo if c.part == part and c.key not in self.done]
            load = builds(machine.other_cores(self.session.cores)) if part == "loaded" and mine else nothing()
            with load as compilers:
                if compilers:
                    print(f"     {compilers} compilers run beside the measurements", flush=True)
                for case in mine:
                    self.one(case)

    def one(self, case: cases.Case) -> None:
        """Run one case unless the time is over, and print its line."""
        if time.monotonic() > self.end:
            self.left_out.append(f"{case.part} {case.name}")
            return
        started, load = time.monotonic(), os.getloadavg()[0]
        budget = self.args.timing_budget_s if case.timing else self.args.budget_s
        self.session.budget_s = case.budget_s or budget
        hashes = source_sha256(case.kernel), source_sha256(case.reference)
        with_shims = tuple(shims.shims_for(case.reference))
        doc = self.session.verify(Item(case.kernel, case.reference, *hashes, shims=with_shims, **case.fields))
        if self.args.documents:
            with self.args.documents.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"case": f"{case.part} {case.name}", **doc}, default=str) + "\n")
        row = {"part": case.part, "name": case.name, "key": case.key, "protocol": PROTOCOL, "code": CODE}
        row["ok"] = bool(case.good(doc))
        row |= {k: doc[k] for k in KEPT} | {"spent_s": doc["seconds"], "at": doc["verified_at"]}
        row["load"] = [round(load, 1), round(os.getloadavg()[0], 1)]
        row["clock"] = next((c["detail"] for c in doc["checks"] if c["gate"] == "clock"), {})
        row["power"] = next((c["detail"] for c in doc["checks"] if c["gate"] == "power"), {})
        self.rows.append(row)
        self.write()
        interval = f" {row['speedup']:.3f} [{row['speedup_lo']:.3f}, {row['speedup_hi']:.3f}]" if row["speedup"] else ""
        words = f"{row['verdict']}{interval} {row['gate'] or ''} {time.monotonic() - started:.1f} s"
        print(f"{'ok  ' if row['ok'] else 'MISS'} {case.part:<11} {case.name:<34} {words}", flush=True)
        if not row["ok"]:
            print(f"     {json.dumps(row['witness'])[:400]} {row['badges']}", flush=True)

    def write(self) -> None:
        """Write what there is; the file is whole at any moment."""
        if self.args.json:
            beside = self.args.json.with_suffix(".tmp")
            beside.write_text(json.dumps(self.document(), indent=1) + "\n", encoding="utf-8")
            beside.replace(self.args.json)

    def where(self) -> dict[str, Any]:
        """Return what the rows were measured on."""
        return {k: self.session.machine.get(k) for k in ("gpu", "cpu", "cores", "torch", "cuda", "driver")}

    def document(self) -> dict[str, Any]:
        """Return what is written to the results file."""
        return {
            "machine": self.where(),
            "date": datetime.now(UTC).date().isoformat(),
            "targets": targets(self.rows, asked=self.args.parts.split(",")),
            "left_out": self.left_out,
            "rows": self.rows,
        }


@contextlib.contextmanager
def nothing() -> Iterator[int]:
    """Run no compilers."""
    yield 0


@contextlib.contextmanager
def builds(cores: list[int]) -> Iterator[int]:
    """Keep a compiler busy on each of these cores with the header that every extension includes."""
    from torch.utils import cpp_extension

    flags = [f"-I{p}" for p in [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "a.cpp")
        source.write_text("#include <torch/extension.h>\n", encoding="ascii")
        loop = 'while :; do "$@"; done'
        command = ["sh", "-c", loop, "sh", "g++", "-O2", "-std=c++17", *flags, "-c", str(source), "-o", "/dev/null"]
        running = [
            subprocess.Popen(
                ["taskset", "-c", str(core), *command],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            for core in cores
        ]
        try:
            yield len(running)
        finally:
            for process in running:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def parser() -> argparse.ArgumentParser:
    """Return the parser."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cpu")
    p.add_argument("--parts", default="adversaries,honest,power,same,twice")
    p.add_argument("--part", default="1/1", help="the i-th of n shares of the cases")
    p.add_argument("--rows", default="", help="sizes of the A/A problem; default: all three")
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--honest-repeats", type=int, default=5)
    p.add_argument("--sessions", type=int, default=20)
    p.add_argument("--budget-s", type=float, default=4.0)
    p.add_argument("--timing-budget-s", type=float, default=20.0)
    p.add_argument("--seconds", type=float, default=3600.0)
    p.add_argument("--only", default="", help="only cases whose names contain this, or one of these, joined by commas")
    p.add_argument("--json", type=Path)
    p.add_argument("--resume", type=Path, help="results of an earlier call: what stands there is not run again")
    p.add_argument("--documents", type=Path, help="append every result document to this file")
    return p


def main() -> int:
    """Run the suite."""
    args = parser().parse_args()
    todo = chosen(args)
    suite = Suite(args)
    try:
        suite.run(todo)
    finally:
        suite.session.close()
        suite.write()
    document = suite.document()
    for target, measured, met in document["targets"]:
        print(f"{'met   ' if met else 'MISSED'} {target:<44} {measured}")
    for name in suite.left_out:
        print(f"not run, out of time: {name}")
    return 0 if all(met for *_, met in document["targets"]) else 1


if __name__ == "__main__":
    sys.exit(main())
