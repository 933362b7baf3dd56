"""What `mkdocs` is told beyond mkdocs.yml.

Pages may link to files of the repository that are outside of docs/. Such a file (a record, a figure, the changelog)
becomes a part of the site, and so does what it links to. In the repository links stay as they are, so that they work
there as well as on the site. And nothing is fetched from elsewhere: the one script that the theme would fetch, which
lets pages that are opened from disk be searched, is in docs/assets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parents[1]
DOCS = "docs/"
WORKER = "https://unpkg.com/iframe-worker/shim"
SEARCH = 'data-md-component="search" role="dialog"'
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)  # what looks like a link in code is none


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what pages link to outside of docs/, and what that links to."""
    waiting = [page.src_uri for page in files.documentation_pages()]
    while waiting:
        page = in_repository(waiting.pop())
        if not (ROOT / page).is_file():
            continue
        for target in targets(page):
            uri = site_path(target)
            if files.get_file_from_path(uri) is None and (ROOT / target).is_file():
                kept = InclusionLevel.NOT_IN_NAV
                files.append(File.generated(config, uri, abs_src_path=str(ROOT / target), inclusion=kept))
                if uri.endswith(".md"):
                    waiting.append(uri)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead a page's links to where the site has their targets."""
    here = page.file.src_uri

    def led(link: re.Match[str]) -> str:
        target = site_path(resolved(in_repository(here), link[1]))
        return relpath(target, PurePosixPath(here).parent) + (link[2] or "")

    parts = CODE.split(markdown)
    return "".join(part if at % 2 else LINK.sub(led, part) for at, part in enumerate(parts))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Take the theme's script for pages on disk from the site, and give its dialog a name."""
    output = output.replace(WORKER, get_relative_url("assets/iframe-worker.js", page.url))
    return output.replace(SEARCH, f'{SEARCH} aria-label="Search"')


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """The same for the page that says that there is no such page."""
    return output_content.replace(WORKER, "assets/iframe-worker.js")


def targets(page: str) -> Iterator[str]:
    """The files of the repository that a page of it links to."""
    text = CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    yield from (resolved(page, link[1]) for link in LINK.finditer(text))


def resolved(page: str, link: str) -> str:
    """Where in the repository a link of a page leads; of a folder, its README."""
    target = normpath(PurePosixPath(page).parent / link)
    return f"{target}/README.md" if (ROOT / target).is_dir() else target


def in_repository(uri: str) -> str:
    """The file behind a page of the site."""
    return DOCS + uri if (ROOT / DOCS / uri).is_file() else uri


def site_path(path: str) -> str:
    """Where the site has a file of the repository."""
    return path.removeprefix(DOCS)
