"""`kbstats verify`: run kernels again beside their references, and say whether the claim holds."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kbstats.analytics.verify.plan import Plan, Selection

app = typer.Typer(no_args_is_help=False)


class Format(StrEnum):
    """Output formats."""

    table = "table"
    json = "json"


Top = Annotated[int, typer.Option("--top", min=1, help="How many of the best claims.")]
Level = Annotated[list[int] | None, typer.Option("--level", help="Only this level; repeatable.")]
Model = Annotated[list[str] | None, typer.Option("--model", help="Only this model; repeatable.")]
Sweep = Annotated[list[str] | None, typer.Option("--sweep", help="Only this sweep; repeatable.")]
Variant = Annotated[list[str] | None, typer.Option("--variant", help="Only this variant; repeatable.")]
Suite = Annotated[list[str] | None, typer.Option("--suite", help="Only this suite; repeatable.")]
Mode = Annotated[list[str] | None, typer.Option("--mode", help="Only this tool tier; repeatable.")]
Hardware = Annotated[list[str] | None, typer.Option("--hardware", help="Only claims for this GPU; repeatable.")]
Backend = Annotated[list[str] | None, typer.Option("--backend", help="Only this backend; repeatable.")]
Claimed = Annotated[
    list[str] | None, typer.Option("--claimed-precision", help="Only claims for this precision; repeatable.")
]
Run = Annotated[list[str] | None, typer.Option("--run", help="This run, whatever its claim; repeatable.")]
Problems = Annotated[
    Path | None, typer.Option("--problems", help="The suite's checkout: level1/, level2/, … or KernelBench/.")
]
Shim = Annotated[
    list[Path] | None, typer.Option("--shim", help="A Python file with names the references need; repeatable.")
]
Device = Annotated[str, typer.Option("--device", help="cuda, cuda:N or cpu.")]
Precision = Annotated[
    str | None, typer.Option("--precision", help="Run in this precision instead of the claim's: fp32, fp16, bf16.")
]
Budget = Annotated[
    float | None, typer.Option("--budget-s", min=1.0, help="Seconds a kernel may cost beside its build.")
]
Flagged = Annotated[
    bool, typer.Option("--flagged", help="Only runs with an audit finding that blocks their speed, answer or identity.")
]
Sample = Annotated[
    int | None, typer.Option("--sample", min=1, help="This many runs at random, for an error rate of the whole board.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of --sample: the same runs again.")]
Base = Annotated[
    list[str] | None,
    typer.Option("--baseline", help="tf32, compile or max-autotune: time against it as well (CUDA); repeatable."),
]
Replay = Annotated[
    Path | None,
    typer.Option("--replay", help="A results file: repeat its results, with the seeds they had."),
]
Engine = Annotated[
    str | None, typer.Option("--engine", help="local (all devices of this machine), slurm or ray; see docs/scale.md.")
]
Devices = Annotated[
    str | None, typer.Option("--devices", metavar="LIST", help="Several GPUs of this machine: 0,1 or all.")
]
EngineOption = Annotated[
    list[str] | None, typer.Option("--engine-option", metavar="KEY=VALUE", help="For the engine; repeatable.")
]
NoSandbox = Annotated[bool, typer.Option("--no-sandbox", help="Run without walls; such results never count.")]
Db = Annotated[Path | None, typer.Option("--db", help="Database file (default: kbstats.duckdb or $KBSTATS_DB).")]
Form = Annotated[Format, typer.Option("--format", help="table for a person, json for a program.")]


def _select(chosen: Selection, problems: Path | None, shim: list[Path] | None, precision: str | None, db: Path) -> Plan:
    from kbstats.analytics import offers, warehouse
    from kbstats.analytics.verify import plan
    from kbstats.ingest.errors import KbstatsError, UsageError

    if problems is None:
        raise UsageError("the references are needed", hint="name the suite's checkout with --problems DIR")
    if not problems.is_dir():
        raise UsageError("no such folder", location=problems, hint="--problems takes the suite's checkout")
    con = warehouse.open_read(db)
    try:
        made = plan.make(
            con, chosen, problems.resolve(), shim=shim or (), precision=precision, version=warehouse.version()
        )
        unmet = [] if made.items else offers.missing(con, plan.filters_of(chosen))
    finally:
        con.close()
    for line in [*(f"left out: {name}" for name in made.left_out), *unmet]:
        typer.echo(line, err=True)
    if not made.items:
        raise KbstatsError("nothing to verify", hint="see the lines above, or loosen the filters")
    return made


def _run(
    items: list[Any],
    device: str,
    output: Path | None,
    *,
    budget_s: float | None,
    no_sandbox: bool,
    baselines: list[str] | None = None,
    replay: Path | None = None,
    engine: str | None = None,
    devices: str | None = None,
    engine_options: list[str] | None = None,
) -> list[dict[str, Any]]:
    from kbstats.analytics.verify.runner import BASELINES
    from kbstats.analytics.verify.runner.session import NoVerdictError, Session, check_writable, run_items
    from kbstats.ingest.errors import KbstatsError, UsageError

    kind, _, number = device.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdigit()) or (kind == "cpu" and number):
        raise UsageError(f"no such device: {device}", hint="--device cuda, cuda:N or cpu")
    if unknown := set(baselines or ()) - set(BASELINES):
        raise UsageError(f"no such baseline: {min(unknown)}", hint=f"{', '.join(BASELINES)}; eager is always timed")
    try:
        if output:
            # Not behind a run that took minutes.
            check_writable(output)
        if engine or devices:
            from kbstats.analytics.executors import verifying
            from kbstats.analytics.verify.runner.schedule import Options

            options = Options(budget_s, no_sandbox, tuple(baselines or ()), str(replay.resolve()) if replay else None)
            done = verifying.run(
                items, kind, output, options, engine=engine or "local", devices=devices,
                engine_options=engine_options or (),
            )  # fmt: skip
            for label in done.lost:
                typer.echo(f"no result: {label}", err=True)
            return done.documents
        with Session(
            device,
            budget_s=budget_s,
            no_sandbox=no_sandbox,
            results=output.resolve() if output else None,
            baselines=baselines or (),
            replay=replay,
        ) as session:
            return run_items(session, items, output)
    except NoVerdictError as error:
        raise KbstatsError(str(error), hint=error.hint) from error


def _print(documents: list[dict[str, Any]], fmt: Format, *, single: bool) -> None:
    if fmt is Format.json:
        import json

        typer.echo(json.dumps(documents[0] if single and len(documents) == 1 else documents, indent=1))
        return
    from kbstats.analytics.output import plain
    from kbstats.analytics.verify import show

    for document in documents:
        for line in show.lines(document):
            typer.echo(plain(line))


@app.callback(invoke_without_command=True)
def verify(  # noqa: PLR0917  one argument an option
    ctx: typer.Context,
    top: Top = 10,
    level: Level = None,
    model: Model = None,
    sweep: Sweep = None,
    variant: Variant = None,
    suite: Suite = None,
    mode: Mode = None,
    hardware: Hardware = None,
    backend: Backend = None,
    claimed_precision: Claimed = None,
    run: Run = None,
    problems: Problems = None,
    shim: Shim = None,
    kernel_file: Annotated[
        Path | None, typer.Option("--kernel-file", help="A kernel's file; needs --reference-file, no database.")
    ] = None,
    reference_file: Annotated[Path | None, typer.Option("--reference-file", help="Its reference's file.")] = None,
    claim: Annotated[
        float | None, typer.Option("--claim", min=0.0, help="The speedup claimed for --kernel-file.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Results file (default: verifications.jsonl beside the database)."),
    ] = None,
    device: Device = "cuda",
    precision: Precision = None,
    flagged: Flagged = False,
    sample: Sample = None,
    seed: Seed = 0,
    baseline: Base = None,
    replay: Replay = None,
    budget_s: Budget = None,
    no_sandbox: NoSandbox = False,
    engine: Engine = None,
    devices: Devices = None,
    engine_option: EngineOption = None,
    db: Db = None,
    fmt: Form = Format.table,
) -> None:
    """Re-run kernels in a sandbox against their references: right, and as fast as claimed?

    Chooses kernels, runs them, and takes the results in; `plan`, `run` and `import` do the three apart.

    Example: kbstats verify --top 3 --level 3 --problems problems/

    Example: kbstats verify --kernel-file mine.py --reference-file reference.py --device cpu
    """
    if ctx.invoked_subcommand:
        return
    from kbstats.ingest.errors import UsageError

    if claim is not None and not (0.0 < claim < float("inf")):
        raise UsageError("a claim is a speedup", hint="--claim takes a number above 0, as 2.3")
    if (kernel_file is None) != (reference_file is None):
        raise UsageError("--kernel-file and --reference-file go together")
    if kernel_file is not None and reference_file is not None:
        from kbstats.analytics.verify import plan
        from kbstats.analytics.warehouse import version

        item = plan.from_files(
            kernel_file, reference_file, claim=claim, shim=shim or (), precision=precision, version=version()
        )
        documents = _run(
            [item], device, output, budget_s=budget_s, no_sandbox=no_sandbox, baselines=baseline, replay=replay,
            engine=engine, devices=devices, engine_options=engine_option,
        )  # fmt: skip
        _print(documents, fmt, single=True)
        return
    from kbstats.analytics import warehouse
    from kbstats.analytics.verify.importing import import_results, runs_of
    from kbstats.analytics.verify.plan import Selection

    if replay is not None:
        run = [*(run or []), *runs_of(replay)]
    where = db or warehouse.default_db()
    chosen = Selection(
        top, level or (), model or (), sweep or (), variant or (), suite or (), run or (), mode or (), hardware or (),
        backend or (), claimed_precision or (), flagged=flagged, sample=sample, seed=seed,
    )  # fmt: skip
    made = _select(chosen, problems, shim, precision, where)
    results = output or where.resolve().parent / "verifications.jsonl"
    documents = _run(
        made.items, device, results, budget_s=budget_s, no_sandbox=no_sandbox, baselines=baseline, replay=replay,
        engine=engine, devices=devices, engine_options=engine_option,
    )  # fmt: skip
    if results.exists():
        import_results([results], where)
    _print(documents, fmt, single=False)


@app.command("plan")
def plan_command(  # noqa: PLR0917  one argument an option
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the bundle.")],
    top: Top = 10,
    level: Level = None,
    model: Model = None,
    sweep: Sweep = None,
    variant: Variant = None,
    suite: Suite = None,
    mode: Mode = None,
    hardware: Hardware = None,
    backend: Backend = None,
    claimed_precision: Claimed = None,
    run: Run = None,
    problems: Problems = None,
    shim: Shim = None,
    precision: Precision = None,
    flagged: Flagged = False,
    sample: Sample = None,
    seed: Seed = 0,
    db: Db = None,
    device: Device = "cuda",
) -> None:
    """Write the kernels, their references and the runner as a bundle for a box that has torch alone.

    Example: kbstats verify plan --top 20 --problems problems/ -o bundle/
    """
    from kbstats.analytics.verify import plan
    from kbstats.analytics.warehouse import default_db, version

    chosen = plan.Selection(
        top, level or (), model or (), sweep or (), variant or (), suite or (), run or (), mode or (), hardware or (),
        backend or (), claimed_precision or (), flagged=flagged, sample=sample, seed=seed,
    )  # fmt: skip
    made = _select(chosen, problems, shim, precision, db or default_db())
    plan.write_bundle(made, output, version=version())
    typer.echo(
        f"{len(made.items)} kernels in {output}; there: python {output.name}/run.py -o results.jsonl --device {device}"
    )


@app.command("run")
def run_command(  # noqa: PLR0917  one argument an option
    bundle: Annotated[Path, typer.Argument(help="Folder of a bundle.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Results file, appended to.")],
    device: Device = "cuda",
    baseline: Base = None,
    replay: Replay = None,
    budget_s: Budget = None,
    no_sandbox: NoSandbox = False,
    engine: Engine = None,
    devices: Devices = None,
    engine_option: EngineOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Only kernels by start of hash or part of problem name; repeatable."),
    ] = None,
    fmt: Form = Format.table,
) -> None:
    """Run a bundle here, as its own run.py does.

    Example: kbstats verify run bundle/ -o results.jsonl
    """
    from kbstats.analytics.verify.runner.items import BundleError, load_bundle
    from kbstats.ingest.errors import KbstatsError

    try:
        items = load_bundle(bundle)
    except BundleError as error:
        raise KbstatsError(str(error), hint="kbstats verify plan -o DIR writes a bundle") from error
    if only:
        items = [i for i in items if any(i.kernel_sha256.startswith(t) or t in (i.problem_name or "") for t in only)]
    documents = _run(
        items, device, output, budget_s=budget_s, no_sandbox=no_sandbox, baselines=baseline, replay=replay,
        engine=engine, devices=devices, engine_options=engine_option,
    )  # fmt: skip
    _print(documents, fmt, single=False)


@app.command("import")
def import_command(
    results: Annotated[list[Path], typer.Argument(help="Results files.")],
    db: Db = None,
) -> None:
    """Take results files into the database. They can be ingested as well: `kbstats ingest results.jsonl`.

    Example: kbstats verify import results.jsonl
    """
    from kbstats.analytics import warehouse
    from kbstats.analytics.verify.importing import import_results

    count, _ = import_results(results, db or warehouse.default_db())
    typer.echo(f"{count} results in {len(results)} files taken in")


@app.command("show")
def show_command(
    results: Annotated[Path, typer.Argument(help="A results file.")],
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Only kernels by start of hash or part of problem name; repeatable."),
    ] = None,
    fmt: Form = Format.table,
) -> None:
    """Print results for a person.

    Example: kbstats verify show results.jsonl
    """
    import json

    from kbstats.analytics.verify.schema import check_file

    check_file(results)
    documents = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines() if line.strip()]
    if only:
        documents = [
            d
            for d in documents
            if any(d["kernel_sha256"].startswith(t) or t in (d["problem_name"] or "") for t in only)
        ]
    _print(documents, fmt, single=False)
