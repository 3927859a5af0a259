"""Figures as Prometheus reads them, its text format: written by the dashboard and by workers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REST = "(rest)"  # the channels that have no line of their own

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(slots=True)
class Family:
    """One metric: what it is, and its samples."""

    name: str
    kind: Kind
    about: str
    lines: list[str] = field(default_factory=list)

    def add(self, value: float | None, suffix: str = "", /, **labels: str) -> None:
        """Add a sample; one that is not known is left out."""
        if value is not None:
            self.lines.append(f"{self.name}{suffix}{labelled(labels)} {number(value)}")


def exposition(families: Iterable[Family]) -> str:
    """The whole text; families without a sample are left out."""
    return "".join(
        f"# HELP {each.name} {escaped(each.about)}\n# TYPE {each.name} {each.kind}\n"
        + "".join(f"{line}\n" for line in each.lines)
        for each in families
        if each.lines
    )


def labelled(labels: Mapping[str, str]) -> str:
    """Labels between braces; any text may be a value."""
    said = ",".join(f'{name}="{quoted(value)}"' for name, value in labels.items())
    return f"{{{said}}}" if said else ""


def quoted(value: str) -> str:
    """A label's value."""
    return escaped(value).replace('"', '\\"')


def escaped(text: str) -> str:
    """A text on one line."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def number(value: float) -> str:
    """A value: whole numbers without a point."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if float(value).is_integer() else repr(float(value))
