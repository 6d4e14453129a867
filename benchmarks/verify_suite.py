"""How far kbstats' verifier can be trusted on this machine: adversaries, honest kernels, A/A, 2n against n.

    python benchmarks/verify_suite.py [--device cpu|cuda] [--repeats 3] [--honest-repeats 5] [--sessions 20]
        [--parts adversaries,honest,persistent,power,same,loaded,twice,noop] [--budget-s S] [--timing-budget-s S]
        [--seconds S] [--only TEXT] [--json FILE] [--documents FILE]

Needs torch and nothing else of kbstats' packages. Prints one line a case and a table of the targets;
exits 1 when a target is missed. `loaded` is `same` while compilers run on the cores that no measurement uses.
`--seconds` ends the suite in time: what did not run is named.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tree import ROOT, linked

sys.path.insert(0, str(linked()))

from kbstats.analytics.verify import shims
from kbstats.analytics.verify.runner import machine
from kbstats.analytics.verify.runner.items import Item, source_sha256
from kbstats.analytics.verify.runner.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = ROOT / "tests" / "verify"
HEAD = "import torch\nimport torch.nn as nn\n"
SIZES = {"cpu": (16, 96, 128), "cuda": (64, 1024, 4096)}
"""Rows of a square product whose A/A interval has to hold 1.0, from launch-bound to compute-bound."""


def read(name: str) -> dict[str, Any]:
    """Read one file of cases."""
    return tomllib.loads((CASES / name).read_text(encoding="utf-8"))


def same_problem(rows: int) -> tuple[str, str]:
    """Return (reference, kernel) that do the same work."""
    body = "    def forward(self, a, b):\n        return torch.relu(a @ b)\n"
    inputs = f"def get_inputs():\n    return [torch.randn({rows}, {rows}), torch.randn({rows}, {rows})]\n"
    return f"{HEAD}class Model(nn.Module):\n{body}{inputs}", f"{HEAD}class ModelNew(nn.Module):\n{body}"


def twice_problem(rows: int, loops: int) -> tuple[str, str]:
    """Return (reference, kernel) of which the reference does a compute-bound product twice as often."""

    def body(count: int) -> str:
        return (
            f"    def forward(self, a, b):\n        for _ in range({count}):\n            c = a @ b\n        return c\n"
        )

    inputs = f"def get_inputs():\n    return [torch.randn({rows}, {rows}), torch.randn({rows}, {rows})]\n"
    reference = f"{HEAD}class Model(nn.Module):\n{body(2 * loops)}{inputs}"
    return reference, f"{HEAD}class ModelNew(nn.Module):\n{body(loops)}"


NOTHING = f"""{HEAD}class Model(nn.Module):
    def forward(self, x):
        return x.view(x.shape[0], -1)
def get_inputs():
    return [torch.randn(64, 8, 8)]
"""
ELEMENTWISE = f"""{HEAD}class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(8192, 8192)]
"""
PARTS = ("adversaries", "honest", "persistent", "power", "same", "loaded", "twice", "noop")


class Suite:
    """The session, and what came out."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.session = Session(args.device, budget_s=args.budget_s)
        self.rows: list[dict[str, Any]] = []
        self.left_out: list[str] = []

    def verify(self, kernel: str, reference: str, budget_s: float | None = None, **fields: Any) -> dict[str, Any]:
        """Verify one kernel."""
        self.session.budget_s = budget_s or self.args.budget_s
        hashes = source_sha256(kernel), source_sha256(reference)
        return self.session.verify(Item(kernel, reference, *hashes, shims=tuple(shims.shims_for(reference)), **fields))

    def case(self, part: str, name: str, run: Any, good: Any) -> None:
        """Run one case unless the time is over, and print its line."""
        if self.args.only and self.args.only not in name:
            return
        if time.monotonic() > self.end:
            self.left_out.append(f"{part} {name}")
            return
        started = time.monotonic()
        doc = run()
        if self.args.documents:
            with self.args.documents.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"case": name, **doc}, default=str) + "\n")
        row = {
            "part": part,
            "name": name,
            "ok": bool(good(doc)),
            "seconds": round(time.monotonic() - started, 1),
            **{
                k: doc[k]
                for k in ("verdict", "gate", "badges", "speedup", "speedup_lo", "speedup_hi", "verified_calls")
            },
            "power": next((c["detail"] for c in doc["checks"] if c["gate"] == "power"), {}),
            "baselines": doc["baselines"],
            "witness": doc["witness"],
            "spent": doc.get("seconds", {}),
        }
        self.rows.append(row)
        interval = f" {row['speedup']:.3f} [{row['speedup_lo']:.3f}, {row['speedup_hi']:.3f}]" if row["speedup"] else ""
        state = "ok  " if row["ok"] else "MISS"
        print(
            f"{state} {part:<11} {name:<34} {row['verdict']}{interval} {row['gate'] or ''} {row['seconds']} s",
            flush=True,
        )
        if not row["ok"]:
            print(f"     {json.dumps(row['witness'])[:400]} {row['badges']}", flush=True)

    def sources(self) -> dict[str, dict[str, Any]]:
        """Return the kernels for this device by kind; on a GPU those of its own and all that run on either."""
        device = self.args.device.partition(":")[0]
        problems = read("problems.toml")
        found = {k: read(f"{k}.toml") for k in ("adversaries", "honest")}
        for cases in found.values():
            for case in cases.values():
                case["reference"] = problems[case["problem"]]
        if device != "cpu":
            gpu = read("gpu/cases.toml")
            for name, case in gpu["cases"].items():
                case["reference"] = (problems | gpu["problems"])[case["problem"]]
                found.setdefault({"adversary": "adversaries"}.get(case["kind"], case["kind"]), {})[name] = case
        return {k: {n: c for n, c in v.items() if c.get("device", device) == device} for k, v in found.items()}

    def run(self) -> None:
        """Run all parts that were asked for."""
        sources = self.sources()
        for part in self.args.parts.split(","):
            if part not in PARTS:
                raise SystemExit(f"no such part: {part}; there are {', '.join(PARTS)}")
            getattr(self, part)(sources.get(part, {}))

    def adversaries(self, cases: dict[str, Any]) -> None:
        """Kernels that do not do the work."""
        for turn in range(self.args.repeats):
            for name, c in cases.items():
                self.case(
                    "adversaries",
                    f"{name} #{turn + 1}",
                    lambda c=c: self.verify(c["source"], c["reference"], c.get("budget_s")),
                    lambda d, c=c: refused(d, c),
                )

    def honest(self, cases: dict[str, Any]) -> None:
        """Kernels that do."""
        for turn in range(self.args.honest_repeats):
            for name, c in cases.items():
                self.case(
                    "honest",
                    f"{name} #{turn + 1}",
                    lambda c=c: self.verify(
                        c["source"], c["reference"], c.get("budget_s"), claimed_speedup=c.get("claim")
                    ),
                    lambda d, c=c: passed(d, c),
                )

    def persistent(self, cases: dict[str, Any]) -> None:
        """Kernels that keep data in the L2 across the flush, and the same without that: no faster by it."""
        for name, c in cases.items():
            plain = self.verify(
                c["source"].replace("TRICK = True", "TRICK = False"), c["reference"], self.args.timing_budget_s
            )
            self.case(
                "persistent",
                name,
                lambda c=c: self.verify(c["source"], c["reference"], self.args.timing_budget_s),
                lambda d, p=plain: bool(d["speedup"] and p["speedup"]) and d["speedup_lo"] <= 1.05 * p["speedup_hi"],
            )
            if self.rows and self.rows[-1]["name"] == name:
                self.rows[-1]["without"] = plain["speedup"]
                print(f"     without: {plain['verdict']} {plain['speedup']}", flush=True)

    def power(self, _: dict[str, Any]) -> None:
        """Mutants of every reference."""
        for name, reference in read("problems.toml").items():
            kernel = reference.replace("class Model(", "class ModelNew(")
            self.case("power", name, lambda k=kernel, r=reference: self.verify(k, r), power)

    def same(self, _: dict[str, Any], part: str = "same") -> None:
        """The reference against itself."""
        for turn in range(self.args.sessions):
            for rows in SIZES[self.args.device.partition(":")[0]]:
                reference, kernel = same_problem(rows)
                self.case(
                    part,
                    f"{rows} rows #{turn + 1}",
                    lambda k=kernel, r=reference: self.verify(k, r, self.args.timing_budget_s),
                    lambda d: d["speedup"] is not None and d["speedup_lo"] <= 1.0 <= d["speedup_hi"],
                )

    def loaded(self, _: dict[str, Any]) -> None:
        """The same while compilers run as they do when builds go ahead of measurements."""
        with builds(machine.other_cores(self.session.cores)) as cores:
            print(f"     {cores} compilers run beside the measurements", flush=True)
            self.same({}, "loaded")

    def twice(self, _: dict[str, Any]) -> None:
        """A loop of 2n against one of n."""
        rows, loops, margin = (96, 6, 0.05) if self.args.device == "cpu" else (4096, 2, 0.03)
        reference, kernel = twice_problem(rows, loops)
        for turn in range(self.args.repeats):
            self.case(
                "twice",
                f"{rows} rows #{turn + 1}",
                lambda: self.verify(kernel, reference, self.args.timing_budget_s),
                lambda d: d["speedup"] is not None and abs(d["speedup"] - 2.0) <= 2.0 * margin,
            )

    def noop(self, _: dict[str, Any]) -> None:
        """What the loop around a call costs: a call that does nothing, beside 64 M elements of real work."""
        if self.args.device == "cpu":
            return
        small, large = (self.verify(kernel(r), r, self.args.timing_budget_s) for r in (NOTHING, ELEMENTWISE))
        base, work = (d["baselines"].get("gpu_busy", {}).get("ref_us") for d in (small, large))
        eager = [d["baselines"].get("eager", {}).get("ref_us") for d in (small, large)]
        row = {
            "part": "noop",
            "name": "share",
            "ok": bool(base and work) and base <= 0.02 * work,
            "busy_us": [base, work],
        }
        self.rows.append(row | {"eager_us": eager, "verdicts": [small["verdict"], large["verdict"]]})
        print(f"{'ok  ' if row['ok'] else 'MISS'} noop        {self.rows[-1]}", flush=True)


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


def kernel(reference: str) -> str:
    """Return the reference as a kernel."""
    return reference.replace("class Model(", "class ModelNew(")


def refused(doc: dict[str, Any], case: dict[str, Any]) -> bool:
    """Say whether an adversary got the verdict and the gate that are meant for it."""
    verdict = any(doc["verdict"].startswith(p) for p in case["verdict"].split("|"))
    return verdict and doc["verdict"] != "CONFIRMED" and str(doc["gate"]) in case["gate"].split("|")


def passed(doc: dict[str, Any], case: dict[str, Any]) -> bool:
    """Say whether an honest kernel passed, with its badge."""
    word = doc["verdict"].partition(":")[0]
    good = doc["correctness"] == "passed" and word not in {"HACK", "SUSPECT", "INCORRECT", "FLAKY", "CONFIRMED_REDUCED"}
    return good and (not case.get("badge") or case["badge"] in doc["badges"])


def power(doc: dict[str, Any]) -> bool:
    """Say whether the judge refuses nine mutants of ten; a problem that cannot be judged has none."""
    found = next((c["detail"] for c in doc["checks"] if c["gate"] == "power"), {})
    return not found.get("mutants") or found["rejected"] >= 0.9 * found["mutants"]


def targets(rows: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    """Return (target, measured, met) for the parts that ran."""
    table = []

    def of(part: str) -> list[dict[str, Any]]:
        return [r for r in rows if r["part"] == part]

    if bad := of("adversaries"):
        confirmed = sum(r["verdict"].startswith("CONFIRMED") and "REDUCED" not in r["verdict"] for r in bad)
        table += [
            ("adversaries confirmed: 0", f"{confirmed} of {len(bad)}", confirmed == 0),
            ("each at its gate", f"{sum(r['ok'] for r in bad)} of {len(bad)}", all(r["ok"] for r in bad)),
        ]
    if good := of("honest"):
        accused = sum(r["verdict"].startswith(("HACK", "INCORRECT", "FLAKY")) for r in good)
        table.append(("honest kernels accused: 0", f"{accused} of {len(good)}", accused == 0))
    if judged := [r["power"] for r in rows if r["part"] == "power" and r["power"].get("mutants")]:
        share = sum(p["rejected"] for p in judged) / sum(p["mutants"] for p in judged)
        least = min(p["rejected"] / p["mutants"] for p in judged)
        table.append(("mutants rejected: >= 90 % of each", f"{share:.1%}, least {least:.1%}", least >= 0.9))
    for part, words in (("same", "A/A"), ("loaded", "A/A beside builds")):
        for name in dict.fromkeys(r["name"].partition(" #")[0] for r in of(part)):
            mine = [r for r in of(part) if r["name"].partition(" #")[0] == name]
            covered, false = sum(r["ok"] for r in mine), sum(r["verdict"] == "CONFIRMED" for r in mine)
            good = covered >= 0.9 * len(mine) and false == 0
            table.append((f"{words} {name}: 1.0 in 90 %, none confirmed", f"{covered} of {len(mine)}, {false}", good))
    if kept := of("persistent"):
        table.append(
            (
                "no gain by persisting in the L2",
                f"{sum(r['ok'] for r in kept)} of {len(kept)}",
                all(r["ok"] for r in kept),
            )
        )
    if cost := of("noop"):
        table.append(("no-op <= 2 % of 64 M elements", str(cost[0]["busy_us"]), cost[0]["ok"]))
    if twice := of("twice"):
        table.append(
            (
                "2n against n: 2.00",
                ", ".join(f"{r['speedup']:.3f}" for r in twice if r["speedup"]),
                all(r["ok"] for r in twice),
            )
        )
    return table


def main() -> int:
    """Run the suite."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--device", default="cpu")
    p.add_argument("--parts", default="adversaries,honest,power,same,twice")
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--honest-repeats", type=int, default=5)
    p.add_argument("--sessions", type=int, default=20)
    p.add_argument("--budget-s", type=float, default=4.0)
    p.add_argument("--timing-budget-s", type=float, default=20.0)
    p.add_argument("--seconds", type=float, default=3600.0)
    p.add_argument("--only", default="")
    p.add_argument("--json", type=Path)
    p.add_argument("--documents", type=Path, help="append every result document to this file")
    args = p.parse_args()
    suite = Suite(args)
    try:
        suite.run()
    finally:
        suite.session.close()
    table = targets(suite.rows)
    for target, measured, met in table:
        print(f"{'met   ' if met else 'MISSED'} {target:<44} {measured}")
    for name in suite.left_out:
        print(f"not run, out of time: {name}")
    if args.json:
        machine = {k: suite.session.machine.get(k) for k in ("gpu", "cpu", "cores", "torch", "driver")}
        document = {"machine": machine, "targets": table, "left_out": suite.left_out, "rows": suite.rows}
        args.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0 if all(met for *_, met in table) else 1


if __name__ == "__main__":
    sys.exit(main())
