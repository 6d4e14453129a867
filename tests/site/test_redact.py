"""What is hidden, and what only looks like it."""

from __future__ import annotations

import json

import pytest
from kbstats.site.redact import Redactor, capital, lowered, parted, spaced

A = "abcdefghij0123456789ABCDEFGHIJ0123456789"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-isystem /scratch/user/KernelBench/.venv/lib", "-isystem [home]/KernelBench/.venv/lib"),
        ('File "/home/alice/run.py", line 3', 'File "[home]/run.py", line 3'),
        ("/Users/bob", "[home]"),
        (r"C:\Users\bob\x.cu", r"[home]\x.cu"),
        (r'"C:\\Users\\bob\\x.cu"', r'"[home]\\x.cu"'),
        ("file:///home/alice/x", "file://[home]/x"),
        ("/root/.cache", "[mount]/.cache"),
        ("/mnt/team/data", "[mount]/data"),
        ("/project/jdoe/build/main.cpp", "[mount]/build/main.cpp"),
        ("write to jane.doe@example.org.", "write to [e-mail]."),
        (f"key sk-ant-{A}", "key [token]"),
        (f"sk-proj-{A}", "[token]"),
        (f"ghp_{A[:36]}", "[token]"),
        (f"github_pat_{A}", "[token]"),
        (f"hf_{A[:34]}", "[token]"),
        ("AKIAIOSFODNN7EXAMPLE", "[token]"),
        ("xoxb-123456789012-abcdefghijkl", "[token]"),
        (f"AIza{A[:35]}", "[token]"),
        (f"Authorization: Bearer {A}", "Authorization: Bearer [token]"),
        (f"eyJ{A[:20]}.eyJ{A[:20]}.{A[:20]}", "[token]"),
        ("WANDB_API_KEY=0123456789abcdef0123", "WANDB_API_KEY=[secret]"),
        ('"aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPx"', '"aws_secret_access_key": "[secret]"'),
        ("https://me:hunter22@host/x.git", "https://[credentials]@host/x.git"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "[private key]"),
        ("node7.cluster.internal failed", "[host] failed"),
        ("ip-10-0-3-17 up", "[host] up"),
        ("tcp://10.1.2.3:29500", "tcp://[address]:29500"),
        ("alice@gpu-box:~/work$ ls", "[user]:~/work$ ls"),
        ("USER=alice", "USER=[user]"),
        ("/tmp/torchinductor_alice/ab/c.py", "/tmp/torchinductor_[user]/ab/c.py"),
        ("/tmp/pytest-of-alice/pytest-0", "/tmp/pytest-of-[user]/pytest-0"),
        ("/global/homes/a/alice/run.py", "/global[home]/run.py"),
        ("/pscratch/sd/a/alice/x", "[home]/x"),
        ("/data/alice/x", "[mount]/x"),
        ("/private/var/folders/zz/abc123/T/x", "[mount]/T/x"),
        ("Ann <ann@team.museum>", "Ann <[e-mail]>"),
        ("user.email=ann@lab", "user.email=[e-mail]"),
        (f"Cookie: session={A}", "Cookie: session=[token]"),
        (f"https://h/b?sig={A}%3D&se=1", "https://h/b?sig=[secret]&se=1"),
        (f"X-Amz-Signature={'0123456789abcdef' * 4}", "X-Amz-Signature=[secret]"),
        (f'{{"username":"[user]","key":"{"0123456789abcdef" * 2}"}}', '{"username":"[user]","key":"[secret]"}'),
        (f"api_key {A}", "api_key [secret]"),
        (f"sess-{A}", "[token]"),
        (f"sntrys_{A}", "[token]"),
        (f"phc_{A}", "[token]"),
        ("pk-lf-12345678-1234-1234-1234-123456789012", "[token]"),
        ("HOSTNAME=gpu-box-7", "HOSTNAME=[host]"),
    ],
)
def test_hidden(text, shown):
    redact = Redactor()
    assert redact(text) == shown
    assert sum(redact.take().values()) == 1
    assert redact(shown) == shown  # doing it twice changes nothing
    assert redact.take() == {}


@pytest.mark.parametrize(
    "text",
    [
        "h = x@self.weight.to(dtype) + b",
        "y = q@k.mT",
        "@triton.jit\ndef f(): pass",
        "mask-based-softmax-with-16-lanes",
        "task-parallel-reduction-kernel-4",
        "hf_model_config_for_tests_only",
        "MAX_TOKENS = 4096",
        "tokens: 123456789012",
        "/usr/local/cuda/bin/nvcc -O3",
        "/opt/conda/include/python3.10",
        "cuDNN 10.2.89.1",
        "std::basic_string<char> basic block",
        "key = tensor.data_ptr()",
        "git@github.com:org/repo.git",
        "at::cuda::getCurrentCUDAStream()",
        "a/home-made/kernel",
        "/workspace/model",
        "a/data/x.csv",
        '"key": "0123456789abcdef0123456789abcdef"',
        "std::less<a> < b@c",
        'cache["key"] = "value"',
        "api key of the extension is missing",
        "signal=1 & sig = 0",
        "out = query@key.T",
        "x = y@node.weight(z)",
        "x & ~mask / 2",
        "std::vector<int>::~vector()",
        "tl.load(ptr + offs, mask=offs < n)",
        "forward(self, x: torch.Tensor) -> torch.Tensor",
    ],
)
def test_left_alone(text):
    redact = Redactor()
    assert redact(text) == text
    assert redact.take() == {}


def test_own_folders_and_names():
    redact = Redactor(folders=["/srv/team/runs"], names=["gpubox9", "jdoe"])
    assert redact("read /srv/team/runs/a.json as jdoe on gpubox9") == "read [sources]/a.json as [name] on [name]"
    assert redact("/srv/team/runs-2 jdoes") == "/srv/team/runs-2 jdoes"


def test_off():
    redact = Redactor(enabled=False, names=["gpubox9"])
    assert redact("/home/alice gpubox9") == "/home/alice gpubox9"
    assert redact.take() == {}


def test_a_secret_in_a_long_text_is_found_quickly():
    text = ("x = a @ b.c  # " + "y" * 80 + "\n") * 20_000
    redact = Redactor()
    assert redact(text + f"ghp_{A[:36]}").endswith("[token]")
    assert redact.take() == {"token": 1}


@pytest.mark.parametrize(
    "text", ["alice.b@example.org", "ghp_" + "A1b" * 12, "d:/users/alice_b.x", "password: q7HunterTwo!"]
)
def test_what_is_hidden_is_not_changed_or_taken_apart_before(text):
    # In other letters, or without its first part, nothing would recognise it any more.
    changed = (spaced(text, "._:@/"), lowered(text), capital(text), *(parted(text, sign)[0] for sign in ".:@/_"))
    assert set(changed) == {text}
    assert Redactor()(text) != text


def test_what_is_not_hidden_is():
    assert (spaced("a_b"), lowered("INCORRECT"), capital("right")) == ("a b", "incorrect", "Right")
    assert parted("HACK:stream", ":") == ("HACK", "stream")
    assert parted("FLAKY", ":") == ("FLAKY", "")


def test_a_token_that_was_cut_off_behind_what_it_says():
    assert Redactor()("see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.q7") == "see [token]"


@pytest.mark.parametrize("depth", range(5))
def test_a_network_share_in_json_in_json(depth):
    text = "see \\\\filer\\alice"
    for _ in range(depth):
        text = json.dumps(text)
    assert "filer" not in Redactor()(text)
