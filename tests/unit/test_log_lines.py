"""A name cannot forge a line of the log."""

import logging

from lonnymq.cli.output import LineFormatter


def test_a_name_with_newlines_and_escapes_stays_on_its_line():
    record = logging.LogRecord(
        "lonnymq",
        logging.INFO,
        "x",
        1,
        "channel %s paused",
        ("a\n12:00:00 ERROR   b\x1b[2J",),
        None,
    )
    line = LineFormatter("%(levelname)s %(message)s").format(record)
    assert line == "INFO channel a\\n12:00:00 ERROR   b\\x1b[2J paused"
