"""What the sample runs show once they are ingested: every way to fail, and boards whose winner changes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "data"

# Classes that the model owns and that no kernel brings about before these tools on that machine, or none that was recorded.
NOT_BY_A_KERNEL = {
    "timeout.session": "a limit on the agent's session, not on a tool",
    "llm.no_code": "the answer holds no kernel",
    "llm.bad_tool_json": "the call cannot be read, so there is no kernel",
    "llm.unknown_tool": "no tool ran",
    "llm.tool_budget": "no tool ran",
    "integrity.reward_hack": "this harness refuses nothing as a hack",
    "incorrect.no_text": "a label without a text: these tools always say why",
    "runtime.no_text": "a label without a text: these tools always say why",
    "error.no_text": "a label without a text: these tools always say why",
    "cuda.device_fault": "the machine's fault, or a kernel's lie",
    "compile.toolchain": "the machine's fault, or a kernel's lie",
    "compile.killed": "a machine out of memory, or a source that takes all of it",
    "compile.architecture": "no recorded kernel asks nvcc for an architecture of its own",
    "link.missing_library": "no recorded kernel names a library to link",
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory, kbstats):
    """`ask(command, …)`: rows of a reading command on a database of everything in data/."""
    db = tmp_path_factory.mktemp("samples") / "kbstats.duckdb"
    done = kbstats("ingest", DATA, "--db", db)
    assert done.returncode == 0, done.stderr

    def rows(*args) -> list[dict]:
        done = kbstats(*args, "--db", db, "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return rows


def test_every_failure_class_that_a_kernel_can_produce_occurs(ask) -> None:
    classes = tomllib.loads((DATA / "failure_classes.toml").read_text(encoding="utf-8"))["class"]
    owned = {c["id"] for c in classes if c["owner"] == "model"}
    assert set(NOT_BY_A_KERNEL) < owned
    found = ask("sql", "select failure_class from tool_failures union select failure_class from run_outcomes")
    missing = owned - set(NOT_BY_A_KERNEL) - {row["failure_class"] for row in found}
    assert not missing


def test_no_failure_of_the_samples_is_without_a_class(ask) -> None:
    assert ask("sql", "select run_id, turn, evidence from tool_failures where failure_class = 'unclassified'") == []


def test_the_winner_of_level_3_changes_with_the_trust_asked_for(ask) -> None:
    claimed, audited, verified = (
        {row["model"]: row for row in ask("leaderboard", "--level", "3", "--trust", trust)}
        for trust in ("claimed", "audited", "verified")
    )
    assert next(iter(claimed)) == "sample-c"
    assert next(iter(audited)) == next(iter(verified)) == "sample-a"
    assert claimed["sample-c"]["median_speedup"] > 3 * claimed["sample-a"]["median_speedup"]
    # The audit doubts the speeds, the re-run refutes the answers.
    assert (claimed["sample-c"]["fast_1"], audited["sample-c"]["fast_1"]) == (1.0, 0.0)
    assert (verified["sample-c"]["withdrawn"], verified["sample-c"]["refuted"]) == (2, 2)
    assert verified["sample-c"]["correct"] == 0
    # 3.13x under kbv-1; kbv-4 measured 2.62 [2.47, 2.79], which decides nothing about 2.73.
    assert verified["sample-a"]["verified"] == 0


def test_the_level_4_claim_without_a_launch_falls_at_the_audit_and_is_refuted(ask) -> None:
    claimed, audited, verified = (
        {row["model"]: row for row in ask("leaderboard", "--level", "4", "--trust", trust)}
        for trust in ("claimed", "audited", "verified")
    )
    assert next(iter(claimed)) == "sample-c"
    assert next(iter(verified)) == "sample-b"
    assert (claimed["sample-c"]["fast_1"], audited["sample-c"]["fast_1"]) == (1.0, 0.0)
    assert (verified["sample-c"]["refuted"], verified["sample-b"]["verified"]) == (1, 1)
    # 3.18x measured under kbv-4 of a claim of 2.60x.
    assert 3.1 < verified["sample-b"]["median_speedup"] < 3.3
