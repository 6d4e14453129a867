from __future__ import annotations


def test_the_runs_that_carry_a_mark_with_its_words_on_one_line(db):
    source = "import torch\nclass ModelNew:\n    side = torch.cuda.Stream(\n        priority=-1)\n"
    db.add("kernels", kernel_sha256="k", source_code=source)
    db.add("runs", run_id="a", submitted_kernel_sha256="k")
    db.add("runs", run_id="b", submitted_kernel_sha256="other")
    ((run_id, message, value, threshold),) = db.rows("from suspect_runs('streams')")
    assert (run_id, value, threshold) == ("a", None, None)
    assert message.startswith("suspect: torch.cuda.Stream(")
    assert "\n" not in message
    assert db.rows("from suspect_runs('patched_timer')") == []
