from __future__ import annotations


def test_the_same_error_on_the_same_kernel(db):
    db.story("a", "W", "W", "B", "W", "R")
    assert db.rows("select run_id, kernel_sha256, failure_class, n, n_repeats, first_turn, last_turn from repeated_errors") == [
        ("a", "aW", "value.mismatch", 3, 2, 0, 3)
    ]
