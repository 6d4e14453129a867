from __future__ import annotations

import pytest

STREAM = "s = torch.cuda.Stream()\n__global__ void k() {}"
CACHE = "cache_key = (x.data_ptr(), x.shape)\nif cache_key in C: return C[cache_key]  # triton"
TIMER = "torch.cuda.Event.elapsed_time = lambda a, b: 0.001  # triton"
FALL = "try:\n    return ext.run(x)  # load_inline\nexcept Exception:\n    return torch.relu(x)"


@pytest.mark.parametrize(
    ("code", "marks"),
    [
        (STREAM, {"streams"}),
        ("auto s = at::cuda::getCurrentCUDAStream(); __global__", set()),
        (CACHE, {"pointer_cache"}),
        ("lib.run(x.data_ptr(), y.data_ptr())  # triton", set()),
        (TIMER, {"patched_timer"}),
        ("torch.cuda.synchronize()\nif torch.cuda.Event == x: pass  # triton", set()),
        (FALL, {"fallback"}),
        ("try:\n    import triton\nexcept ImportError:\n    triton = None", set()),
        ("torch.backends.cuda.matmul.allow_tf32 = True  # triton", {"precision_flags"}),
        ("torch.backends.cuda.matmul.allow_tf32 = False  # triton", set()),
        ("f = sys._getframe(1)  # triton", {"looks_around"}),
        ("class ModelNew(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)", {"no_custom_kernel"}),
        ("class ModelNew(nn.Module): pass\n@triton.jit\ndef k(): pass", set()),
        # A comment does nothing.
        ("# do not patch torch.cuda.synchronize = something  # triton", set()),
        ("x = 1  # we do not use --use_fast_math, triton does", set()),
        ("// cudaStreamCreate(&s) would hide work\n__global__ void k() {}", set()),
        ("#define MAKE cudaStreamCreate(&s)\n__global__ void k() {}", {"streams"}),
        ("class ModelNew(nn.Module):\n    # faster than triton\n    def forward(self, x): return torch.relu(x)", {"no_custom_kernel"}),
        ("class ModelNew(nn.Module): pass\n#include <cutlass/gemm.h>", set()),
        # The judge patched, and a cache by identity under any name.
        ("torch.allclose = lambda *a, **k: True  # triton", {"patched_timer"}),
        ("setattr(torch, 'manual_seed', f)  # triton", {"patched_timer"}),
        ("if torch.allclose(a, b) == True: pass  # triton", set()),
        ("if _c.get('id') == id(x): return _c['o']  # triton", {"pointer_cache"}),
    ],
)
def test_marks(db, code, marks):
    db.add("kernels", kernel_sha256="k", source_code=code)
    db.add("runs", run_id="a", submitted_kernel_sha256="k", correct=True)
    assert {r[0] for r in db.rows("select mark from kernel_marks")} == marks
    found = {r[0] for r in db.rows("select code from audit_findings where code like 'suspect%'")}
    assert found == {f"suspect_{m}" for m in marks}


def test_only_submitted_kernels_are_looked_at(db):
    db.add("kernels", kernel_sha256="k", source_code=STREAM)
    assert db.rows("from kernel_marks") == []


def test_a_suspicion_never_blocks():
    from kbstats.sql import catalog

    assert {a.header["blocks"] for a in catalog.sql_files("audits") if a.name.startswith("suspect_")} == {"nothing"}
