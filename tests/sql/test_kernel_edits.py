from __future__ import annotations


def test_lines_added_and_removed(db):
    db.add("kernels", kernel_sha256="k1", source_code="a\nb\nc")
    db.add("kernels", kernel_sha256="k2", source_code="a\n  b\nx\ny")
    for turn, sha in enumerate(("k1", "k1", None, "k2")):
        db.add("tool_calls", run_id="a", turn=turn, kernel_sha256=sha)
    assert db.rows("select turn, previous_sha256, lines_added, lines_removed, n_lines from kernel_edits") == [(3, "k1", 2, 1, 4)]
