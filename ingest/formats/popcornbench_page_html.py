"""POPCORNBENCH's rendered trace pages (HTML): for many published runs nothing else is public.

A page is turned back into the document of the trajectory it was rendered from, as far as it shows
it; the trajectory format does the rest, so that both give the same tables. What a page does not
have: tool metadata, call ids, the messages of later turns. Three generations of pages differ in
the head of a turn and in whether long arguments are cut (docs/formats.md).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

# A value cut by the first generation ends in this; what is cut has no hash.
CUT = re.compile(r"\n?\.\.\. \((?P<n>\d+) more chars\)\Z")

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
_TITLE = re.compile(r"L(?P<level>\d+)\D+?(?P<problem>\d+)")
_HEAD = {
    "turn_wall_clock_s": re.compile(r"([\d.,]+)s turn"),
    "llm_latency_s": re.compile(r"(?:([\d.,]+)s LLM|llm latency: ([\d.,]+)s)"),
    "tools_wall_clock_s": re.compile(r"([\d.,]+)s tools"),
}
_TOKENS = re.compile(r"tokens in=([\d,]+) · out=([\d,]+) · total=([\d,]+)")
_SPECS = re.compile(r"GPU specs for (?P<name>[^\n:]+):")

# The label of a cell -> where its number stands in a trajectory's final_result, by section.
# Megabytes stay megabytes: the trajectory has both units and its reader converts.
_CELLS: dict[tuple[str, str], tuple[str, str]] = {
    ("numerical precision", "max abs error"): ("numerical_precision", "max_abs_error"),
    ("numerical precision", "mean abs error"): ("numerical_precision", "mean_abs_error"),
    ("numerical precision", "max rel error"): ("numerical_precision", "max_rel_error"),
    ("numerical precision", "mean rel error"): ("numerical_precision", "mean_rel_error"),
    ("gpu memory", "kernel peak"): ("memory_stats", "peak_memory_mb"),
    ("gpu memory", "ref peak"): ("memory_stats", "ref_peak_memory_mb"),
    ("gpu memory", "kernel / ref"): ("memory_stats", "memory_ratio"),
    ("kernel launches", "kernel launches"): ("kernel_launch_stats", "num_kernels"),
    ("kernel launches", "ref launches"): ("kernel_launch_stats", "ref_num_kernels"),
    ("kernel launches", "fusion ratio (ref / kernel)"): ("kernel_launch_stats", "fusion_ratio"),
    ("kernel launches", "total cuda time"): ("kernel_launch_stats", "total_cuda_time_us"),
    ("energy", "kernel mj / run"): ("energy_stats", "energy_per_run_mj"),
    ("energy", "ref mj / run"): ("energy_stats", "ref_energy_per_run_mj"),
    ("energy", "ratio (ref / kernel)"): ("energy_stats", "energy_ratio"),
    ("energy", "avg power"): ("energy_stats", "avg_power_w"),
    ("energy", "ref avg power"): ("energy_stats", "ref_avg_power_w"),
    ("sol", "sol score (0–1)"): ("sol_stats", "sol_score"),
    ("sol", "dram util %"): ("sol_stats", "dram_utilization_pct"),
    ("sol", "compute util %"): ("sol_stats", "compute_utilization_pct"),
    ("sol", "arithmetic intensity"): ("sol_stats", "arithmetic_intensity"),
    ("sol", "ridge point"): ("sol_stats", "ridge_point"),
    ("roofline", "dram bandwidth"): ("roofline_stats", "dram_bandwidth_gbs"),
    ("roofline", "dram util %"): ("roofline_stats", "dram_utilization_pct"),
    ("roofline", "fp32 tflops"): ("roofline_stats", "fp32_tflops"),
    ("roofline", "fp32 util %"): ("roofline_stats", "fp32_utilization_pct"),
    ("roofline", "fp16 tflops"): ("roofline_stats", "fp16_tflops"),
    ("roofline", "occupancy %"): ("roofline_stats", "occupancy_pct"),
    ("roofline", "dominant pipe %"): ("roofline_stats", "dominant_utilization_pct"),
    ("roofline", "arithmetic intensity"): ("roofline_stats", "arithmetic_intensity"),
    ("roofline", "ridge point"): ("roofline_stats", "ridge_point"),
    ("roofline", "l1 hit %"): ("roofline_stats", "l1_hit_rate_pct"),
    ("roofline", "l2 hit %"): ("roofline_stats", "l2_hit_rate_pct"),
    ("roofline", "ld sectors / req"): ("roofline_stats", "ld_sectors_per_request"),
    ("roofline", "st sectors / req"): ("roofline_stats", "st_sectors_per_request"),
    ("roofline", "regs / thread"): ("roofline_stats", "registers_per_thread"),
    ("roofline", "smem / block"): ("roofline_stats", "shared_mem_per_block"),
    ("roofline", "block size"): ("roofline_stats", "block_size"),
    ("roofline", "peak bw"): ("roofline_stats", "peak_bw_gbs"),
    ("roofline", "peak fp32 tflops"): ("roofline_stats", "peak_fp32_tflops"),
    ("roofline", "peak fp16 tflops"): ("roofline_stats", "peak_fp16_tflops"),
}
_WORDS = {("sol", "bottleneck"), ("sol", "dominant pipe"), ("roofline", "bottleneck")}
_SECTIONS = ("numerical precision", "gpu memory", "kernel launches", "energy", "sol", "roofline")
_WITH_SOURCE = {"sol": "sol_stats", "roofline": "roofline_stats"}


def is_trace_page(head: str) -> bool:
    """Whether the first bytes of an HTML file are those of a trace page (not an index or model page)."""
    return "site-title" in head and re.search(r"<title>L\d+ P\d+ · ", head) is not None


def number(text: str) -> float | None:
    """The number of a cell: `4.62x`, `1,010`, `0.02 μs`, `31.3%`; a dash is unknown."""
    m = _NUMBER.search(text)
    return float(m[0].replace(",", "")) if m else None


def page_to_trajectory(html: str) -> dict[str, Any]:
    """The document a page was rendered from, as far as the page shows it.

    Args:
        html: The page.

    Returns:
        A trajectory document (docs/formats.md). Beside its own keys: `_speedup`, the page's cell,
        since displayed runtimes are rounded to nothing; `_variant`; `_reference`, the reference's
        source; `_cut`, whether arguments were cut.

    Raises:
        ValueError: the page lacks what makes it a trace page.
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    title = _text(tree, ".site-title")
    m = _TITLE.search(_text(tree, "title")) or _TITLE.search(title)
    if not m:
        raise ValueError("no level and problem in the page's title")
    parts = [p.strip() for p in _text(tree, ".site-subtitle").split(" · ")]
    if len(parts) < 3:
        raise ValueError("the page's subtitle does not name model, variant and run")
    model, variant, run = " · ".join(parts[:-2]), parts[-2], parts[-1]
    cells = _grid(tree)
    if "outcome-" not in html or not cells:
        raise ValueError("no outcome and result cells on the page")
    outcome = _text(tree, ".tldr .outcome-badge")
    name = _text(tree, ".tldr .card-row span:not(.outcome-badge)")
    backend, _, precision = cells.get("backend", "").partition(" ")
    taken, _, allowed = cells.get("turns / max", "").partition("/")
    reference, final_kernel = _sources(tree)
    turns = _turns(tree, final_kernel)
    wall = number(cells.get("wall clock", ""))
    tokens = number(cells.get("tokens (total)", ""))
    document = {
        "problem_id": int(m["problem"]),
        "level": int(m["level"]),
        "problem_name": name,
        "run_name": run,
        "model_name": cells.get("model") or model,
        "backend": backend or None,
        "precision": precision or None,
        "max_turns": _int(allowed),
        "started_at": cells.get("started") or None,
        "finished_at": None,
        "agent_wall_clock_s": wall,
        "truncation_occurred": {"yes": True, "no": False}.get(cells.get("truncated", "")),
        "total_turns": _int(taken),
        "total_tool_calls": _int(cells.get("tool calls", "")),
        "llm_total_tokens": None if tokens is None else int(tokens),
        "outcome": "" if outcome == "pending" else outcome,
        "turns": turns,
        "final_result": _final_result(tree, cells, outcome, turns),
        "_speedup": number(cells.get("speedup", "")),
        "_variant": variant,
        "_reference": reference,
        "_cut": any(c.pop("_cut", False) for t in turns for c in t["tool_calls"]),
    }
    if skip := re.search(r"skip reason:\s*(.+)", _text(tree, ".tldr")):
        document["skip_reason"] = skip[1].strip()
    return document


def _text(node: LexborHTMLParser | LexborNode, selector: str) -> str:
    found = node.css_first(selector)
    return found.text(deep=True).strip() if found else ""


def _int(text: str) -> int | None:
    value = number(text)
    return None if value is None else int(value)


def _grid(tree: LexborHTMLParser) -> dict[str, str]:
    """The cells at the top: label -> value."""
    return {_text(c, ".l"): _dashed(_text(c, ".v")) for c in tree.css(".tldr-cell")}


def _dashed(text: str) -> str:
    return "" if text in {"—", "-", "None"} else text


def _sources(tree: LexborHTMLParser) -> tuple[str | None, str | None]:
    """Reference source and final submitted kernel, each where the page has it whole."""
    reference = final = None
    for d in tree.css("details.ref-source"):
        head, pre = _text(d, "summary"), d.css_first("pre")
        if pre is None:
            continue
        if head.startswith("final submitted kernel"):
            final = pre.text(deep=True)
        elif head.startswith("reference"):
            reference = pre.text(deep=True)
    return reference, final


def _final_result(
    tree: LexborHTMLParser, cells: dict[str, str], outcome: str, turns: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """The final result as the metric cells show it; None where the page says there was none.

    "ref runtime" reads 0.00 where there is no final result and -1.00 where it was not timed.
    """
    runtime, ref = number(cells.get("runtime", "")), number(cells.get("ref runtime", ""))
    if runtime is None and ref in {0.0, None} and outcome not in {"correct", "incorrect", "compile_fail"}:
        return None
    result: dict[str, Any] = {
        "compiled": outcome in {"correct", "incorrect"},
        "correctness": outcome == "correct",
        "metadata": {},
        "runtime": -1.0 if runtime is None else runtime,
        "ref_runtime": ref or -1.0,
    }
    top = _text(tree, ".tldr")
    for words, key in (("compile error:", "compilation_error"), ("correctness issue:", "correctness_issue")):
        if words in top:
            result["metadata"][key] = top.split(words, 1)[1].strip()
    for turn in turns:
        for call in turn["tool_calls"]:
            if specs := _SPECS.search(call["result_text"]):
                result["metadata"].setdefault("hardware", specs["name"].strip())
    for section in tree.css(".metrics-section"):
        _metrics(section, result)
    return result


def _metrics(section: LexborNode, result: dict[str, Any]) -> None:
    head = _text(section, ".metrics-head span").lower()
    cells = [(_text(c, ".l"), _dashed(_text(c, ".v"))) for c in section.css(".metric")]
    if head.startswith("timing"):
        _timing(cells, result)
    elif head.startswith("warp stalls"):
        stalls = {label: v for label, value in cells if (v := number(value)) is not None}
        result.setdefault("roofline_stats", {})["warp_stalls"] = stalls
    elif kind := next((s for s in _SECTIONS if head.startswith(s)), None):
        if kind in _WITH_SOURCE:
            result.setdefault(_WITH_SOURCE[kind], {})["source"] = _text(section, ".metrics-head .src")
        for label, value in cells:
            _cell(kind, label.lower(), value, result)


def _timing(cells: list[tuple[str, str]], result: dict[str, Any]) -> None:
    """Mean and standard deviation of both sides; the median between them is always a dash."""
    for label, value in cells:
        side = "" if label.startswith("kernel mean") else "ref_" if label.startswith("ref mean") else None
        if side is not None:
            mean, _, std = ([*value.split(" / "), "", ""])[:3]
            stats = {"mean": number(mean), "std": number(std)}
            result[f"{side}runtime_stats"] = {k: v for k, v in stats.items() if v is not None}


def _cell(kind: str, label: str, value: str, result: dict[str, Any]) -> None:
    if not value:
        return
    if (kind, label) in _WORDS:
        result.setdefault(_WITH_SOURCE[kind], {})[label.replace(" ", "_")] = value
    elif (where := _CELLS.get((kind, label))) and (v := number(value)) is not None:
        result.setdefault(where[0], {})[where[1]] = v


def _turns(tree: LexborHTMLParser, final_kernel: str | None) -> list[dict[str, Any]]:
    return [_turn(node, i, final_kernel) for i, node in enumerate(tree.css("div.turn"))]


def _turn(node: LexborNode, index: int, final_kernel: str | None) -> dict[str, Any]:
    head = _text(node, ".turn-head")
    turn: dict[str, Any] = {
        "turn_id": index,
        "feedback_to_model": "",
        "is_final": "FINAL" in head,
        "submitted_kernel": None,
    }
    for key, pattern in _HEAD.items():
        m = pattern.search(head)
        turn[key] = number(next(filter(None, m.groups()))) if m else None
    if m := _TOKENS.search(head):
        keys = ("input_tokens", "output_tokens", "total_tokens")
        turn["llm_usage"] = {k: int(v.replace(",", "")) for k, v in zip(keys, m.groups(), strict=True)}
    turn["provider_truncated"] = "provider limit" in head if "tokens in=" in head else None
    response: list[dict[str, Any]] = []
    calls: list[tuple[str, dict[str, Any]]] = []
    results: list[tuple[str, bool, str]] = []
    # Descendants, not children: a generator left a span open, and the rest of the turn inside it.
    for block in node.css("div.block"):
        classes = set((block.attributes.get("class") or "").split())
        tag, tool, text = _block(block)
        if "reasoning" in classes:
            response.append({"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]})
        elif "tool-args" in classes:
            calls.append((tool, _arguments(text)))
            response.append({"type": "function_call", "name": tool, "arguments": text})
        elif "tool-out" in classes:
            results.append((tool, "fail" not in classes, text))
        elif tag == "feedback":
            turn["feedback_to_model"] = text
        elif "assistant" in classes:
            response.append(
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
            )
    turn["response"] = response
    turn["tool_calls"] = [_call(r, calls, final_kernel) for r in results]
    return turn


def _block(block: LexborNode) -> tuple[str, str, str]:
    """Role tag, tool name and text of a block."""
    tag, tool = block.css_first("span.role-tag"), block.css_first("b")
    tag_text, tool_text = (tag.text() if tag else ""), (tool.text() if tool else "")
    is_tool = "tool-" in (block.attributes.get("class") or "")
    if tag:
        tag.decompose()
    if tool and is_tool:
        tool.decompose()
    text = block.text(deep=True)
    return (
        tag_text.strip(),
        tool_text.strip() if is_tool else "",
        text.removeprefix("\n") if is_tool else text.strip("\n"),
    )


def _arguments(text: str) -> dict[str, Any]:
    """A call's arguments; text that is no JSON (cut, or never was) is kept as the format's `_raw`."""
    try:
        found = json.loads(text, strict=False)  # the cut marker brings a raw line break into a string
    except ValueError:
        return {"_raw": text}
    return found if isinstance(found, dict) else {"_raw": text}


def _call(
    result: tuple[str, bool, str], calls: list[tuple[str, dict[str, Any]]], final_kernel: str | None
) -> dict[str, Any]:
    """A result with the arguments of the first call of its tool that is still without one."""
    tool, ok, text = result
    at = next((i for i, (name, _) in enumerate(calls) if name == tool), None)
    args = calls.pop(at)[1] if at is not None else {}
    call = {"tool_name": tool, "args": args, "result_text": text, "success": ok, "metadata": {}}
    source = args.get("kernel_code")
    if isinstance(source, str) and (m := CUT.search(source)):
        kept = source[: m.start()]
        whole = final_kernel if final_kernel and tool == "submit_kernel" and final_kernel.startswith(kept) else None
        if whole is not None:
            args["kernel_code"] = whole
        else:
            args.pop("kernel_code")
            args["kernel_code_cut"] = kept
            call["_cut"] = True
    elif at is None and tool == "submit_kernel" and final_kernel:
        args["kernel_code"] = final_kernel  # submitted for the model, without a call of its own
    return call
