"""`kbstats show`: one run as a timeline."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer
from kbstats.analytics.output import Format, emit, place, plain, plain_line, to_json, width
from kbstats.ingest.errors import UsageError


def command(
    run: Annotated[list[str], typer.Argument(help="A run's id or its beginning, or words: model, level, problem.")],
    diff: Annotated[bool, typer.Option("--diff", help="Also what changed from each kernel to the next.")] = False,
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
    fmt: Annotated[Format, typer.Option("--format", help="csv and md list the tool calls.")] = Format.table,
) -> None:
    """Show one run: a line a turn, the error that mattered, outcome against label, findings, verification.

    Example: kbstats show sample-a L3 P1
    """
    from kbstats.analytics import runs, warehouse

    con = warehouse.open_read(db or warehouse.default_db())
    try:
        found = runs.load(con, runs.find(con, run))
        changes = runs.diffs(con, found) if diff else {}
        if diff:
            for c in (c for t in found["turns"] for c in t["calls"]):
                c["diff"] = "\n".join(changes.get((c["turn"], c["seq"]), [])) or None
    finally:
        con.close()
    if fmt is Format.json:
        print(to_json(found))
    elif fmt is Format.table:
        for line in _lines(found, changes):
            print(line)
    else:
        calls = [
            {k: v for k, v in c.items() if k != "diagnostics"} for t in found["turns"] for c in t["calls"]
        ]  # fmt: skip
        if not calls:
            raise UsageError("this run has no tool calls to list", hint="use --format json")
        emit(calls, fmt)


def _lines(found: dict[str, Any], changes: dict[tuple[int, int], list[str]]) -> list[str]:
    r = found["run"]
    name = r["model"] or r["model_raw"] or "(unknown)"
    words = dict.fromkeys([name, place(r), r["problem_name"] or ""])  # without a number the place is the name
    out = [plain_line("  ".join(words))]
    out += _facts(r)
    out.append("")
    for t in found["turns"]:
        out += _turn(t)
        for c in t["calls"]:
            out += [plain("         " + line) for line in changes.get((c["turn"], c["seq"]), [])]
    if found["turns"]:
        out.append("")
    out += _verdict(found)
    return [line.rstrip() for line in out]


def _pair(name: str, text: str) -> list[str]:
    """A name and its text, wrapped under itself."""
    lines = textwrap.wrap(plain(text).replace("\n", " "), max(width() - 12, 30), break_on_hyphens=False) or [""]
    return [f"{name:<11} {lines[0]}", *(" " * 12 + line for line in lines[1:])]


def _facts(r: dict[str, Any]) -> list[str]:
    out = _pair("run", f"{r['run_id']} ({r['format']})")
    place = ("suite", "sweep", "variant", "mode", "backend", "precision", "hardware")
    out += _pair("where", " · ".join(str(r[k]) for k in place if r[k]))
    spent = [
        f"{r['n_turns']} of {r['max_turns']} turns" if r["max_turns"] else r["n_turns"] and f"{r['n_turns']} turns",
        r["n_tool_calls"] and f"{r['n_tool_calls']} tool calls",
        r["wall_s"] and f"{r['wall_s']:,.0f} s",
        r["total_tokens"] and f"{r['total_tokens']:,} tokens",
        r["cost_usd"] and f"${r['cost_usd']:.2f}",
    ]
    if text := ", ".join(str(s) for s in spent if s):
        out += _pair("spent", text)
    speed = [
        r["speedup"]
        and f"{r['speedup']:.3g}x against {r['baseline'] or 'the reference'}"
        + (" (no measurable change)" if r["near_tie"] else ""),
        r["runtime_us"] and f"{r['runtime_us']:,.4g} us",
        r["ref_runtime_us"] and f"reference {r['ref_runtime_us']:,.4g} us",
    ]
    if text := ", ".join(str(s) for s in speed if s):
        out += _pair("claims", text)
    return out


def _call(c: dict[str, Any]) -> str:
    edit = "" if c["lines_added"] is None else f" (kernel +{c['lines_added']} -{c['lines_removed']})"
    return f"{c['tool']}{edit} {_MARK[c['ok']]}"


_MARK = {True: "ok", False: "FAIL", None: "?"}


def _turn(t: dict[str, Any]) -> list[str]:
    calls = ", ".join(map(_call, t["calls"])) or "no tool call"
    time = t.get("wall_s") if t.get("llm_s") is None else t["llm_s"] + (t.get("tools_s") or 0)
    seconds = "" if time is None else f"{time:>7.1f} s  "
    state = t.get("state") or ""
    out = [plain_line(f"turn {t['turn']:>2}  {seconds}{calls}" + (f"  [{state.replace('_', ' ')}]" if state else ""))]
    indent, room = " " * 9, max(width() - 9, 40)
    for c in t["calls"]:
        if c["ok"] is not False:
            continue
        # The build tool only says that the compiler failed.
        said = [d for d in c["diagnostics"] if d["toolchain"] != "ninja"]
        name = c["failure_class"] + (" (again, on the same kernel)" if c["repeated"] else "")
        words = "" if said else ": " + _short(c["evidence"], room - len(name) - 2)
        out.append(plain_line(f"{indent}{name}{words}"))
        for d in said[:3]:
            place = ":".join(str(v) for v in (d["file"], d["line"]) if v is not None)
            out.append(plain_line(f"{indent}  {_short(' '.join([place, d['message'] or '']), room - 2)}"))
        if len(said) > 3:
            out.append(f"{indent}  and {len(said) - 3} more")
    if t.get("feedback") and "failed" in t["feedback"]:
        out.append(plain_line(indent + _short(t["feedback"], room)))
    return out


def _short(text: str | None, size: int) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= size else line[: max(size - 1, 0)] + "…"


def _verdict(found: dict[str, Any]) -> list[str]:
    r = found["run"]
    label = r["source_outcome"] or ("correct" if r["correct"] else None)
    why = ", ".join(w for w in (r["failure_class"], r["owner"]) if w)
    text = r["outcome"] + (f" ({why})" if why else "")
    if r["decided_by"] != "label":
        text += f", decided by the {r['decided_by'].replace('_', ' ').replace('re evaluation', 're-evaluation')}"
    out = _pair("outcome", text)
    if r["label_conflict"]:
        out += _pair("label", f"{label}: CONFLICT with the evidence")
    elif label:
        out += _pair("label", str(label))
    if r["outcome"] != "correct" and r["evidence"]:
        out += _pair("evidence", _short(r["evidence"], 400))
    for t in found["trust"]:
        counts = "correct" if t["counts_correct"] else "does not count"
        if t["speedup"] is not None:
            counts += f", {t['speedup']:.3g}x"
        counts += f" ({t['reason'].replace('_', ' ')})" if t["reason"] else ""
        counts += f" on {t['verified_on']}" if t["verified_on"] else ""
        out += _pair(t["trust"], counts)
    for v in found["verifications"]:
        measured = "" if v["speedup"] is None else f", measured {v['speedup']:.3g}x"
        out += _pair("verified", f"{v['verdict']}{':' + v['kind'] if v['kind'] else ''}{measured} on {v['gpu_model']}")
    for f in found["findings"]:
        blocks = "" if f["blocks"] == "nothing" else f" [blocks {f['blocks']}]"
        out += _pair(f["severity"], f"{f['code']}: {f['message']}{blocks}")
    out += _said(found["annotations"])
    for link in found["links"]:
        role = "this record ranks" if link["richer"] else "that record ranks"
        out += _pair("same run", f"{link['other']} ({role}; matched on {link['matched_on']})")
    return out


def _said(annotations: list[dict[str, Any]]) -> list[str]:
    out: list[str] = []
    for a in annotations:
        by = f" ({a['author']})" if a["author"] else ""
        out += _pair("said", f"{a['verdict'] or 'note'}{by}: {a['text'] or ''}")
    return out
