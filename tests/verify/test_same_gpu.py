"""What counts as the same GPU is one rule, in the database and on a box that has no database."""

from __future__ import annotations

from pathlib import Path

import pytest
from kbstats.analytics.verify.runner.verdict import comparable, gpu_key

NAMES = [
    "NVIDIA H100 80GB HBM3", "H100", "H100_Modal", "h100", "['NVIDIA H200']", "NVIDIA H200", "H20", "NVIDIA H20-3e", "H800",
    "GH200 480GB", "NVIDIA GB200", "B200", "A100-SXM4-40GB", "NVIDIA A100 80GB PCIe", "A10G", "NVIDIA A10", "A40", "L40S",
    "NVIDIA L4", "L20", "Tesla T4", "Tesla V100-SXM2-16GB", "AMD Instinct MI300X", "MI250", "NVIDIA GeForce RTX 4090",
    "RTX 6000 Ada", "RTX PRO 6000", "NVIDIA RTX A6000", "RTX-3090", "GeForce GTX 1080", "TPU v5", " a card ", "", "cpu",
    "RTX A4000", "RTX A1000 Laptop GPU", "T400", "RTX4090", "NVIDIA GeForce RTX 4070 Ti SUPER", "H100PCIe", "rtx_pro_6000",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_database_and_the_runner_agree(name: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    con = duckdb.connect()
    sql = Path(__file__).resolve().parents[2] / "sql" / "models" / "gpu_key.sql"
    con.execute(sql.read_text(encoding="utf-8"))
    assert con.execute("select gpu_key(?::varchar)", [name]).fetchone() == (gpu_key(name),)


def test_a_claim_is_compared_on_its_own_model_alone() -> None:
    assert comparable("H100_Modal", "NVIDIA H100 80GB HBM3", from_database=True)
    assert not comparable("NVIDIA H20", "NVIDIA H200", from_database=True)
    assert not comparable("NVIDIA A100 80GB PCIe", "NVIDIA H100 80GB HBM3", from_database=True)
    assert not comparable("H100", None, from_database=True)
    assert not comparable(None, "NVIDIA H100", from_database=True)
    assert comparable(None, None, from_database=False)
