"""One run of `lonnymq simulate`: what is to be tried, where, and how it is answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lonnymq.cli.errors import Code, CommandError
from lonnymq.cli.session import Session
from lonnymq.cli.output.simulation_tables import (
    about,
    calibration_fields,
    calibration_shown,
    scenario_fields,
    shown,
)
from lonnymq.cli.spark_session import Place, is_there, sweep_at, write_days
from lonnymq.cli.output.formatting import counted

if TYPE_CHECKING:
    from lonnymq.simulate import RecordedWorkload, ReplayResult, Scenario, Trial, WorkloadShape

MANY = 4_000_000  # attempts to replay, from which on a Spark of this machine's is worth its start
NEVER = "never"


class Trying:
    """One run of the command: what is to be tried, and how it is answered."""

    def __init__(
        self, at: Session, settings: list[str], crews: list[int] | None, growths: list[float],
        picture: Path | None, spark: Place, seed: int,
    ) -> None:  # fmt: skip
        from lonnymq.simulate.scenario import parse_settings as values_of

        self.at, self.crews, self.growths = at, crews, growths
        self.picture, self.spark, self.seed = picture, spark, seed
        self.changes = [values_of(each) for each in settings]
        if picture is not None and picture.suffix not in (".svg", ".html"):
            raise CommandError(f"--picture draws .svg or .html, not '{picture}'.", Code.USAGE)
        if picture is not None and not picture.absolute().parent.is_dir():
            raise CommandError(f"--picture: the folder of {picture} is not there: make it first.")

    def made_up(self, shape: WorkloadShape) -> None:
        """Replay what is made up."""
        from lonnymq.simulate import RecordedWorkload, ReplayTimes, Scenario, make_workload

        work = make_workload(shape)
        self.refuse_unknown(work.names)
        known = Scenario(shape.workers)
        found = self.sweep(RecordedWorkload(work, ReplayTimes([], []), 0), known)
        words = f"made up from the seed {shape.seed}: {len(work):,} attempts of {shape.tenants:,} tenants"
        self.draw(found, about=words)
        self.answer({"workload": shape}, found)

    def recorded(self, lake: str, most_off: float, **stretch: Any) -> None:
        """Replay what a lake has recorded, if the replay of it can be believed."""
        from lonnymq.simulate import calibrate
        from lonnymq.simulate.lake_reader import list_channels, read_lake_history

        with self.at.out.working("reading the lake"):
            read = read_lake_history(lake, **stretch)
        self.refuse_unknown(list_channels(read))
        with self.at.out.working("replaying what was recorded"):
            known = calibrate(read.history, read.scenario)
        if not self.at.out.as_json:
            self.at.out.console.print(calibration_shown(read, known, most_off))
        known.check(most_off)
        found = self.sweep(read.history, read.scenario)
        self.draw(found, about=about(read), known=known)
        self.answer({"calibration": calibration_fields(read, known)}, found)

    def write(
        self,
        shape: WorkloadShape,
        lake: str,
        source: str,
        storage: dict[str, str],
        days: int | None,
    ) -> None:
        """Write what is made up into a lake: replayed, or if it is of many days, made by Spark."""
        from lonnymq.simulate import Scenario, make_history
        from lonnymq.simulate.lake_writer import write_synthetic_history

        if days is not None:
            with self.at.out.working("Spark makes history up"):
                written = write_days(self.spark, shape, days, lake, source, storage)
            self.say_written(lake, source, written)
            return
        if (
            self.growths != [1]
            or len(self.crews or [1]) > 1
            or any(len(each) > 1 for each in self.changes)
        ):
            raise CommandError(
                "What is written into a lake has one value of each setting.", Code.USAGE
            )
        scenario = Scenario(shape.workers).with_settings(each for [each] in self.changes)
        with self.at.out.working("making history up"):
            rows = make_history(
                shape, limits=scenario.limits, default_limits=scenario.default_limits,
                max_concurrency=scenario.max_concurrency,
            )  # fmt: skip
            self.refuse_unknown({row.channel for row in rows})
            written = write_synthetic_history(
                rows, lake, source=source, scenario=scenario, storage_options=storage
            )
        self.say_written(lake, source, written)

    def say_written(self, lake: str, source: str, written: int) -> None:
        """Say what is in the lake now."""
        document = {"lake": lake, "source": source, "rows": written}
        self.at.out.answer(
            document,
            lambda: (
                f"{counted(written, 'attempt')} {'is' if written == 1 else 'are'} in {lake}, of source {source}."
            ),
        )

    def refuse_unknown(self, channels: Any) -> None:
        """Reject a setting of a channel that is not there."""
        from lonnymq.simulate.scenario import check_channels

        check_channels((each for values in self.changes for each in values), channels)

    def sweep(self, history: RecordedWorkload, known: Scenario) -> list[tuple[Trial, ReplayResult]]:
        """Try everything, here or on Spark."""
        from lonnymq.simulate import make_trials, run_trials

        asked = make_trials(
            known, workers=self.crews or [known.workers], changes=self.changes, growth=self.growths
        )
        by_spark = self.is_for_spark(len(asked), len(history.work))
        with self.at.out.progress() as progress:
            task = progress.add_task("replaying", total=len(asked))
            if not by_spark:
                answers = run_trials(
                    history, asked, seed=self.seed, on_progress=lambda: progress.advance(task)
                )
            else:
                answers = sweep_at(
                    self.spark, history, asked, self.seed,
                    on_progress=lambda done: progress.update(task, completed=done),
                )  # fmt: skip
        return list(zip(asked, answers, strict=True))

    def is_for_spark(self, scenarios: int, attempts: int) -> bool:
        """Whether Spark is to try them: it was said so, or they are many and there is a Spark here."""
        if self.spark.master is not None:
            return self.spark.master != NEVER
        if scenarios < 2 or scenarios * attempts < MANY or not is_there():
            return False
        self.at.out.note(f"{scenarios} scenarios are tried on a Spark of this machine's.")
        return True

    def draw(self, found: list[tuple[Trial, ReplayResult]], **more: Any) -> None:
        """Draw the answer, if that is wanted."""
        if self.picture is None:
            return
        from lonnymq.simulate.html_page import render_page
        from lonnymq.simulate.svg import render_svg

        if self.picture.suffix == ".svg":
            more.pop("known", None)
        made = (
            render_page(found, **more)
            if self.picture.suffix == ".html"
            else render_svg(found, **more)
        )
        try:
            self.picture.write_text(made, encoding="utf-8")
        except OSError as error:
            raise CommandError(
                f"The picture cannot be written: {error.strerror}: {self.picture}"
            ) from None
        self.at.out.note(f"The picture is in {self.picture}.")

    def answer(self, first: dict[str, Any], found: list[tuple[Trial, ReplayResult]]) -> None:
        """Answer with a table, or with a document."""
        document = {**first, "scenarios": [scenario_fields(*each) for each in found]}
        self.at.out.answer(document, lambda: shown(found))
