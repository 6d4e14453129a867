"""Whose kernels ran: by the names that the profiler saw, and the candidate's own source."""

from __future__ import annotations

import pytest
from kbstats.analytics.verify.runner import attribution

SOURCE = """
@triton.jit
def row_softmax(x): ...
CODE = '__global__ void gate_rows(const float* x) {}'
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("row_softmax", "authored"),
        ("row_softmax_0d1d2de", "authored"),
        ("gate_rows(float const*)", "authored"),
        ("void (anonymous namespace)::gate_rows<4, float>(float const*)", "authored"),
        ("Memcpy DtoD (Device -> Device)", "copy"),
        ("triton_poi_fused_add_0", "compiler"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)", "aten"),
        # Seen on an H200 with torch 2.11: a softmax of ATen that does not name its library.
        ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 11, false, false>(float*)", "aten"),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8", "library"),
        # No list of ours names it, but no line of the candidate does either.
        ("void dot_kernel<float, 128, 0>(int)", "library"),
        ("", "library"),
        ("<<<((", "library"),
    ],
)
def test_class_of_a_kernel(name: str, expected: str) -> None:
    assert attribution.classify(name, SOURCE) == expected


def test_a_kernel_that_only_the_library_launches_is_a_decoy() -> None:
    seen = attribution.read("9.700\tvoid dot_kernel<float>(int)\n0.300\trow_softmax\nno line of ours\n", SOURCE)
    assert [(k["us"], k["class"]) for k in seen] == [(9.7, "library"), (0.3, "authored")]
    assert attribution.badges(seen, SOURCE) == ["LIBRARY_CALL", "DECOY_KERNEL"]
    assert attribution.badges(seen, "def forward(x): return x @ x") == ["LIBRARY_CALL"]
    assert attribution.badges(attribution.read("2.000\trow_softmax\n2.000\tvoid cublas_gemm()\n", SOURCE), SOURCE) == []
