"""What the verifier's suite has to show, from its rows."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
GAIN = 1.05
"""A kernel that persists data in the L2 may be this much faster than its twin, which is their noise."""
NOOP = 0.02
"""The loop around a call may cost this part of an elementwise kernel over 64 M elements."""


WANTED = {"same": 20, "loaded": 20}
"""Sessions without which an A/A says little."""


def targets(rows: list[Row], asked: list[str]) -> list[tuple[str, str, bool]]:
    """Return (target, measured, met); a part that was asked for and has no rows is missed."""

    def of(part: str) -> list[Row]:
        return [r for r in rows if r["part"] == part]

    table = [(f"{part}: ran", "no rows", False) for part in asked if not of(part)]
    if bad := of("adversaries"):
        # A case whose verdict may be CONFIRMED or CONFIRMED_REDUCED names it, and is ok with it.
        confirmed = sum(r["verdict"].startswith("CONFIRMED") and not r["ok"] for r in bad)
        table += [
            ("adversaries confirmed: 0", f"{confirmed} of {len(bad)}", confirmed == 0),
            ("each at its gate", f"{sum(r['ok'] for r in bad)} of {len(bad)}", all(r["ok"] for r in bad)),
        ]
    if good := of("honest"):
        accused = sum(r["verdict"].startswith(("HACK", "INCORRECT", "FLAKY")) for r in good)
        table += [
            ("honest kernels accused: 0", f"{accused} of {len(good)}", accused == 0),
            ("each with its badge", f"{sum(r['ok'] for r in good)} of {len(good)}", all(r["ok"] for r in good)),
        ]
    if judged := [r["power"] for r in rows if r["part"] == "power" and r["power"].get("mutants")]:
        share = sum(p["rejected"] for p in judged) / sum(p["mutants"] for p in judged)
        least = min(p["rejected"] / p["mutants"] for p in judged)
        table.append(("mutants rejected: >= 90 % of each", f"{share:.1%}, least {least:.1%}", least >= 0.9))
    for part, words in (("same", "A/A"), ("loaded", "A/A beside builds")):
        for name in dict.fromkeys(r["name"].partition(" #")[0] for r in of(part)):
            table.append(
                _against_itself(f"{words} {name}", [r for r in of(part) if r["name"].startswith(f"{name} #")], part)
            )
    if twice := of("twice"):
        found = ", ".join(f"{r['speedup']:.3f}" for r in twice if r["speedup"])
        table.append(("2n against n: 2.00", found, all(r["ok"] for r in twice)))
    table += _persistent(of("persistent"))
    table += _noop({r["name"]: r for r in of("noop")})
    return table


def _against_itself(words: str, rows: list[Row], part: str) -> tuple[str, str, bool]:
    covered = sum(r["ok"] for r in rows)
    # A false speedup: more than 1 % that the interval does not doubt.
    false = sum(bool(r["speedup"]) and r["speedup_lo"] > 1.01 for r in rows)
    return (
        f"{words}: 1.0 in 90 %, at most 5 % false",
        f"{covered} of {len(rows)}, {false}",
        len(rows) >= WANTED[part] and covered >= 0.9 * len(rows) and false <= 0.05 * len(rows),
    )


def _persistent(rows: list[Row]) -> list[tuple[str, str, bool]]:
    found = {r["name"]: r for r in rows if r["speedup"]}
    names = dict.fromkeys(r["name"].rpartition(" ")[0] for r in rows)
    whole = [n for n in names if f"{n} with" in found and f"{n} without" in found]
    pairs = [(n, found[f"{n} with"], found[f"{n} without"]) for n in whole]
    return [(f"{n}: no gain by it", "one of the two has no speedup", False) for n in names if n not in whole] + [
        (
            f"{name}: no gain by it",
            f"{trick['speedup']:.2f} against {plain['speedup']:.2f}",
            trick["speedup_lo"] <= GAIN * plain["speedup_hi"],
        )
        for name, trick, plain in pairs
    ]


def _noop(rows: dict[str, Row]) -> list[tuple[str, str, bool]]:
    if not rows:
        return []
    busy = [rows[n]["baselines"].get("gpu_busy", {}).get("ref_us") for n in ("nothing", "elementwise") if n in rows]
    if len(busy) < 2 or None in busy:
        return [("no-op <= 2 % of 64 M elements", "not measured", False)]
    return [("no-op <= 2 % of 64 M elements", f"{busy[0]:.2f} us of {busy[1]:.1f} us", busy[0] <= NOOP * busy[1])]
