"""The taxonomy's file: its shape, and every example of every rule."""

from __future__ import annotations

import re

import pytest
from kbstats.analytics import taxonomy

CLASSES = taxonomy.classes()
OUTCOMES = {
    "in_progress", "skipped", "infra_error", "timeout", "llm_error", "no_submission", "compile_fail", "runtime_fail",
    "incorrect", "unknown",
}  # fmt: skip
RULES = [(c, r) for c in CLASSES for r in c["rule"]]


@pytest.mark.parametrize("c", CLASSES, ids=lambda c: c["id"])
def test_class(c):
    assert set(c) == {"id", "title", "owner", "outcome", "meaning", "advice", "rule"}
    assert re.fullmatch(r"[a-z]+\.[a-z_]+", c["id"])
    assert c["owner"] in taxonomy.OWNERS
    assert c["outcome"] in OUTCOMES
    assert c["meaning"].endswith(".")
    assert c["advice"].endswith(".")


def test_ids_are_unique():
    assert len({c["id"] for c in CLASSES}) == len(CLASSES)


@pytest.mark.parametrize(("c", "r"), RULES, ids=[f"{c['id']}-{i}" for c, _ in [(c, 0) for c in CLASSES] for i in range(len(c["rule"]))])
def test_rule(c, r, installed):
    assert r["field"] in taxonomy.FIELDS
    assert r.get("needle") or r.get("pattern")
    assert len(r["matches"]) == 2
    assert len(r["misses"]) == 2

    def hits(text):
        if r.get("needle") and r["needle"] not in text:
            return False
        if r["field"] == "harness":
            text = text[installed.execute("select len(harness_prefix(?))", [text]).fetchone()[0] :]
        return not r.get("pattern") or installed.execute("select regexp_matches(?, ?)", [text, r["pattern"]]).fetchone()[0]

    assert [t for t in r["matches"] if not hits(t)] == []
    assert [t for t in r["misses"] if hits(t)] == []


def test_examples_get_their_class_from_the_whole_taxonomy(db):
    want = {}
    for n, (c, r) in enumerate(RULES):
        for i, example in enumerate(r["matches"]):
            key = f"{n}-{i}"
            want[key] = c["id"]
            if r["field"] in {"text", "harness", "diagnostic"}:
                db.add("tool_calls", run_id=key, ok=False, result_text=example)
            elif r["field"] == "metadata_error":
                db.add("tool_calls", run_id=key, ok=False, metadata={"error": example})
            elif r["field"] == "feedback":
                db.add("turns", run_id=key, feedback=example)
            else:
                db.add("runs", run_id=key, source_outcome=example)
    got = dict(db.rows("select run_id, failure_class from classified_texts"))
    assert {k: (got.get(k), cls) for k, cls in want.items() if got.get(k) != cls} == {}


@pytest.mark.parametrize(
    "text",
    [
        "ptxas info    : Compiling entry function 'k' for 'sm_90a'\nptxas info    : Used 32 registers, used 1 barriers",
        'k.cu(3): warning #177-D: variable "error" was declared but never referenced',
        "kernel did compile; no error at all",
        "the compile step is skipped",
        "note: declared here",
    ],
)
def test_harmless_words_mislead_nobody(text, db):
    db.add("tool_calls", run_id="r", ok=False, tool="profile_kernel", result_text=text)
    assert db.rows("select failure_class from classified_texts") == []


def test_loading_twice_leaves_one_of_each(db):
    taxonomy.load(db.con)
    assert db.one("select count(*) from failure_classes") == len(CLASSES)
    assert db.one("select count(*) from failure_rules") == len(RULES)


def test_owners_and_outcomes_agree():
    """What infrastructure or the harness did to a run is no compile failure of the model."""
    for c in CLASSES:
        if c["id"].startswith(("infra.", "timeout.")):
            # A session's time is the agent's own to spend.
            assert c["owner"] in {"infrastructure", "harness"} or c["id"] == "timeout.session", c["id"]
            assert c["outcome"] in {"infra_error", "timeout", "in_progress", "skipped"}, c["id"]


@pytest.mark.parametrize("name", ["failure-classes", "audits"])
def test_pages_are_current(name):
    """Written by `kbstats.analytics.taxonomy.page()` and `kbstats.analytics.audit.page()`."""
    from pathlib import Path

    from kbstats.analytics import audit

    page = {"failure-classes": taxonomy.page, "audits": audit.page}[name]()
    assert (Path(__file__).parents[2] / "docs" / f"{name}.md").read_text(encoding="utf-8") == page


MARKERS = [
    "torchrun eval timed out after 1800s (world_size=8)",
    "No space left on device",
    "eval server did not respond within 900s",
    "persistent build/lock contention after retries",
    "_WorkItemTimeout: work item exceeded soft timeout budget",
    "KernelBench evaluator returned None",
    "init_process_group failed",
    "profiling timed out (900s)",
    "Evaluation timed out",
    "worker exited with code 1",
    "check_timeout",
]
QUOTES = [
    "submit_kernel FAILED: correctness check did not pass (? trials).\nruntime_error: {}",
    "submit_kernel FAILED: correctness check did not pass ((0 / 3) trials).\ncorrectness_issue: Output mismatch\n{}",
    "submit_kernel FAILED: kernel did not compile.\nError building extension 'k'\n{}\nk.cu(3): error: expected a \";\"",
    "submit_kernel FAILED: kernel did not compile.\neval_kernel_against_ref raised: MyError: {}",
    "compile_kernel FAILED: RuntimeError.\nRuntimeError: {}",
    "run_correctness FAILED: ? trials did not all match. runtime_error: {}",
]


@pytest.mark.parametrize("quote", QUOTES)
def test_a_kernel_cannot_blame_the_harness(quote, db):
    for i, marker in enumerate(MARKERS):
        db.add("tool_calls", run_id="a", seq=i, ok=False, result_text=quote.format(marker))
        meta = {"compilation_error_name": "builtins.RuntimeError", "compilation_error": marker} if i % 2 else {"runtime_error": marker}
        db.add("runs", run_id=f"f{i}", extra={"metadata": meta})
    rows = db.rows("select origin, seq, failure_class, owner from classified_texts where owner in ('harness', 'infrastructure')")
    assert rows == []


def test_harness_rules_begin_where_the_harness_does():
    for c, r in RULES:
        if r["field"] == "harness":
            assert r["pattern"].startswith("^"), c["id"]
        elif r["field"] == "text" and c["id"].startswith(("infra.", "timeout.")):
            assert r.get("pattern", "").startswith("^"), c["id"]
