from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("H100_Modal", "H100"), ("['NVIDIA H200']", "H200"), ("NVIDIA H100 80GB HBM3", "H100"), ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA GH200 480GB", "GH200"), ("NVIDIA L40S", "L40S"), ("AMD Instinct MI300X", "MI300X"), ("MTT S4000", "MTT S4000"), (None, None),
    ],
)  # fmt: skip
def test_gpu_key(db, name, want):
    assert db.con.execute("select gpu_key(?::varchar)", [name]).fetchone()[0] == want
