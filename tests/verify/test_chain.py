"""Both ends of a timed block follow the same chain, and make the same bytes from a seed."""

from __future__ import annotations

import ctypes
import mmap
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from kbstats.analytics.verify.runner import batches, chain, errors, model_worker, tensors, timed_loops, wire
from kbstats.analytics.verify.runner.oracle import Oracle


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_factor_and_product_are_the_same_on_both_sides(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(3)
    outputs = torch.randn(5, 37, generator=generator).to(dtype)
    salt = 123_456_789
    both = chain.factors(chain.digests([outputs]), salt)
    digest = 0
    one = torch.zeros((), dtype=torch.int64)
    for i in range(5):
        assert chain.factor(digest, salt, i) == float(both[i]) == float(chain.factor_tensor(one, salt, i))
        assert 0.5 <= float(both[i]) < 1.0
        memory = mmap.mmap(-1, 4096)
        raw = outputs[i].contiguous().view(torch.uint8)
        memory[: raw.numel()] = bytes(raw.tolist())
        digest = chain.digest_of_memory(memory, 0, [raw.numel()])
        one = chain.digest_of_tensors([outputs[i].clone()])
        assert digest == int(one) == int(chain.digests([outputs])[i])
        a = torch.randn(64, generator=generator).to(dtype)
        b = a.clone()
        chain.nudge([chain.flat(a)], float(both[i]))
        chain.nudge_tensor([chain.flat(b)], both[i])
        assert torch.equal(a, b)


def test_another_answer_makes_another_input() -> None:
    answers = torch.randn(200, 24, generator=torch.Generator().manual_seed(1))
    other = answers.clone()
    other[:, 3] *= 1.01
    apart = chain.factors(chain.digests([answers]), 5) != chain.factors(chain.digests([other]), 5)
    assert not bool(apart[0])
    assert int(apart.sum()) > 180


def test_a_worker_makes_the_bytes_that_the_judge_expects() -> None:
    base = [torch.randn(7, 13), torch.arange(5), torch.randn(6, 4).t()]
    at, spec_at = 0, []

    def place(tensor: torch.Tensor) -> int:
        nonlocal at
        spec_at.append(at)
        at = wire.align(at + tensor.numel() * tensor.element_size())
        return spec_at[-1]

    spec = tensors.encode(base, place)
    memory = mmap.mmap(-1, 8192)
    for tensor, offset in zip(base, spec_at, strict=True):
        raw = tensors.as_bytes(tensors.dense(tensor))
        memory[offset : offset + raw.numel()] = bytes(raw.tolist())
    harness: Any = SimpleNamespace(
        device="cpu", inputs=memory, flats=lambda args: [chain.flat(t) for t in tensors.leaves(args) if chain.bends(t)]
    )
    loops = timed_loops.Loops(harness)
    for seed in (11, 12):
        slots = loops.seeded({"args": spec, "base": 0, "count": 3, "seed": seed})
        for i, (args, _) in enumerate(slots):
            loops.draw(i, seed + i)
            generator = torch.Generator().manual_seed(seed + i)
            for index, tensor in enumerate(base):
                flat = tensors.dense(tensor).as_strided((tensor.numel(),), (1,))
                want = chain.fresh(flat, 1, generator)[0]
                assert args[index].stride() == tensor.stride()
                assert torch.equal(args[index].as_strided((tensor.numel(),), (1,)), want)
    assert slots[0][0] is loops.slots[0][0]


class _Event:
    """A CUDA event on a machine without one."""

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        pass

    def elapsed_time(self, _: _Event) -> float:
        return 0.25

    def query(self) -> bool:
        return False


@pytest.mark.parametrize("mode", ["eager", "busy"])
@pytest.mark.parametrize("cheat", ["", "stale", "late", "rewritten"])
def test_a_block_of_the_gpus_loop_is_judged(mode: str, cheat: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "Event", _Event)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda _: None)
    monkeypatch.setattr(timed_loops, "FLUSH_BYTES", 1024)
    rows, count, stride = 6, 5, 1024
    weight = torch.randn(8, 8)
    base = [torch.randn(rows, 8)]

    def model(x: torch.Tensor) -> torch.Tensor:
        return x @ weight

    first: list[torch.Tensor] = []

    def candidate(x: torch.Tensor) -> torch.Tensor:
        first.append(model(x))
        return first[0] if cheat == "stale" and len(first) > 3 else first[-1]

    memory = {"cand_in": mmap.mmap(-1, 4096), "cand_out": mmap.mmap(-1, 16384)}
    oracle: Any = SimpleNamespace(
        problem=SimpleNamespace(device="cpu", model=model, draw=lambda _: base),
        base_seed=None,
        memory=memory,
        slots_at=0,
        mutable=[False],
        timed_outputs=[model(base[0])],
        timed_shapes=[[rows, 8]],
        judge_=SimpleNamespace(limits=[errors.Measure(1e-6, 1e-5, 1e-5)]),
    )
    oracle.write = lambda name, at, t: Oracle.write(oracle, name, at, t)
    oracle.reconsider = lambda *_: False
    fields = {"seed": 9, "base_seed": 1, "count": count, "stride": 512}
    made = batches.fill(oracle, fields | {"to": ["cand_in"], "base_to": ["cand_in"], "seeded": True})
    assert made["seeded"]
    harness = model_worker.Harness.__new__(model_worker.Harness)
    harness.device, harness.model, harness.bent = "cpu", candidate, {}
    harness.inputs, harness.outputs = memory["cand_in"], memory["cand_out"]
    harness.out_base = ctypes.addressof(ctypes.c_char.from_buffer(memory["cand_out"]))
    loops = timed_loops.Loops(harness)
    block = {"args": made["args"], "base": 0, "count": count, "seed": 9, "salt": 77, "mode": mode, "hold_s": 1e-4}
    times = (ctypes.c_double * count)()
    loops.cuda(loops.seeded(block), times, block | {"digests": 512})
    assert list(times) == [0.25e-3] * count
    bound = list(timed_loops.commitment(harness, {"digests": 512, "count": count}).shape)
    if cheat in {"late", "rewritten"}:
        loops.snapshots[4][0].mul_(2.0)
    if cheat == "rewritten":
        # Behind the reply, with the digest that belongs to it: what the reply was bound to stands.
        ctypes.c_int64.from_buffer(memory["cand_out"], 512 + 8 * 4).value = int(
            chain.digest_of_tensors(loops.snapshots[4])
        )
    slots = [1, 4]
    loops.deliver({"slots": slots, "out": 1024, "out_stride": stride})
    asked = {
        "slots": slots,
        "digests": 512,
        "bound": bound,
        "salt": 77,
        "out": 1024,
        "out_stride": stride,
        "count": count,
    }
    found = batches.judge(oracle, asked | {"stride": 512, "inputs": False})
    if not cheat:
        assert found == {"ok": True, "n": 2}
        return
    assert not found["ok"]
    assert found["what"] == {"stale": "wrong", "late": "deferred", "rewritten": "deferred"}[cheat]
