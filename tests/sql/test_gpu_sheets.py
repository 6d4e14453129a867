from __future__ import annotations

import tomllib
from importlib.resources import files


def test_the_view_is_the_data_file(db):
    """Of several boards of one model the highest figure: a bound must hold for all."""
    sheets = tomllib.loads(files("kbstats.data").joinpath("gpus.toml").read_text())["gpu"]
    want = {}
    for s in sheets:
        (key,) = db.rows("select gpu_key(?)", [s["match"][0]])[0]
        peak = max(v for k, v in s.items() if k.endswith("_tflops"))
        figures = (s["bandwidth_gbs"], s["fp32_tflops"], peak, float(s["board_power_w"]))
        want[key] = tuple(map(max, figures, want.get(key, figures)))
    assert {r[0]: r[1:] for r in db.rows("from gpu_sheets")} == want
