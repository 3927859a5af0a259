"""A lake's place: a folder, or a URL of an object store with the options that its storage takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from lonnymq.errors import InvalidArgument

LONGEST_NAME = 63  # bytes
HISTORY, CHANNELS, FIGURES = "history", "channels", "figures"


@dataclass(frozen=True)
class Lake:
    """Where a lake is; shows no options of its storage, which may hold a key."""

    url: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of this machine's, named by its path."""
        return "://" not in self.url

    def table(self, name: str) -> str:
        """The place of a table of the lake's."""
        return f"{self.url.rstrip('/')}/{name}"

    def files(self) -> Any:
        """The lake as a file system of Arrow's, with the lake as its root."""
        from pyarrow import fs

        if self.is_local:
            return fs.SubTreeFileSystem(self.url, fs.LocalFileSystem())
        from deltalake.fs import DeltaStorageHandler

        return fs.PyFileSystem(DeltaStorageHandler(self.url, dict(self.options)))


def lake_at(lake: Lake | Path | str, storage_options: Mapping[str, str] | None = None) -> Lake:
    """The lake at a path or URL."""
    if isinstance(lake, Lake):
        return lake
    text = str(lake)
    if not text.strip():
        raise InvalidArgument("say where the lake is: a path, or a URL like s3://bucket/lake")
    if text.startswith("file://"):
        text = url2pathname(urlsplit(text).path)
    if "://" not in text:
        text = str(Path(text).expanduser().absolute())
    return Lake(text, dict(storage_options or {}))


def source_name(source: str) -> str:
    """A name for a source: it becomes a folder's, so it must not be long."""
    if not isinstance(source, str) or not 1 <= len(source.encode()) <= LONGEST_NAME:
        raise InvalidArgument(f"a source's name is 1 to {LONGEST_NAME} bytes long, not {source!r}")
    if any(ord(each) < 32 for each in source):
        raise InvalidArgument(f"a source's name has no control characters, not {source!r}")
    return source
