"""Counts of failures, with an example each, without holding the texts of all of them."""

from __future__ import annotations

from kbstats.analytics import failures


def call(db, run_id, turn, text, **more):
    db.add("tool_calls", run_id=run_id, turn=turn, tool="compile_kernel", ok=False, result_text=text, **more)


def test_each_row_has_an_example_of_its_own(db):
    for run_id, model in (("a", "A"), ("b", "B"), ("c", "B")):
        db.add("runs", run_id=run_id, model=model, sample_id=ord(run_id), source_outcome="incorrect", correct=False)
    call(db, "b", 1, 'compile_kernel FAILED: kernel did not compile.\nk.cu(3): error: expected a ")"')
    call(db, "b", 0, "no rule names this, first")
    call(db, "a", 4, "no rule names this, later")
    call(db, "c", 0, "no rule names this, last")
    con = db.fresh()
    by_class = {r["class"]: r for r in failures.summary(con)}
    syntax = by_class["compile.syntax_cxx"]
    assert (syntax["tool_results"], syntax["runs_touched"], syntax["models"]) == (1, 1, 1)
    assert syntax["example"].endswith('error: expected a ")"')
    unnamed = by_class["unclassified"]
    assert (unnamed["tool_results"], unnamed["runs_touched"], unnamed["models"]) == (3, 3, 2)
    assert unnamed["example"] == "no rule names this, later", "of the first run"
    by_model = {r["model"]: r for r in failures.summary(con, by="model")}
    assert (by_model["B"]["tool_results"], by_model["B"]["commonest"]) == (3, "llm.no_submission"), "two each: the first by name"
    assert by_model["B"]["example"] == "no rule names this, first", "of its first turn"
    assert [r["text"] for r in failures.unclassified(con)] == [
        "no rule names this, later", "no rule names this, first", "no rule names this, last",
    ]  # fmt: skip


def test_a_run_without_words_gives_no_example_where_another_has_some(db):
    db.add("runs", run_id="a", model="A", compiled=False, correct=False)
    db.add("runs", run_id="b", model="A", sample_id=1, source_outcome="generation_error", correct=False)
    rows = db.rows("select run_id, evidence from run_failures order by run_id")
    assert rows == [("a", None), ("b", "generation_error")]
    (row,) = failures.summary(db.fresh(), by="model")
    assert (row["runs_ended"], row["example"]) == (2, "generation_error")


def test_counting_reads_no_text(db):
    """Of a million calls their texts are most of the bytes."""
    db.add("runs", run_id="a", model="A")
    call(db, "a", 0, "x")
    parameters = {"grouping": "class", "levels": None, "models": None, "sweeps": None}
    plan = db.fresh().execute("explain " + failures._SUMMARY, parameters).fetchall()[0][1]
    assert "tool_calls" in plan
    assert "result_text" not in plan
