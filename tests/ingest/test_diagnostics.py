"""Compilers' words to rows."""

from __future__ import annotations

import pytest
from kbstats.ingest import diagnostics

EXT = "Error building extension 'k_v1'"


def first(text, building=True):
    found = diagnostics.parse(text, building=building)
    assert found, text
    return found[0]


@pytest.mark.parametrize(
    ("text", "toolchain", "severity", "file", "line", "class_"),
    [
        (
            '/tmp/k/cuda.cu(49): error: namespace "at::cuda" has no member "x"',
            "nvcc",
            "error",
            "cuda.cu",
            49,
            "compile.undeclared",
        ),
        ("/tmp/k/cuda.cu(14): error: expected an expression", "nvcc", "error", "cuda.cu", 14, "compile.syntax_cxx"),
        (
            'a.cu(3): catastrophic error: cannot open source file "x.h"',
            "nvcc",
            "fatal error",
            "a.cu",
            3,
            "compile.missing_header",
        ),
        ("a.cu(3): warning #177-D: variable declared but never referenced", "nvcc", "warning", "a.cu", 3, None),
        (
            "/tmp/k/main.cpp:8:11: error: ‘__half’ does not name a type; did you mean",
            "gcc",
            "error",
            "main.cpp",
            8,
            "compile.undeclared",
        ),
        (
            "k/cuda.cu:25:10: fatal error: nccl.h: No such file or directory",
            "gcc",
            "fatal error",
            "cuda.cu",
            25,
            "compile.missing_header",
        ),
        ("main.cpp:5:1: error: redefinition of ‘int f()’", "gcc", "error", "main.cpp", 5, "compile.redefinition"),
        ("<stdin>:3:4: error: no matching function for call", "gcc", "error", "<stdin>", 3, "compile.overload"),
        ("/usr/bin/ld: main.o: undefined reference to `f(int)'", "ld", "error", None, None, "link.undefined_symbol"),
        ("/usr/bin/ld: cannot find -lcudart: No such file", "ld", "error", None, None, "compile.cxx_other"),
        ("collect2: error: ld returned 1 exit status", "ld", "error", None, None, "compile.extension_build"),
        ("nvlink error   : Undefined reference to 'f' in 'a.o'", "ld", "error", None, None, "link.undefined_symbol"),
        (
            "ptxas error   : Entry function '_Zf' uses too much shared data (0x1 bytes, 0x0 max)",
            "ptxas",
            "error",
            None,
            None,
            "compile.ptxas",
        ),
        ("ptxas /tmp/a.ptx, line 12; error   : Unexpected instruction", "ptxas", "error", "a.ptx", 12, "compile.ptxas"),
        (
            "nvcc fatal   : Unsupported gpu architecture 'compute_900'",
            "nvcc",
            "fatal error",
            None,
            None,
            "compile.cxx_other",
        ),
        ("ninja: build stopped: subcommand failed.", "ninja", "error", None, None, "compile.extension_build"),
        (f"RuntimeError: {EXT}", "ninja", "error", None, None, "compile.extension_build"),
    ],
)
def test_native(text, toolchain, severity, file, line, class_):
    d = first(text)
    assert (d.toolchain, d.severity, d.file, d.line, d.class_) == (toolchain, severity, file, line, class_)


@pytest.mark.parametrize(
    ("text", "code", "class_"),
    [
        (
            "compile_kernel FAILED: TypeError.\nTypeError: load_inline() missing 1 required positional argument: 'x'",
            "TypeError",
            "compile.load_api_misuse",
        ),
        (
            "compile_kernel FAILED: ImportError.\nImportError: /a/x.so: undefined symbol: _ZN1",
            "ImportError",
            "link.undefined_symbol",
        ),
        ("ImportError: dynamic module does not define module export function (PyInit_x)", "ImportError", "link.pyinit"),
        ("ImportError: /lib/libstdc++.so.6: version `CXXABI_1.3.15' not found", "ImportError", "infra.toolchain_abi"),
        ("ModuleNotFoundError: No module named 'cutlass'", "ModuleNotFoundError", "compile.import_error"),
        ("NameError: name 'x' is not defined", "NameError", "compile.name_error"),
        ("builtins.AttributeError: 'A' object has no attribute 'b'", "AttributeError", "compile.attribute"),
        (
            "triton.compiler.errors.CompilationError: at 10:5:\n    x = tl.foo(a)\n        ^\nunsupported AST node type: With",
            "CompilationError",
            "compile.triton",
        ),
        ("Syntax error in custom generated code or ModelNew not found", None, "compile.modelnew_or_syntax"),
        (
            "compile_kernel FAILED: ModelNew class not found or syntax error prevented execution.\n",
            None,
            "compile.modelnew_or_syntax",
        ),
        ("compile_kernel FAILED: RuntimeError.\nfalling back to something", "RuntimeError", "compile.masked_by_stdout"),
    ],
)
def test_python(text, code, class_):
    d = first(text)
    assert (d.toolchain in {"python", "triton"}, d.code, d.class_) == (True, code, class_)


def test_place_of_a_syntax_error():
    d = first("  File \"/tmp/k_1/gen.py\", line 12\n    x = (\n        ^\nSyntaxError: '(' was never closed")
    assert (d.file, d.line, d.class_) == ("gen.py", 12, "compile.modelnew_or_syntax")
    assert first("SyntaxError: invalid syntax (<string>, line 57)").line == 57


def test_triton_says_what_is_wrong_in_its_last_line():
    d = first("CompilationError: at 10:5:\n    x = tl.foo(a)\n        ^\nunsupported AST node type: With")
    assert (d.line, d.col, d.message) == (10, 5, "unsupported AST node type: With")


def test_a_text_that_lost_its_line_ends():
    text = (
        f"RuntimeError: {EXT}: [1/2] nvcc -c /t/cuda.cu nvcc warning : incompatible redefinition for option 'x' "
        '/t/cuda.cu(22): error: "#" not expected here if(t){ #pragma unroll ^ /t/cuda.cu(26): error: expected an expression '
        'int x ^ 2 errors detected in the compilation of "/t/cuda.cu". ninja: build stopped: subcommand failed.'
    )
    found = [(d.toolchain, d.severity, d.line) for d in diagnostics.parse(text, building=True)]
    assert found == [("nvcc", "warning", None), ("nvcc", "error", 22), ("nvcc", "error", 26), ("ninja", "error", None)]


@pytest.mark.parametrize(
    "text",
    [
        "ptxas info    : Compiling entry function '_Z1f' for 'sm_90'",
        "run_correctness FAILED: unexpected error during tool execution.\nKeyError: 'x'\nTraceback (most recent call last):",
        "kernel did not compile.\neval_kernel_against_ref raised: AcceleratorError: CUDA error: an illegal memory access",
        "torchrun eval timed out after 300s (world_size=8)",
        "   49 |     C10_CUDA_CHECK(cudaGetLastError());",
        "",
    ],
)
def test_what_is_no_diagnostic(text):
    assert diagnostics.parse(text, building=True) == []


def test_python_errors_outside_a_build_are_not_the_compilers():
    assert diagnostics.parse("runtime_error: RuntimeError: shapes\nTypeError: x", building=False) == []


def test_a_repetition_is_one_row_and_long_outputs_are_bounded():
    line = "a.cpp:1:2: error: expected ‘;’ before ‘x’\n"
    assert len(diagnostics.parse(line * 3, building=True)) == 1
    many = "".join(f"a.cpp:{i}:2: error: expected ‘;’\n" for i in range(1, 2000))
    assert len(diagnostics.parse(many, building=True)) == diagnostics.MAX_ROWS


def test_a_pathological_line_is_fast():
    diagnostics.parse("x" * 300_000 + "): error: y", building=True)
    diagnostics.parse("(1" * 150_000 + "): error: y", building=True)
