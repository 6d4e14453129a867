"""References in prompts and checkouts, and whether their inputs change shape."""

from __future__ import annotations

import hashlib
import json

import pytest
from kbstats.ingest import references
from kbstats.ingest.formats.problems import FORMAT as PROBLEMS
from kbstats.ingest.formats.problems import suite_of

HEAD = "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
FIXED = HEAD + "def get_inputs():\n    return [torch.randn(4, 4)]\n"


def source(body, before=""):
    return before + HEAD + "def get_inputs():\n" + "".join(f"    {line}\n" for line in body.split("\n"))


@pytest.mark.parametrize(
    ("body", "before", "drawn"),
    [
        ("return [torch.randn(16, 8)]", "", False),
        ("return [torch.randn(popcorn_pri.jitter_int(B), 8)]", "B = 16\n", True),
        ("p = popcorn_pri\nn = p.jitter_int(16)\nreturn [torch.randn(n, 8)]", "", True),
        ("n = random.randint(1, 9)\nm = n * 2\nreturn [torch.zeros((m, 8))]", "", True),
        ("n = int(torch.randint(13, 19, (1,)).item())\nreturn [torch.randn(n, 64)]", "", True),
        ("return [torch.randint(0, 10, (B, 8))]", "B = 4\n", False),
        ("idx = torch.randint(0, 10, (4,))\nreturn [torch.randn(4, 8), idx]", "", False),
        ("scale = random.random()\nreturn [torch.randn(4, 8) * scale]", "", False),
        ("x = torch.rand(8)\nreturn [x[: random.randrange(3, 8)]]", "", True),
        ("return [torch.randn(size(), 8)]", "def size():\n    return random.choice([1, 2])\n", True),
        ("return make(random.randint(2, 5))", "def make(n):\n    return [torch.randn(n)]\n", True),
        ("return make()", "def make():\n    n = random.randint(2, 5)\n    return [torch.randn(n)]\n", True),
        ("return [torch.randn(N, 8)]", "N = random.randint(1, 4)\n", True),
        ("torch.manual_seed(random.randint(1, 9))\nreturn [torch.randn(4)]", "", False),
        ("return [torch.full((4,), random.uniform(0, 1))]", "", False),
        ("for i in range(random.randint(1, 3)):\n    pass\nreturn []", "", True),
    ],
)
def test_drawn_shapes(body, before, drawn):
    assert references.draws_shapes(source(body, before)) is drawn


@pytest.mark.parametrize("text", ["def get_inputs(:", "x = 1\n", "\x00", "(" * 500])
def test_no_source_no_answer(text):
    assert references.draws_shapes(text) is None


def block(code):
    return f"Task:\n```python\n{code}```\nGo.\n"


def test_in_prompt():
    assert references.in_prompt(block(FIXED)) == FIXED
    assert references.in_prompt("no code, though it says class Model") is None
    assert references.in_prompt(block(FIXED) + block(FIXED)) is None, "an example beside the task: which one is not certain"
    assert references.in_prompt(block("# Stub, no class Model here\n")) is None
    assert references.in_prompt(block(FIXED + "# ... (120 more chars)\n")) is None, "cut"


def test_a_trajectory_names_its_reference(wh, tmp_path):
    path = tmp_path / "runs/s_all/original/m/level_1_problem_1_trajectory.json"
    path.parent.mkdir(parents=True)
    turn = {"turn_id": 0, "messages_in": [{"role": "user", "content": block(FIXED)}]}
    document = {"problem_id": 1, "level": 1, "problem_name": "1_A.py", "run_name": "s_all", "model_name": "m", "max_turns": 2, "turns": [turn], "outcome": "error"}
    path.write_text(json.dumps(document))
    wh.ingest(tmp_path)
    want = hashlib.sha256(FIXED.rstrip().encode()).hexdigest()
    assert wh.rows("select suite, level, variant, problem_name, draws_shapes, source_sha256 from problems") == [
        {"suite": "popcornbench", "level": 1, "variant": "original", "problem_name": "1_A.py", "draws_shapes": False, "source_sha256": want}
    ]
    assert wh.one("select reference_sha256 from runs") == want


def test_a_checkout(wh, tmp_path):
    root = tmp_path / "KernelBench"
    for name, text in {
        "level1/1_A.py": FIXED, "level1/2_B.py": FIXED.replace("\n", "\r\n"), "level1/3_new.py": FIXED.replace("class Model(", "class ModelNew("),
        "level1/notes.py": FIXED, "level2/4_helper.py": "x = 1\n", "other/1_A.py": FIXED,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    summary = wh.ingest(tmp_path)
    assert wh.rows("select suite, level, variant, problem_id, problem_name from problems order by problem_id") == [
        {"suite": "kernelbench", "level": 1, "variant": "default", "problem_id": i, "problem_name": n} for i, n in ((1, "1_A.py"), (2, "2_B.py"))
    ]
    assert wh.one("select count(distinct source_sha256) from problems") == 1, "line ends make no other source"
    assert summary.ignored == {".py": 4}


def test_variants_tell_the_suite(tmp_path):
    (tmp_path / "KernelBench/level3/popcorn").mkdir(parents=True)
    assert suite_of(tmp_path / "KernelBench") == "popcornbench"
    (tmp_path / "b/KernelBench/level3").mkdir(parents=True)
    assert suite_of(tmp_path / "b/KernelBench") == "kernelbench"
    path = tmp_path / "KernelBench/level3/popcorn/11_x.py"
    path.write_text(FIXED)
    assert PROBLEMS.sniff(path, FIXED.encode())


def test_the_problems_that_come_with_kbstats(wh):
    from importlib.resources import as_file, files

    with as_file(files("kbstats.data").joinpath("problems")) as folder:
        wh.ingest(folder)
    assert wh.rows("select level, problem_id from problems where draws_shapes") == [{"level": 3, "problem_id": 1}], "data/README.md: it draws its batch"
    assert wh.one("select count(*) from problems") == 12
