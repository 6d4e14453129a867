from __future__ import annotations


def test_formats_whose_harness_judges_what_is_left_behind(db):
    got = db.rows("select f, judges_final_state(f) from (values ('atif'), ('inspect_ai'), ('codex'), ('popcornbench'), ('kernelbench_agentic')) as t(f)")
    assert [f for f, yes in got if yes] == ["atif", "inspect_ai", "codex"]
