"""What crosses the border between the supervisor and a model worker.

Towards the worker: JSON, from a side we trust. From the worker: one fixed-layout packet per request,
every field range-checked, and raw tensor bytes in a memory file that the supervisor made, sized and
sealed. Nothing a candidate wrote is ever unpickled, evaluated or parsed as a format with nesting.
"""

from __future__ import annotations

import fcntl
import os
import struct
from dataclasses import dataclass

MAGIC = b"kbv1"
HEAD = struct.Struct("<4sQBBBBHHd")
"""magic, request id, status, state mode, number of outputs, spare, message bytes, spare, seconds."""
OUTPUT = struct.Struct("<BBHIQ8q")
"""dtype code, number of dimensions, flags, spare, bytes, shape padded with zeros."""

MAX_OUTPUTS = 16
MAX_DIMS = 8
MAX_MESSAGE = 6000
MAX_PACKET = 65536

OK, RAISED, IMPORT_FAILED, CONSTRUCT_FAILED, STRUCTURE, TAMPERED = range(6)
"""Status codes of a reply."""

STATE_NONE, STATE_COPIED, STATE_SEEDED = range(3)
"""How the worker's parameters came to equal the reference's."""

EXACT_TENSOR, STRIDE_ZERO, NOT_CONTIGUOUS, ALIASES_INPUT, NOT_A_TENSOR, ON_DEVICE, NOT_STRIDED = (
    1 << i for i in range(7)
)
"""Flag bits of one output."""

DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
)
"""Tensor types by their code on the wire; 255 stands for any other."""

ALIGN = 256
"""Every tensor starts at a multiple of this many bytes, as the CUDA allocator would place it."""


class ForgedReplyError(Exception):
    """A packet arrived that no honest worker sends."""


@dataclass(frozen=True)
class Output:
    """Structure of one returned tensor, as the worker reports it (a claim, not a fact)."""

    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    flags: int


@dataclass(frozen=True)
class Reply:
    """One answer of a model worker."""

    request: int
    status: int
    state: int
    seconds: float
    outputs: tuple[Output, ...]
    message: str


def align(offset: int) -> int:
    """Round a byte offset up to the next tensor start."""
    return (offset + ALIGN - 1) // ALIGN * ALIGN


def memory_file(name: str, size: int) -> int:
    """Return a memory file of `size` bytes that nobody can shrink, grow or unseal.

    Without the seals a candidate could truncate the file and kill whoever reads it by SIGBUS.
    """
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, max(size, ALIGN))
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return fd


def pack_reply(reply: Reply) -> bytes:
    """Encode a reply; the message is cut to what fits."""
    text = reply.message.encode("utf-8", "replace")[:MAX_MESSAGE]
    outs = reply.outputs[:MAX_OUTPUTS]
    parts = [HEAD.pack(MAGIC, reply.request, reply.status, reply.state, len(outs), 0, len(text), 0, reply.seconds)]
    for out in outs:
        code = DTYPES.index(out.dtype) if out.dtype in DTYPES else 255
        shape = (*out.shape[:MAX_DIMS], *([0] * (MAX_DIMS - len(out.shape[:MAX_DIMS]))))
        parts.append(OUTPUT.pack(code, min(len(out.shape), 255), out.flags, 0, out.nbytes, *shape))
    return b"".join([*parts, text])


def unpack_reply(data: bytes, request: int) -> Reply:
    """Decode and check a packet.

    Args:
        data: the packet as received.
        request: the random id of the request that it must answer.

    Raises:
        ForgedReplyError: if any field is out of range or the id is another one.
    """
    if len(data) < HEAD.size:
        raise ForgedReplyError(f"a packet of {len(data)} bytes")
    magic, got, status, state, n_out, _, n_text, _, seconds = HEAD.unpack_from(data)
    if magic != MAGIC or got != request:
        raise ForgedReplyError("a packet that answers no request")
    if status > TAMPERED or state > STATE_SEEDED or n_out > MAX_OUTPUTS or n_text > MAX_MESSAGE:
        raise ForgedReplyError("a packet with fields out of range")
    if len(data) != HEAD.size + n_out * OUTPUT.size + n_text or not 0.0 <= seconds < 1e6:
        raise ForgedReplyError("a packet with a wrong length or time")
    outputs = []
    for i in range(n_out):
        code, ndim, flags, _, nbytes, *shape = OUTPUT.unpack_from(data, HEAD.size + i * OUTPUT.size)
        if ndim > MAX_DIMS or any(not 0 <= s < 1 << 48 for s in shape) or nbytes >= 1 << 48:
            raise ForgedReplyError("an output with dimensions out of range")
        dtype = DTYPES[code] if code < len(DTYPES) else "other"
        outputs.append(Output(dtype, tuple(shape[:ndim]), nbytes, flags))
    text = data[len(data) - n_text :].decode("utf-8", "replace") if n_text else ""
    return Reply(got, status, state, seconds, tuple(outputs), text)
