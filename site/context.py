"""What every page kind works with: the small tables in memory, addresses of pages, text that may be shown."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from kbstats.analytics.warehouse import version
from kbstats.site import blocks, changes, fmt, read, templating, words
from kbstats.site.cache import Compiled
from kbstats.site.doubts import Doubts
from kbstats.site.highlight import Highlighter
from kbstats.site.queries import Queries
from kbstats.site.read import Row, grouped
from kbstats.site.redact import Redactor, capital, own_names, parted
from kbstats.site.slugs import Slugs
from kbstats.site.templating import Environment
from kbstats.site.text import Clean, one_line, visible

if TYPE_CHECKING:
    import duckdb
    from kbstats.site.options import Options
    from kbstats.site.output import Folder
    from markupsafe import Markup

TRUST_LEVELS = ("claimed", "audited", "verified")


_COMPILED = Compiled(jinja2.__version__, sys.version, Path(templating.__file__).read_text(encoding="utf-8"))


class Site(Queries):
    """One build's view of the database.

    Attributes:
        runs: Every run with its derived outcome and the audit's result, in page order.
        findings: Findings by run.
        names: This machine's and its user's own names, where any text holds them.
        root: Leads from the page that is being rendered to the site's top; macros are compiled once, for all pages.
        run_path: The run that page is about.
        in_turn: A turn's body is rendered, whose page is not known yet: its kernel stands on the same one.
    """

    ATTACH = 120_000
    """Characters of one text beyond which it stands in a file of its own."""

    def __init__(
        self, con: duckdb.DuckDBPyConnection, options: Options, folder: Folder, names: list[str] | None = None
    ) -> None:
        self.con = con
        self.options = options
        self.folder = folder
        self.title = options.title
        roots = [r["root"] for r in read.fetch(con, read.ROOTS)]
        self.names = read.said(con, own_names()) if names is None else names
        self.redact = Redactor(enabled=options.redact, folders=roots, names=self.names)
        self.highlight = Highlighter()
        self.root = self.run_path = ""
        self.in_turn = False
        self._attached: dict[str, str] = {}
        self.board_cache = {}
        self._sources: dict[str, tuple[Clean, Counter[str]]] = {}
        self._load()
        self._doubts = Doubts(con)
        self.env = self._environment()

    # ------------------------------------------------------------------ data
    def _load(self) -> None:
        con = self.con
        self.runs = read.fetch(con, read.RUNS)
        self.by_id = {r["run_id"]: r for r in self.runs}
        self.all_findings = read.fetch(con, read.FINDINGS)
        self.findings = grouped([f for f in self.all_findings if f["run_id"]], "run_id")
        trust: dict[str, dict[str, Row]] = {}
        for t in read.fetch(con, read.TRUST):  # of several GPU models the one that counts comes first
            trust.setdefault(t["run_id"], {}).setdefault(t["trust"], t)
        self.classes = {c["class"]: c for c in read.fetch(con, read.CLASSES)}
        self.tool_failures = read.fetch(con, read.FAILURES)
        self.verifications = read.fetch(con, read.VERIFICATIONS)
        self.annotations = read.fetch(con, read.ANNOTATIONS)
        self.problems = read.fetch(con, read.PROBLEMS)
        self.totals = read.fetch(con, read.TOTALS)[0]
        self.links = read.fetch(con, read.LINKS)
        by_kernel = grouped(self.verifications, "kernel_sha256")
        self.slugs = {
            k: Slugs() for k in ("levels", "models", "problems", "runs", "sweeps", "verifications", "kernels")
        }
        for r in self.runs:
            r["findings"] = self.findings.get(r["run_id"], [])
            r["blocks"] = [b for b in ("correctness", "speed", "identity") if r[f"blocks_{b}"]]
            r["verifications"] = [v for v in by_kernel.get(r["submitted_kernel_sha256"], []) if _same_problem(v, r)]
            r["trust"] = trust.get(r["run_id"], {})
            r["counts"] = _counts(r)
            r["standing"] = _standing(r)
            serious = [f for f in r["findings"] if f["severity"] != "info"]
            r["findings_shown"] = list(
                {f["code"]: f for f in sorted(serious, key=lambda f: f["blocks"] not in words.GATES)}.values()
            )[:3]
            r["level_key"] = f"{r['suite']}\0{r['level']}"
            r["sweep_key"] = f"{r['suite']}\0{r['sweep']}" if r["sweep"] else None
            r["model_key"] = r["model"] or r["model_raw"] or "(unknown)"
            r["short"] = f"L{r['level']} P{r['problem_id']}" if r["problem_id"] is not None else f"L{r['level']}"
        self._name_pages()

    def _name_pages(self) -> None:
        """Addresses. The readable part is redacted like any text; the hash keeps names apart."""
        say = lambda s: self.redact(visible(str(s)))  # noqa: E731
        for r in self.runs:
            self.slugs["levels"].add(r["level_key"], say(f"{r['suite']}-level-{r['level']}"))
            if r["sweep"]:
                self.slugs["sweeps"].add(r["sweep_key"], say(f"{r['suite']}-{r['sweep']}"))
            self.slugs["models"].add(r["model_key"], say(r["model_key"]), hashed=say(r["model_key"]) != r["model_key"])
            self.slugs["problems"].add(r["problem_key"], say(f"l{r['level']}-{r['problem_name'] or r['problem_id']}"))
            self.slugs["runs"].add(r["run_id"], say(f"l{r['level']}-p{r['problem_id']}-{r['model_key']}"))
        for v in self.verifications:
            self.slugs["verifications"].add(v["verification_id"], say(f"{v['problem_name']}-{v['verdict']}"))
        self.redact.take()

    def addresses_of(self, run: Row) -> list[str]:
        """Every address that a run's page may link to besides other runs: they are part of its key."""
        out = [
            self.path("models", run["model_key"]),
            self.path("problems", run["problem_key"]),
            self.path("levels", run["level_key"]),
        ]
        return out + [self.path("verifications", v["verification_id"]) for v in run["verifications"]]

    def doubts(self, finding: Row, name: str) -> bool:
        """Whether a finding speaks of a number."""
        return self._doubts(finding, name)

    def macro(self, template: str, name: str, root: str = "../", run_path: str = "") -> Any:
        """A macro of a template, callable from Python until the next page is rendered; it returns markup."""
        self.root, self.run_path, self.in_turn = root, run_path, True
        return getattr(self.env.get_template(template).module, name)

    @functools.cached_property
    def digest(self) -> str:
        """A hash of everything besides the rows that a page depends on: code, templates, options."""
        import duckdb

        h = hashlib.sha256(
            f"{version()}\0{duckdb.__version__}\0{self.title}\0{self.redact.enabled}\0{self.options.base_url}".encode()
        )
        h.update(repr(self.redact.own_words).encode())
        stack = [files("kbstats.site")]
        while stack:
            for f in sorted(stack.pop().iterdir(), key=lambda f: f.name):
                if f.is_dir() and f.name != "__pycache__":
                    stack.append(f)
                elif f.name.endswith((".py", ".html", ".css", ".js")):
                    h.update(f.name.encode() + f.read_bytes())
        return h.hexdigest()[:16]

    # ------------------------------------------------------------------ addresses
    def path(self, kind: str, key: str) -> str:
        """A page's file, from the site's root."""
        return f"{kind}/{self.slugs[kind][key]}.html"

    def kernel_path(self, sha: str | None) -> str | None:
        """The page of a kernel whose source is known."""
        return f"kernels/{sha[:20]}.html" if sha and sha in self.paged_kernels else None

    def line_href(self, call: Any, line: int) -> str:
        """Where a line of a call's kernel stands: on the kernel's page, in the call's turn, or in an earlier one."""
        k = call.kernel
        if page := self.kernel_path(k.sha):  # sources too long for a page have no lines
            return f"{self.root}{page}#L{line}" if len(k.source) <= self.ATTACH else f"{self.root}{page}"
        if k.same_as is not None:
            return f"{self.root}{self.run_path}#turn-{k.same_as}"
        page = "" if self.in_turn else f"{self.root}{call.part or self.run_path}"
        return f"{page}#{call.name}-L{line}"

    def class_href(self, name: str) -> str:
        """Where a failure class is explained: with its examples, or, where it has none here, its definition."""
        if name in self.failing_classes:
            return f"failures.html#{name}"
        return f"methodology.html#class-{name}" if name in self.classes else "failures.html"

    # ------------------------------------------------------------------ text
    def text(self, value: str) -> str:
        """Foreign text as it may stand on a page, before escaping."""
        return value if type(value) is Clean else self.redact(visible(value))

    def source(self, kernel: Row) -> str:
        """A kernel's source as it may be shown; what it hides counts on each page that shows it."""
        sha = kernel["kernel_sha256"]
        if sha not in self._sources:
            if len(self._sources) >= 512:
                self._sources.pop(next(iter(self._sources)))
            before = Counter(self.redact.hits)
            text = Clean(self.text(kernel["source_code"]))
            self._sources[sha] = text, self.redact.hits - before
            return text
        text, hits = self._sources[sha]
        self.redact.hits.update(hits)
        return text

    def one_line(self, text: str | None, limit: int = 160) -> str:
        """The first words of a text, which is cleaned before it is cut: half a secret is not recognised as one."""
        return one_line(self.text((text or "")[: 8 * limit + 4_096]), limit)

    def label(self, text: str) -> str:
        """A name for a chart: one line of shown text."""
        return one_line(self.text(text), 40)

    def attach(self, text: str) -> str:
        """Keep a text too long for any page in a file of its own; returns its path."""
        clean = self.text(text)
        path = f"texts/{hashlib.sha256(clean.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}.txt"
        self._attached[path] = clean
        return path

    def take_attached(self) -> dict[str, str]:
        """Files that the pages rendered since the last call refer to."""
        taken, self._attached = self._attached, {}
        return taken

    def source_name(self, path: str | None, root: str | None) -> str:
        """A source's path below the folder it was found in: never where that folder stands."""
        if not path:
            return fmt.UNKNOWN
        below = path[len(root) :].lstrip("/\\") if root and path.startswith(root) else ""
        # Cleaned before it is taken apart: the last part of a home folder's path is somebody's name.
        return self.text(below) if below else self.text(path).replace("\\", "/").rpartition("/")[2]

    def _environment(self) -> jinja2.Environment:
        env = Environment(
            self.text,
            loader=jinja2.PackageLoader("kbstats.site", "templates"),
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            bytecode_cache=_COMPILED,
        )
        env.filters.update(
            sig=fmt.sig,
            times=fmt.times,
            pct=fmt.pct,
            count=fmt.count,
            micros=fmt.micros,
            seconds=fmt.seconds,
            size=fmt.size,
            usd=fmt.usd,
            day=fmt.day,
            moment=fmt.moment,
            unit=fmt.unit,
            tokens=fmt.tokens,
            block=lambda s: blocks.block(self.text(s)),
            one_line=self.one_line,
            capital=capital,
            say=words.say,
        )
        env.globals.update(
            site=self,
            path=self.path,
            kernel_path=self.kernel_path,
            line_href=self.line_href,
            metric=fmt.metric,
            plural=fmt.plural,
            highlight=self.highlighted,
            changes=changes.markup,
            source=changes.source,
            numbers=blocks.numbers,
            lines_of=blocks.lines_of,
            nav=(),
            version=version(),
            words=words,
            parted=parted,
        )
        return env

    def highlighted(self, source: str, language: str | None = None) -> Markup:
        """A source in colour, made fit to be shown first."""
        return self.highlight(self.text(source), language)

    def page(self, template: str, path: str, **context: Any) -> str:
        """Render one page; `root` leads from it to the site's top."""
        root = self.root = "../" * path.count("/")
        self.run_path, self.in_turn = context.get("run_path", ""), False
        return self.env.get_template(template).render(root=root, here=path, **context)


def _counts(r: Row) -> dict[str, bool]:
    """Whether a run counts as correct at each level, and as timed after the audit (`run_trust`)."""
    counts = {t: bool(r["attempted"] and r["trust"].get(t, {}).get("counts_correct")) for t in TRUST_LEVELS}
    return counts | {"audited_fast": counts["audited"] and r["trust"]["audited"]["speedup"] is not None}


def _standing(r: Row) -> str:
    """One word for where a run stands, for filters."""
    if r["richer_run_id"]:
        return "linked"
    if r["refuted"]:
        return "refuted"
    if r["counts"]["verified"]:
        return "verified"
    if r["counts"]["claimed"]:
        kept = r["counts"]["audited_fast"] or (r["counts"]["audited"] and r["speedup"] is None)
        return "counted" if kept else "withdrawn"
    return "failed"


def _same_problem(v: Row, r: Row) -> bool:
    """A result speaks for a run of the same problem; whether it ranks is `run_trust`'s to say."""
    return all(v[c] is None or v[c] == r[c] for c in ("suite", "level", "problem_name"))
