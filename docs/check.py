"""Check the built site: every link leads to a file and an anchor, and nothing is loaded from elsewhere.

`python docs/check.py` prints the numbers of pages, public names and examples, and every fault that it finds.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).parent / "_build" / "html"
LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("object", "data"),
}
"""The attributes whose addresses a browser loads by itself."""
CSS_ADDRESS = re.compile(r"""(?:url\(|@import\s+)\s*["']?((?:https?:)?//[^"')]+)""")


class Page(HTMLParser):
    """The anchors of an HTML page, the addresses that it links, and those that it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.linked: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the anchors and addresses of an element."""
        attributes = {name: value or "" for name, value in attrs}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        for name in ("href", "src", "data"):
            if name in attributes and (tag, name) != ("link", "href"):
                self.linked.append(attributes[name])
            if (tag, name) in LOADED and name in attributes and attributes.get("rel") not in ("canonical", "search"):
                self.loaded.append(attributes[name])


def elsewhere(address: str) -> bool:
    """Whether an address is not a file of the site."""
    return bool(urlsplit(address).netloc)


def html_pages(site: Path) -> list[Path]:
    """Return the pages of the site, without the files of the theme."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def faults(site: Path) -> Iterator[str]:
    """Yield a line for each link without a target and for each address that is loaded from elsewhere."""
    pages = {path: Page(path.read_text("utf-8")) for path in html_pages(site)}
    for path, page in pages.items():
        where = path.relative_to(site)
        yield from (f"{where}: loads {address}" for address in page.loaded if elsewhere(address))
        for address in dict.fromkeys([*page.linked, *page.loaded]):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{where}: no file for {address}"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{where}: no anchor for {address}"
    for path in sorted(site.rglob("*.css")):
        yield from (f"{path.relative_to(site)}: loads {address}" for address in CSS_ADDRESS.findall(path.read_text("utf-8")))


def main() -> int:
    """Print the numbers and the faults; return 1 if there are faults."""
    found = list(faults(SITE))
    print(*found, sep="\n", end="\n" * bool(found))
    names = list((SITE / "api" / "generated").glob("naivete.*.html"))
    examples = list((SITE / "gallery").glob("plot_*.html"))
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) / 1e6
    print(f"{len(html_pages(SITE))} pages, {len(names)} public names, {len(examples)} examples, {size:.1f} MB, {len(found)} faults")
    print(f"open {SITE / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
