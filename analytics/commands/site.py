"""`kbstats site build` and `kbstats site serve`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Build the static site, or look at a built one.")


@app.command()
def build(
    *,
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder of the site; new, empty, or an earlier build.")],
    db: Annotated[Path | None, typer.Option("--db", help="Database file.")] = None,
    title: Annotated[str, typer.Option("--title", help="Title of the site.")] = "kernel leaderboard",
    redact: Annotated[
        bool, typer.Option("--redact/--no-redact", help="Hide private paths, names, e-mail addresses and secrets.")
    ] = True,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that holds other files (they are left alone).")
    ] = False,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Where the site will stand; adds canonical links and a sitemap.")
    ] = None,
    include_db: Annotated[
        bool, typer.Option("--include-db", help="Publish the database file too; only with --no-redact.")
    ] = False,
    require_verified: Annotated[
        bool, typer.Option("--require-verified", help="Fail unless a re-run confirmed every speedup that counts.")
    ] = False,
    fail_on: Annotated[
        list[str] | None, typer.Option("--fail-on", help="Fail if a run carries this finding; repeatable.")
    ] = None,
) -> None:
    """Build one static site from the database: it opens from the file system, without a network.

    Example: kbstats site build -o board/ --title "Our kernels"
    """
    from kbstats.analytics import offers
    from kbstats.analytics.warehouse import default_db, open_read
    from kbstats.site import fmt
    from kbstats.site.build import build as build_site

    report = build_site(
        db or default_db(),
        out,
        force=force,
        title=title,
        redact=redact,
        base_url=base_url,
        include_db=include_db,
        require_verified=require_verified,
        fail_on=tuple(fail_on or ()),
    )
    with open_read(db or default_db()) as con:
        for line in offers.missing(con, {}):
            print(f"kbstats: {line}", file=sys.stderr)
    if not redact:
        print("nothing was hidden (--no-redact)", file=sys.stderr)
    elif report.hidden:
        kinds = ", ".join(f"{n:,} × {kind}" for kind, n in report.hidden.items())
        print(f"hidden: {kinds} (see data.html)", file=sys.stderr)
    counts = f"{report.written:,} files written, {report.unchanged:,} unchanged, {report.removed:,} removed"
    print(f"{counts}; {fmt.size(report.size)} in {report.seconds:.1f} s", file=sys.stderr)
    print(f"site: {(report.root / 'index.html').resolve()}", file=sys.stderr)


@app.command()
def serve(
    folder: Annotated[Path, typer.Argument(help="Folder of a built site.")],
    port: Annotated[int, typer.Option("--port", help="Port on this machine; 0 takes a free one.")] = 8000,
) -> None:
    """Serve a built site on this machine alone (127.0.0.1), until interrupted.

    Example: kbstats site serve board/ --port 0
    """
    from kbstats.site.serve import HOST, server

    with server(folder, port) as httpd:
        print(f"http://{HOST}:{httpd.server_address[1]}/ (stop with Ctrl-C)", file=sys.stderr)
        httpd.serve_forever()
