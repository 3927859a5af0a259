"""The location of a lake: a folder, or the URL of an object store with its storage options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from lonnymq.errors import InvalidArgument

LONGEST_NAME = 63  # bytes
HISTORY, CHANNELS, ANALYTICS = "history", "channels", "analytics"


@dataclass(frozen=True)
class Lake:
    """A lake by its location; the repr hides the storage options, which may hold a key."""

    url: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_local(self) -> bool:
        """Whether the lake is a local folder."""
        return "://" not in self.url

    def table(self, name: str) -> str:
        """The location of a table."""
        return f"{self.url.rstrip('/')}/{name}"

    def files(self) -> Any:
        """The lake as an Arrow file system, with the lake as root."""
        from pyarrow import fs

        if self.is_local:
            return fs.SubTreeFileSystem(self.url, fs.LocalFileSystem())
        from deltalake.fs import DeltaStorageHandler

        return fs.PyFileSystem(DeltaStorageHandler(self.url, dict(self.options)))


def resolve_lake(lake: Lake | Path | str, storage_options: Mapping[str, str] | None = None) -> Lake:
    """The lake at a path or URL."""
    if isinstance(lake, Lake):
        return lake
    text = str(lake)
    if not text.strip():
        raise InvalidArgument(
            "the location of the lake is empty: give a path, or a URL like s3://bucket/lake"
        )
    if text.startswith("file://"):
        text = url2pathname(urlsplit(text).path)
    if "://" not in text:
        text = str(Path(text).expanduser().absolute())
    return Lake(text, dict(storage_options or {}))


def check_source_name(source: str) -> str:
    """Check the name of a source, which becomes a folder name."""
    if not isinstance(source, str) or not 1 <= len(source.encode()) <= LONGEST_NAME:
        raise InvalidArgument(
            f"the name of a source must have 1 to {LONGEST_NAME} bytes, not {source!r}"
        )
    if any(ord(each) < 32 for each in source):
        raise InvalidArgument(f"the name of a source must not have control characters: {source!r}")
    return source
