"""Starts Spark for the commands that need it, with the options that they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from lonnymq.cli.errors import CommandError
from lonnymq.cli.options import parse_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUIET = ("spark.ui.enabled=false", "spark.log.level=ERROR")
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Address of the cluster, like spark://host:7077. Default: this machine."
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A setting of Spark. You can repeat this option."),
]
Ship = Annotated[bool, typer.Option(help="Send the library to the executors.")]


@contextmanager
def open_spark(
    master: str | None, conf: Sequence[str] | None, *, ship: bool, app: str
) -> Iterator[SparkSession]:
    """A Spark session for the command. An active session is reused, and not stopped."""
    from pyspark.sql import SparkSession

    is_active = SparkSession.getActiveSession() is not None
    spark = start_spark(master, conf, ship=ship, app=app)
    try:
        yield spark
    finally:
        if not is_active:
            spark.stop()


def start_spark(
    master: str | None, conf: Sequence[str] | None, *, ship: bool, app: str
) -> SparkSession:
    """Start Spark with the given settings."""
    try:
        from lonnymq.spark import session
        from lonnymq.spark.spark_session import send_library
    except ImportError as error:
        raise CommandError(f"{error}.") from None
    config = parse_settings(list(conf or []), "--conf")
    try:
        spark = session(master, app=app, config=config)
    except Exception as error:
        if not type(error).__module__.startswith(("py4j", "pyspark")):
            raise
        where = "" if master is None else f" at '{master}'"
        raise CommandError(f"Spark does not start{where}: {describe_java_error(error)}.") from None
    is_local = str(spark.sparkContext.master).startswith("local")
    return send_library(spark) if ship and not is_local else spark


def describe_java_error(error: Exception) -> str:
    """The first line of the message of Java, else of Python."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage() if java is not None else error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def is_spark_available() -> bool:
    """Whether this machine has pyspark, pyarrow and Java."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        return False
    from lonnymq.spark.java import JavaMissing, find_java

    try:
        find_java()
    except JavaMissing:
        return False
    return True
