"""A browser context that keeps what went wrong, and one page of each kind."""

from __future__ import annotations

from pathlib import Path

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def kinds(site: Path) -> dict[str, Path]:
    """One page of each kind."""
    found = {p.stem: p for p in sorted(site.glob("*.html"))}
    return found | {
        d.name: min(d.glob("*.html")) for d in sorted(site.iterdir()) if d.is_dir() and list(d.glob("*.html"))
    }


class Watched:
    """A browser context that keeps what went wrong: console, errors, requests."""

    def __init__(self, browser, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("console", lambda m: self.wrong.append(f"console: {m.text}"))
        self.page.on("pageerror", lambda e: self.wrong.append(f"error: {e}"))
        self.page.on("requestfailed", lambda r: self.wrong.append(f"failed: {r.url}"))
        self.page.on(
            "request", lambda r: r.url.startswith(("file:", "data:")) or self.wrong.append(f"foreign: {r.url}")
        )

    def open(self, path: Path, fragment: str = ""):
        self.page.goto("about:blank")
        self.page.goto(path.as_uri() + fragment)
        return self.page
