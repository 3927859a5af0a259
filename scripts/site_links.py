"""Hook of mkdocs: links of a page that leave docs/ lead to the files in the repository."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((\.\./[^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Rewrite the links of one page before the page is rendered."""
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def rewrite(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[1]))
        if path.startswith("docs/") or not (ROOT / path).exists():
            return link[0]  # mkdocs itself checks this link
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({config.repo_url}/{kind}/main/{path}{link[2] or ''})"

    return LINK.sub(rewrite, markdown)
