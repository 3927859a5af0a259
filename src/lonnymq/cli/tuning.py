"""The run of `lonnymq tune`: searches here or on Spark, prints the answer, applies settings and takes them back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from getpass import getuser
from shlex import quote
from typing import TYPE_CHECKING, Any

from lonnymq.cli.errors import CommandError
from lonnymq.cli.output import escape_controls, format_timestamp, make_table
from lonnymq.cli.session import Session, is_spark_available
from lonnymq.cli.simulation import NEVER, SparkSettings, describe_history
from lonnymq.client import Queue, calls
from lonnymq.results import ChannelPolicy
from lonnymq.text import format_count

if TYPE_CHECKING:
    from lonnymq.simulate import Tuning
    from lonnymq.simulate.lake_history import LakeHistory

MIN_SPARK_ATTEMPTS = 200_000  # below this number a local Spark costs more than it saves
MAX_COMMANDS = 20
SUBJECT, APPLIED, UNDONE = "tune", "tune", "tune_undo"
DEFAULTS = ""  # the channel that stands for the defaults of new channels
Options = dict[str, int | None]


class TuningRun:
    """A run of the command."""

    history: LakeHistory
    tuning: Tuning

    def __init__(
        self, session: Session, objectives: Sequence[str], classes: Sequence[str],
        workers: tuple[int, int] | None, spark: SparkSettings,
    ) -> None:  # fmt: skip
        from lonnymq.simulate import parse_class, parse_objective

        self.session, self.out, self.workers, self.spark = session, session.out, workers, spark
        self.objectives = [parse_objective(each) for each in objectives]
        self.classes = dict(parse_class(each) for each in classes)

    def read(self, lake: str, **selection: Any) -> None:
        """Read the history. Settings that changed meanwhile make the history useless."""
        from lonnymq.simulate import TooLittleHistory, fit_workers
        from lonnymq.simulate.lake_history import read_lake_history

        with self.out.show_status("reading the lake"):
            self.history = read_lake_history(lake, **selection)
        if self.history.changed:
            raise TooLittleHistory(
                f"While this history was recorded {self.history.changed[-1]}. "
                "Choose a period without changes of settings with --from and --to."
            )
        with self.out.show_status("replaying the history"):
            fitted = fit_workers(self.history.history, self.history.scenario)
            self.history = replace(self.history, scenario=fitted)

    def search(self, **options: Any) -> None:
        """Search for the settings, here or on Spark."""
        from lonnymq.simulate import evaluate_on_spark, tune

        read = self.history
        common: dict[str, Any] = {"workers": self.workers, "classes": self.classes, **options}
        if not self.choose_spark(len(read.history.work)):
            with self.out.show_status("searching"):
                self.tuning = tune(read.history, read.scenario, self.objectives, **common)
            return
        with self.spark.open() as spark, self.out.show_status("searching on Spark"):
            self.tuning = tune(
                read.history, read.scenario, self.objectives,
                make_evaluate=lambda *given: evaluate_on_spark(spark, *given), **common,
            )  # fmt: skip

    def choose_spark(self, attempts: int) -> bool:
        """Whether Spark runs the replays: by option, or for a long history if Spark is available."""
        if self.spark.master is not None:
            return self.spark.master != NEVER
        return attempts >= MIN_SPARK_ATTEMPTS and is_spark_available()

    @property
    def policies(self) -> dict[str, Options]:
        """The settings of the answer by channel. The defaults of new channels have no name."""
        found: dict[str, Options] = {}
        for group, options in self.tuning.settings:
            if group.is_rest:
                found[DEFAULTS] = options
            found |= dict.fromkeys(group.channels, options)
        return found

    def print_answer(self) -> None:
        """Print the settings, the value of each objective, and the commands."""
        tuning = self.tuning
        document = {
            "source": self.history.source,
            "attempts": len(self.history.history.work),
            "replays": tuning.replays,
            "recorded_workers": self.history.scenario.workers,
            "workers": tuning.scenario.workers,
            "settings": self.policies,
            "met": tuning.is_met,
            "held": tuning.holds,
            "held_back_from": tuning.cut_at,
            "enough_workers": tuning.enough_workers,
            "objectives": [
                {
                    "objective": str(each.objective),
                    "recorded": each.recorded.value,
                    "replayed": each.replayed.value,
                    "tuned": each.tuned.value,
                    "held_back": each.held_back.value,
                }
                for each in tuning.answers
            ],
            "commands": list_commands(self.policies),
        }
        self.out.print_result(document, self.render)

    def render(self) -> Any:
        """The answer for people."""
        from rich.console import Group

        tuning = self.tuning
        rows = []
        for each in tuning.answers:
            shown = each.objective.format
            values = (each.recorded, each.replayed, each.tuned, each.held_back)
            sure = (
                "yes"
                if each.is_met and each.holds
                else "searched part only"
                if each.is_met
                else "no"
            )
            rows.append([str(each.objective), *(shown(value.value) for value in values), sure])
        columns = ("objective", ">recorded", ">replayed", ">tuned", ">held back", "met")
        return Group(
            f"{describe_history(self.history)}. The search saw the history before "
            f"{format_timestamp(tuning.cut_at)}, and replayed {format_count(tuning.replays, 'setting')}.",
            make_table(*columns, rows=rows),
            *self.describe_verdict(),
        )

    def describe_verdict(self) -> Iterable[str]:
        """What to do now."""
        tuning, many = self.tuning, self.tuning.scenario.workers
        if not tuning.is_met:
            enough = tuning.enough_workers
            yield f"No settings that were tried meet all objectives with {format_count(many, 'worker')}. The table " + (
                "shows the closest settings." if enough is None
                else f"shows the closest settings. With {enough:,} workers there are settings that meet all."
            )  # fmt: skip
            return
        known = self.history.scenario.workers
        yield (
            f"Run workers for {format_count(many, 'message')} at the same time. Recorded were {known:,}."
        )
        commands = list_commands(self.policies)
        yield "Set these limits:" if commands else "The recorded settings of channels are enough."
        for each in commands[:MAX_COMMANDS]:
            yield f"  {escape_controls(each)}"
        if len(commands) > MAX_COMMANDS:
            yield f"  and {len(commands) - MAX_COMMANDS:,} more commands: --json prints all."
        if not tuning.holds:
            yield (
                "These settings do not meet all objectives in the held-back part: do not rely on them. "
                "Use a longer period, or a larger --margin."
            )

    def apply(self, *, yes: bool) -> None:
        """Set the settings and write the audit log, in one transaction."""
        tuning, policies = self.tuning, self.policies
        if not tuning.holds:
            raise CommandError(
                "Nothing was set, because the settings do not meet all objectives in the searched and in the held-back "
                "part of the history."
            )
        if not policies:
            self.out.print_note("Nothing to set.")
            return
        names = [each for each in policies if each != DEFAULTS]
        self.session.confirm(f"This will set {format_count(len(names), 'channel')}.", yes=yes)
        parameters = {
            "objectives": [str(each) for each in self.objectives],
            "source": self.history.source,
            "workers": tuning.scenario.workers,
            "set": policies,
        }
        with self.session.connect() as connection, connection.transaction():
            queue = Queue(connection, schema=self.session.schema)
            before = read_policies(queue, policies)
            set_policies(queue, policies)
            entry = add_audit(queue, APPLIED, {**parameters, "before": before})
        self.out.print_note(
            f"{format_count(len(names), 'channel')} set, entry {entry} of the audit log. "
            "lonnymq tune --undo takes the settings back."
        )


def list_commands(policies: Mapping[str, Options]) -> list[str]:
    """The commands that set the settings of channels."""
    found = []
    for channel, options in policies.items():
        prefix = "default-" if channel == DEFAULTS else ""
        target = "queue set" if channel == DEFAULTS else f"channel set {quote(channel)}"
        given = " ".join(
            f"--{prefix}{key.replace('_', '-')} {'none' if value is None else value}"
            for key, value in options.items()
        )
        found.append(f"lonnymq {target} {given}")
    return found


def read_policies(queue: Queue, policies: Mapping[str, Options]) -> dict[str, Options]:
    """The present values of these settings. A channel that does not exist has the defaults."""
    rows: dict[str, ChannelPolicy] = {}
    after = None
    while page := queue.channel_policy_list(after=after, limit=1000):
        rows |= {each.channel: each for each in page}
        after = page[-1].channel
        if len(page) < 1000:
            break
    return {
        channel: {key: getattr(rows.get(channel, rows[DEFAULTS]), key) for key in options}
        for channel, options in policies.items()
    }


def set_policies(queue: Queue, policies: Mapping[str, Options]) -> None:
    """Set the settings of channels and the defaults."""
    for channel, options in policies.items():
        given: Any = options
        if channel == DEFAULTS:
            queue.set(**{f"default_{key}": value for key, value in given.items()})
        else:
            queue.channel_set(channel, **given)


def add_audit(queue: Queue, action: str, parameters: Mapping[str, Any]) -> int:
    """Write the audit log; returns the number of the entry."""
    call = calls.audit_add(
        queue.schema, getuser(), action=action, subject=SUBJECT, parameters=parameters,
        answer={"answer": "set"},
    )  # fmt: skip
    return queue._run(call)


def undo_tuning(session: Session, *, yes: bool) -> None:
    """Take the last applied settings back, if nobody has changed the settings since."""
    with session.connect() as connection, connection.transaction():
        queue = Queue(connection, schema=session.schema)
        log = queue._run(calls.audit_list(queue.schema, SUBJECT, limit=1000))
        undone = {(each.parameters or {}).get("undone") for each in log if each.action == UNDONE}
        entry = next(
            (each for each in log if each.action == APPLIED and each.id not in undone), None
        )
        if entry is None:
            raise CommandError("There are no applied settings to take back.")
        parameters = entry.parameters or {}
        applied, before = parameters["set"], parameters["before"]
        now = read_policies(queue, applied)
        changed = [each for each in applied if now[each] != applied[each]]
        if changed:
            named = repr(changed[0]) if changed[0] else "the defaults of new channels"
            raise CommandError(
                f"Nothing was undone: the settings of {named} were changed after lonnymq tune set them to "
                f"{applied[changed[0]]}. The settings before were {before[changed[0]]}."
            )
        session.confirm(f"This will set {format_count(len(before), 'channel')} as before.", yes=yes)
        set_policies(queue, before)
        add_audit(queue, UNDONE, {"undone": entry.id, "set": before})
    session.out.print_result(
        {"undone": entry.id, "set": before},
        lambda: (
            f"Settings of {format_timestamp(entry.at)} taken back: {format_count(len(before), 'channel')}."
        ),
    )
