"""Several samples of one problem: pass@k and the best of k, without bias."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

_SAMPLES = """
select
    key,
    problem_key,
    count(*) as n,
    count(*) filter (where counts_correct) as correct,
    list(speedup order by speedup) filter (where speedup > 0) as speedups
from board_runs
where counted
group by key, problem_key
order by key, problem_key
"""


def pass_at_k(n: int, correct: int, k: int) -> float:
    """The chance that at least one of k samples drawn without replacement is correct.

    M. Chen et al., "Evaluating large language models trained on code" (2021), section 2.1:
    1 - C(n - c, k) / C(n, k), which unlike 1 - (1 - c/n)^k has no bias.

    Args:
        n: Samples taken, at least k.
        correct: How many of them are correct.
        k: Samples allowed.
    """
    return 1.0 - math.comb(n - correct, k) / math.comb(n, k)


def expected_best(speedups: Sequence[float], n: int, k: int) -> float:
    """The mean of the logarithm of the best speedup among k of n samples, drawn without replacement.

    A sample that failed, was not timed or is slower than the reference counts as 1.0: one keeps the
    reference then. The i-th smallest of n values is the largest of a draw in C(i - 1, k - 1) of
    C(n, k) cases.
    """
    logs = sorted([max(math.log(s), 0.0) for s in speedups] + [0.0] * (n - len(speedups)))
    total = math.comb(n, k)
    # the share of the draws first: the counts alone pass a float's range from a thousand samples on
    return math.fsum(v * (math.comb(i, k - 1) / total) for i, v in enumerate(logs) if v and i >= k - 1)


def columns(con: duckdb.DuckDBPyConnection, ks: Sequence[int]) -> Mapping[str, dict[str, Any]]:
    """Fields to add to a board's rows, by key.

    Returns:
        For each k: `pass_k`, the mean of pass@k over the problems that have k samples; `best_of_k`,
        the geometric mean over them of the expected best speedup; `pass_k_problems`, their number.
        NULL where no problem has as many samples.
    """
    found: dict[str, list[tuple[int, int, list[float]]]] = {}
    for key, _, n, correct, speedups in con.execute(_SAMPLES).fetchall():
        found.setdefault(key, []).append((n, correct, speedups or []))
    out: dict[str, dict[str, Any]] = {}
    for key, problems in found.items():
        row = out.setdefault(key, {})
        for k in ks:
            enough = [p for p in problems if p[0] >= k]
            passes = [pass_at_k(n, c, k) for n, c, _ in enough]
            bests = [expected_best(s, n, k) for n, _, s in enough]
            row[f"pass_{k}"] = math.fsum(passes) / len(passes) if passes else None
            row[f"best_of_{k}"] = math.exp(math.fsum(bests) / len(bests)) if bests else None
            row[f"pass_{k}_problems"] = len(enough)
    return out
