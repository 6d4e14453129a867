"""The command line of a bundle: `python bundle/run.py -o results.jsonl`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import BASELINES, agreement
from .items import BundleError, Item, against_itself, load_bundle
from .schedule import Options, Pool, devices_of
from .session import NoVerdictError, Session, run_items


def parser() -> argparse.ArgumentParser:
    """Return the parser."""
    p = argparse.ArgumentParser(
        prog="run.py", description="Verify the kernels of this bundle. Needs Python 3.11 and torch alone."
    )
    p.add_argument("-o", "--output", type=Path, required=True, help="results file, one JSON object a line; appended to")
    p.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu (default: cuda)")
    p.add_argument(
        "--devices",
        metavar="LIST",
        help="several devices of this host: 0,1 or all (cpu:0,cpu:1 pretends); each takes the next kernel",
    )
    p.add_argument("--each", action="store_true", help="with --devices: every device measures every kernel")
    p.add_argument("--aa", action="store_true", help="each reference against itself, in place of the kernels")
    p.add_argument("--report", action="store_true", help="say what OUTPUT holds of devices: throughput, agreement")
    p.add_argument("--budget-s", type=float, default=None, help="seconds a kernel may cost beside its build")
    p.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TEXT",
        help="only kernels whose hash starts with, or problem name contains, TEXT",
    )
    p.add_argument("--replay", type=Path, metavar="RESULTS", help="repeat the results of this file, with their seeds")
    p.add_argument(
        "--baseline",
        action="append",
        default=[],
        choices=BASELINES,
        help="time against this as well, on CUDA: TF32 allowed, torch.compile (some 20 s a problem), its max-autotune",
    )
    p.add_argument("--no-sandbox", action="store_true", help="run without walls; such results never count")
    return p


def main(folder: Path, argv: list[str] | None = None) -> int:
    """Run a bundle. Returns 0 when every item has a verdict, 1 when none could be reached, 2 for wrong usage."""
    args = parser().parse_args(argv)
    try:
        if args.report:
            print(agreement.text(agreement.of(args.output)))  # noqa: T201  its output
            return 0
        items = load_bundle(folder)
        if args.only:
            items = [
                i for i in items if any(i.kernel_sha256.startswith(t) or t in (i.problem_name or "") for t in args.only)
            ]
        if args.aa:
            items = list({i.kernel_sha256: i for i in map(against_itself, items)}.values())
        if args.devices:
            return _pool(items, args)
        with Session(
            args.device,
            budget_s=args.budget_s,
            no_sandbox=args.no_sandbox,
            results=args.output.resolve(),
            baselines=args.baseline,
            replay=args.replay,
        ) as session:
            run_items(session, items, args.output)
    except (BundleError, NoVerdictError) as error:
        hint = getattr(error, "hint", None)
        print(f"error: {error}" + (f" (try: {hint})" if hint else ""), file=sys.stderr)  # noqa: T201  its output
        return 1
    except KeyboardInterrupt:
        print("interrupted; what is done is in the results file", file=sys.stderr)  # noqa: T201  its output
        return 130
    return 0


def _pool(items: list[Item], args: argparse.Namespace) -> int:
    options = Options(
        budget_s=args.budget_s,
        no_sandbox=args.no_sandbox,
        baselines=tuple(args.baseline),
        replay=str(args.replay.resolve()) if args.replay else None,
        each=args.each,
    )
    done = Pool(items, devices_of(args.devices), args.output, options).run()
    print(f"{len(done.documents)} results in {done.wall_s:.0f} s", file=sys.stderr)  # noqa: T201  its output
    for label in done.lost:
        print(f"no result: {label}", file=sys.stderr)  # noqa: T201  its output
    return 1 if done.lost else 0
