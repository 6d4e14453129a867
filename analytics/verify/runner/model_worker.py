"""The process that holds one model and calls it: for the candidate, and alike for the timed reference.

What runs here shares an address space with the candidate, so nothing it says is believed: its packets
are claims, its output bytes are recomputed elsewhere. It has no reference source, no expected output
and no seed of any input; inputs come as bytes through shared memory.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import socket
import time
import traceback
from typing import Any

import torch

from . import attribution, chain, guard, namespace, syscalls, tensors, timed_loops, wire

CLOCK = time.perf_counter
MOVE = ctypes.memmove


class Harness:
    """One loaded model with its shared memory."""

    def __init__(self, sock: socket.socket, files: list[int], home: str) -> None:
        job_fd, in_fd, out_fd = files
        size = os.fstat(job_fd).st_size
        self.job = json.loads(os.pread(job_fd, size, 0).rstrip(b"\0"))
        self.sock, self.home = sock, home
        self.inputs, self.outputs = tensors.open_map(in_fd), tensors.open_map(out_fd)
        self.device: str = self.job["device"]
        self.cuda = self.device.startswith("cuda")
        self.out_base = ctypes.addressof(ctypes.c_char.from_buffer(self.outputs))
        self.model: Any = None
        self.module: Any = None
        self.state = wire.STATE_NONE
        self.kept: list[torch.Tensor] = []
        self.synced: list[torch.Tensor] = []
        self.cache: dict[str, list[Any]] = {}
        self.bent: dict[int, tuple[list[Any], list[torch.Tensor]]] = {}
        self.cast = getattr(torch, self.job["cast"]) if self.job.get("cast") else None
        self.loops: timed_loops.Loops | None = None

    # ------------------------------------------------------------------ loading
    def load(self, *, gpu: bool = True) -> None:
        """Import the source. Whatever it raises is reported as a failed import.

        Args:
            gpu: False in the build stage, which has none; the compiler is told the architecture.
        """
        if self.job["capability"]:
            os.environ.setdefault("TORCH_CUDA_ARCH_LIST", self.job["capability"])
        if not gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        elif self.cuda:
            torch.cuda.set_device(self.device)
            # Alike on all sides and as strict as the truth; a candidate may turn tf32 on for itself.
            allowed = self.job["autocast"] == "tf32"
            torch.backends.cuda.matmul.allow_tf32 = allowed
            torch.backends.cudnn.allow_tf32 = allowed
        elif self.job["threads"]:
            torch.set_num_threads(self.job["threads"])
        names = namespace.install_shims(self.job["shims"], self.device)
        namespace.write_helpers(self.job["helpers"], f"{self.home}/helpers")
        self.module = namespace.load(self.job["source"], f"{self.home}/src/{self.job['name']}.py", names)

    def construct(self, message: dict[str, Any]) -> None:
        """Build the model under the construction seed and give it the reference's parameters where the keys agree."""
        cls = getattr(self.module, self.job["class"], None)
        if cls is None:
            raise AttributeError(f"the source defines no class {self.job['class']}")
        self.model = None
        args = tensors.decode(message["init"], lambda s: tensors.view(self.inputs, s).clone(), self.device)
        tensors.seed_all(message["seed"])
        model = cls(**args) if isinstance(args, dict) else cls(*args)
        if isinstance(model, torch.nn.Module):
            model = model.to(self.device) if self.cast is None else model.to(self.device, self.cast)
        self.model = model
        self.give_state(message["state"])
        # A collection inside a timed call would be noise; a worker does not live long enough to need one.
        gc.collect()
        gc.disable()
        self.loops = None
        if self.job["compile"]:
            self.model = torch.compile(self.model, mode=self.job["compile"])
        if self.job["autocast"] in {"float16", "bfloat16"}:
            inner, kind, dtype = self.model, self.device.partition(":")[0], getattr(torch, self.job["autocast"])

            def forward(*inputs: Any) -> Any:
                with torch.autocast(kind, dtype):
                    return inner(*inputs)

            self.model = forward

    def give_state(self, state: dict[str, Any]) -> None:
        """Copy parameters and buffers in place where the model has all the reference's keys and shapes."""
        own = self.model.state_dict() if isinstance(self.model, torch.nn.Module) else {}
        same = all(k in own and list(own[k].shape) == s["shape"] for k, s in state.items())
        self.state = wire.STATE_SEEDED
        if same:
            self.state = wire.STATE_COPIED if state else wire.STATE_NONE
            with torch.no_grad():
                for key, spec in state.items():
                    own[key].copy_(tensors.view(self.inputs, spec))

    # ------------------------------------------------------------------ calling
    def arguments(self, spec: tensors.Spec, base: int) -> tuple[list[Any], list[tuple[torch.Tensor, torch.Tensor]]]:
        """Return the same tensor objects for the same description, so that neither address nor version tells calls apart."""  # noqa: E501  one line for a person
        key = f"{base}|{json.dumps(spec)}"
        if key not in self.cache:
            pairs: list[tuple[torch.Tensor, torch.Tensor]] = []

            def take(one: tensors.Spec) -> torch.Tensor:
                host = tensors.view(self.inputs, one, base)
                if not self.cuda:
                    return host
                if "storage" in one:
                    flat = torch.empty(one["storage"], dtype=host.dtype, device=self.device)
                    there = flat.as_strided(one["shape"], one["stride"], one["start"])
                else:
                    there = torch.empty_strided(one["shape"], one["stride"], dtype=host.dtype, device=self.device)
                pairs.append((there, host))
                return there

            self.cache[key] = [list(tensors.decode(spec, take, self.device)), pairs]
        args, pairs = self.cache[key]
        for there, host in pairs:
            there.data.copy_(host)  # through .data: the version counter stays
        return args, pairs

    def flats(self, args: list[Any]) -> list[torch.Tensor]:
        """Return the elements of a slot's inputs that change between two calls; see chain."""
        if id(args) not in self.bent:
            # With the list itself: an address that is freed becomes another's.
            self.bent[id(args)] = args, [chain.flat(t) for t in tensors.leaves(args) if chain.bends(t)]
        return self.bent[id(args)][1]

    def describe(self, value: Any) -> tuple[list[torch.Tensor], list[wire.Output]]:
        """Flatten a result and state its structure."""
        found, outs = [], []
        for item in tensors.parts(value, self.device):
            if not isinstance(item, torch.Tensor):
                outs.append(wire.Output("other", (), 0, wire.NOT_A_TENSOR))
                continue
            exact = type(item) in (torch.Tensor, torch.nn.Parameter)
            flags = wire.EXACT_TENSOR if exact else 0
            if not exact:
                outs.append(wire.Output("other", tuple(item.shape), 0, flags))
                continue
            if item.layout is not torch.strided:
                outs.append(wire.Output("other", tuple(item.shape), 0, flags | wire.NOT_STRIDED))
                continue
            # Lazily conjugated or negated views hold other bytes than they stand for.
            item = item.detach().resolve_conj().resolve_neg()  # noqa: PLW2901  narrowed step by step
            if any(st == 0 and sz > 1 for st, sz in zip(item.stride(), item.shape, strict=True)):
                flags |= wire.STRIDE_ZERO
            if not item.is_contiguous():
                flags |= wire.NOT_CONTIGUOUS
            if item.device.type == self.device.partition(":")[0]:
                flags |= wire.ON_DEVICE
            name = str(item.dtype).removeprefix("torch.")
            outs.append(wire.Output(name, tuple(item.shape), item.numel() * item.element_size(), flags))
            found.append(item)
        return found, outs

    def store(self, found: list[torch.Tensor], base: int) -> None:
        """Copy result bytes into the output memory, one tensor after the other."""
        limit = len(self.outputs)
        for item in found:
            host = item.contiguous() if item.device.type == "cpu" else item.contiguous().cpu()
            nbytes = host.numel() * host.element_size()
            if base + nbytes > limit:
                return
            MOVE(self.out_base + base, host.data_ptr(), nbytes)
            base = wire.align(base + nbytes)

    def profile(self, message: dict[str, Any]) -> wire.Reply:
        """Write the kernels of a call as text in front of the output memory."""
        args, _ = self.arguments(message["args"], message["base"])
        text = attribution.profile(self.model, args).encode("utf-8", "replace")[: message["room"]]
        self.outputs[: len(text) + 1] = text + b"\0"
        return wire.Reply(0, wire.OK, self.state, 0.0, (), guard.tampered())

    def poison(self, byte: int, nbytes: int) -> None:
        """Fill free memory so that what a kernel did not write cannot look right."""
        if not self.cuda:
            syscalls.perturb(byte)
            return
        for size in {nbytes, 2 * nbytes, 1 << 20}:
            block = torch.empty(max(size, 512), dtype=torch.uint8, device=self.device)
            block.fill_(byte)
            del block

    def call(self, message: dict[str, Any]) -> wire.Reply:
        """One judged call."""
        args, pairs = self.arguments(message["args"], message["base"])
        self.poison(message["poison"], message["out_bytes"])
        start = CLOCK()
        value = self.model(*args)
        given = tensors.parts(value, self.device) if self.cuda else []
        snapshot = [t.detach().clone() for t in given if type(t) is torch.Tensor]
        seconds = CLOCK() - start
        if not self.cuda:
            syscalls.perturb(0)
        found, outs = self.describe(value)
        if self.cuda:
            # The copies were queued on this stream right behind the call: work that the call left on
            # another stream or thread is not in them.
            torch.cuda.synchronize()
            if len(snapshot) == len(found):
                found, held = snapshot, found
            else:
                held = found
            self.synced = [t.clone() for t in held]
            for there, host in pairs:
                host.copy_(there)
        else:
            held = found
        self.store(found, message["out"])
        if message.get("kept_out") is not None and self.kept:
            self.store(self.kept, message["kept_out"])
        self.kept = held
        return wire.Reply(0, wire.OK, self.state, max(seconds, 0.0), tuple(outs), guard.tampered())


def late(harness: Harness, message: dict[str, Any]) -> wire.Reply:
    """Hand the last call's answer over once more, as it stood after a wait for all streams, or after `wait_s`."""
    if message["wait_s"]:
        time.sleep(message["wait_s"])
        if harness.cuda:
            torch.cuda.synchronize()
    found, outs = harness.describe(harness.kept if message["wait_s"] else harness.synced)
    harness.store(found, message["out"])
    return wire.Reply(0, wire.OK, harness.state, 0.0, tuple(outs), guard.tampered())


def main(sock_fd: int, files: list[int], home: str) -> None:
    """Answer requests until the socket closes."""
    sock = socket.socket(fileno=sock_fd)
    harness = Harness(sock, files, home)
    guard.remember()
    torch.set_grad_enabled(False)
    while True:
        data = sock.recv(wire.MAX_PACKET)
        if not data:
            return
        message = json.loads(data)
        reply = _answer(harness, message)
        sock.send(
            wire.pack_reply(
                wire.Reply(message["id"], reply.status, reply.state, reply.seconds, reply.outputs, reply.message)
            )
        )


FAILED = {"load": wire.IMPORT_FAILED, "build": wire.IMPORT_FAILED, "construct": wire.CONSTRUCT_FAILED}


def _answer(harness: Harness, message: dict[str, Any]) -> wire.Reply:
    op = message["op"]
    try:
        if op in {"call", "batch"}:
            return harness.call(message) if op == "call" else timed_loops.batch(harness, message)
        if op == "late":
            return late(harness, message)
        if op in {"profile", "deliver"}:
            return harness.profile(message) if op == "profile" else timed_loops.deliver(harness, message)
        if op in {"load", "build"}:
            harness.load(gpu=op == "load")
        elif op == "construct":
            harness.construct(message)
        elif op == "state":
            harness.give_state(message["state"])
        return wire.Reply(0, wire.OK, harness.state, 0.0, (), guard.tampered())
    except Exception as error:  # noqa: BLE001  foreign code raises what it likes
        syscalls.perturb(0)
        where = traceback.extract_tb(error.__traceback__)
        lines = [f"line {f.lineno} of the kernel" for f in where if f.filename.endswith(f"/{harness.job['name']}.py")]
        text = f"{type(error).__name__}: {error}" + (f" ({lines[-1]})" if lines else "")
        return wire.Reply(0, FAILED.get(op, wire.RAISED), harness.state, 0.0, (), text)
