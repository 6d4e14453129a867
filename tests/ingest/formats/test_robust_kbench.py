"""robust-kbench."""

from __future__ import annotations

import csv
import io

import pytest
from kbstats.ingest.formats.robust_kbench import FORMAT

CSV = "robust_kbench/highlighted/results.csv"


def test_claims_by_columns(claimed, fixtures):
    assert [str(p.relative_to(fixtures)) for p in claimed(FORMAT, fixtures)] == [CSV]


def test_a_kernel(read, fixtures):
    found = read(FORMAT, fixtures / CSV)
    run = found.run(sample_id=1002, variant="forward")
    assert (run.runtime_us, run.speedup, run.baseline, run.correct) == (500.0, 3.0, "eager", True)
    assert (run.suite, run.sweep, run.problem_name) == ("robust-kbench", "demo_v1", "layernorm")
    assert found.metrics(run) == {
        ("ratio", "speedup.vs_compile"): 1.5, ("candidate", "error.max_abs"): 0.0, ("candidate", "occupancy"): 86.5,
        ("candidate", "dram.bandwidth"): 2500.0,
    }
    assert (run.cost_usd, run.extra["Thought"], run.extra["Settings"]) == (0.25, "Tiled,\nthen fused", {"temperature": 0.5})
    assert found.batch.kernels[run.submitted_kernel_sha256].language == "cuda"


def test_backward_is_a_variant(read, fixtures):
    assert read(FORMAT, fixtures / CSV).run(variant="backward").speedup == 2.0


def test_failures(read, fixtures):
    found = read(FORMAT, fixtures / CSV)
    built, crashed = found.run(sample_id=1003), found.run(sample_id=2000)
    assert (built.compiled, built.correct, list(built.extra["metadata"])) == (False, False, ["compilation_error", "compilation_error_name"])
    assert ("nvcc", 12) in [(e.toolchain, e.line) for e in found["compile_errors"]]
    assert (crashed.compiled, crashed.runtime_us, crashed.extra["NCU Profile"]) == (None, None, "{broken")
    assert "illegal memory access" in crashed.extra["metadata"]["runtime_error"]


def test_duplicate_and_short_rows(read, fixtures):
    found = read(FORMAT, fixtures / CSV)
    assert found.codes() == {"duplicate_run": 1, "bad_row": 2}
    assert len(found["runs"]) == 4


def test_a_last_row_cut_short(read, fixtures, tmp_path):
    text = (fixtures / CSV).read_text().removesuffix("9,9,short\n")
    path = tmp_path / "results.csv"
    path.write_text(text + "9,9,cut")
    found = read(FORMAT, path)
    assert (found.status, len(found["runs"])) == ("partial", 4)


def test_never_raises(fuzz, fixtures):
    rows = list(csv.DictReader(io.StringIO((fixtures / CSV).read_text())))[:4]

    def dump(rows):
        out = io.StringIO()
        header = list(rows[0]) if isinstance(rows, list) and rows and isinstance(rows[0], dict) else ["x"]
        writer = csv.writer(out)
        writer.writerow(header)
        for row in rows if isinstance(rows, list) else [rows]:
            writer.writerow([row.get(k) for k in header] if isinstance(row, dict) else [row])
        return out.getvalue()

    fuzz(FORMAT, "results.csv", rows, dump)


@pytest.mark.real
def test_real(read, claimed, real):
    (path,) = claimed(FORMAT, real)
    csv.field_size_limit(1 << 28)
    with path.open(newline="") as f:
        raw = list(csv.DictReader(f))
    found = read(FORMAT, path)
    assert not found.issues
    assert len({r.run_id for r in found["runs"]}) == len(raw)
    assert sum(r.runtime_us for r in found["runs"]) == pytest.approx(1000 * sum(float(r["Runtime (ms)"]) for r in raw))
    assert sum(r.speedup for r in found["runs"]) == pytest.approx(sum(float(r["Speedup"]) for r in raw))
    assert sum(m.name == "occupancy" for m in found["metrics"]) == sum(bool(r["NCU Profile"]) for r in raw)
