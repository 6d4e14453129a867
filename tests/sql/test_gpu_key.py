from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("H100_Modal", "H100"), ("['NVIDIA H200']", "H200"), ("NVIDIA H100 80GB HBM3", "H100"), ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA GH200 480GB", "GH200"), ("NVIDIA L40S", "L40S"), ("AMD Instinct MI300X", "MI300X"), ("MTT S4000", "MTT S4000"), (None, None),
        ("NVIDIA RTX A4000", "NVIDIA RTX A4000"), ("RTX A3000 Laptop", "RTX A3000 LAPTOP"), ("NVIDIA T400", "NVIDIA T400"),
        ("RTX4090", "RTX 4090"), ("NVIDIA GeForce RTX 4070 Ti", "RTX 4070 TI"), ("H100SXM5", "H100"), ("H100-80GB", "H100"),
    ],
)  # fmt: skip
def test_gpu_key(db, name, want):
    assert db.con.execute("select gpu_key(?::varchar)", [name]).fetchone()[0] == want
