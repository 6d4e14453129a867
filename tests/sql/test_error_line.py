from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("building\nk.cu(3): warning: unused\nk.cu(4): error: no such name\nk.cu(5): error: b", "k.cu(4): error: no such name"),
        ("ptxas info : 3 errors\nptxas fatal : Unresolved extern", "ptxas fatal : Unresolved extern"),
        ("a.o: undefined reference to `f'\ncollect2: x", "a.o: undefined reference to `f'"),
        ("x.cu(1): catastrophic error #12-D: open", "x.cu(1): catastrophic error #12-D: open"),
        ("k.cu:7: fatal error: cub.h: No such file", "k.cu:7: fatal error: cub.h: No such file"),
        ("an error that no tool prints so", None),
        ("", None),
        (None, None),
    ],
)
def test_the_first_line_that_a_tool_reports(db, text, line):
    assert db.rows("select error_line($t::varchar)", {"t": text}) == [(line,)]


def test_a_line_is_cut_at_300_characters(db):
    assert db.rows("select len(error_line($t))", {"t": "k.cu: error: " + "x" * 400}) == [(len("k.cu: error: ") + 300,)]
