"""The command line of a bundle: `python bundle/run.py -o results.jsonl`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .items import BundleError, load_bundle
from .session import NoVerdictError, Session, run_items


def parser() -> argparse.ArgumentParser:
    """Return the parser."""
    p = argparse.ArgumentParser(
        prog="run.py", description="Verify the kernels of this bundle. Needs Python 3.11 and torch alone."
    )
    p.add_argument("-o", "--output", type=Path, required=True, help="results file, one JSON object a line; appended to")
    p.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu (default: cuda)")
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
        choices=["compile"],
        help="time against torch.compile as well (CUDA; some 20 s a problem)",
    )
    p.add_argument("--no-sandbox", action="store_true", help="run without walls; such results never count")
    return p


def main(folder: Path, argv: list[str] | None = None) -> int:
    """Run a bundle. Returns 0 when every item has a verdict, 1 when none could be reached, 2 for wrong usage."""
    args = parser().parse_args(argv)
    try:
        items = load_bundle(folder)
        if args.only:
            items = [
                i for i in items if any(i.kernel_sha256.startswith(t) or t in (i.problem_name or "") for t in args.only)
            ]
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
