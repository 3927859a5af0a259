"""A show of the queue at work: `lonnymq demo`. Everything that it claims at the end is counted from history."""

from lonnymq.demo.show import run

__all__ = ["run"]
