"""`lonnymq simulate`: what would have happened with other limits, weights and workers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lonnymq.cli.output import rows, table
from lonnymq.cli.session import Session, command, group
from lonnymq.cli.words import NOTHING, counted, duration

if TYPE_CHECKING:
    from lonnymq.simulate import Answer, Scenario, Setting, Waits

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="CHANNEL.OPTION=VALUE", help="A limit to try; * is every channel."
    ),
]
Workers = Annotated[
    str,
    typer.Option(metavar="N,N,...", help="How many messages are worked on at once, to compare."),
]
Synthetic = Annotated[bool, typer.Option("--synthetic", help="Make a workload up, from --seed.")]
Tenants = Annotated[int, typer.Option(help="How many tenants there are.", min=1, max=100_000)]
Messages = Annotated[int, typer.Option(help="How many messages they send.", min=1, max=10_000_000)]
Load = Annotated[
    float,
    typer.Option(help="For which part of the time the first number of workers is busy.", min=0.01),
]
Noisy = Annotated[
    float, typer.Option(help="Which part of all messages one tenant sends.", min=0, max=1)
]
Arrivals = Annotated[Literal["steady", "bursts", "daily"], typer.Option(help="How messages come.")]
Service = Annotated[
    Literal["fixed", "exponential", "heavy"], typer.Option(help="How their times of work differ.")
]
Seed = Annotated[int, typer.Option(help="The same seed makes the same workload.")]

app = group("Ask what would have happened.")


@command(app)
def simulate(
    at: Session,
    synthetic: Synthetic = False,
    settings: Set = None,
    workers: Workers = "16",
    tenants: Tenants = 100,
    messages: Messages = 100_000,
    load: Load = 0.8,
    noisy: Noisy = 0.0,
    arrivals: Arrivals = "steady",
    service: Service = "exponential",
    seed: Seed = 1,
) -> None:
    """Replay a workload under other limits, weights and numbers of workers, and compare the waits.

    The scheduler is the engine's, message by message; times of work are taken as they are given. Nothing is read
    from a database, nor written to one.
    """
    from lonnymq.simulate import Scenario, Shape, setting, workload
    from lonnymq.simulate.answers import answer
    from lonnymq.simulate.replay import replay

    if not synthetic:
        raise typer.BadParameter("say --synthetic: a workload is made up, from --seed")
    tried = [setting(each) for each in settings or []]
    crews = crews_of(workers)
    shape = Shape(
        messages=messages, tenants=tenants, workers=crews[0], load=load, noisy=noisy,
        arrivals=arrivals, service=service, seed=seed,
    )  # fmt: skip
    work = workload(shape)
    found: list[tuple[Scenario, list[Setting], Answer]] = []
    asked = [[], tried] if tried else [[]]
    with at.out.progress() as progress:
        task = progress.add_task("replaying", total=len(crews) * len(asked))
        for many in crews:
            for changes in asked:
                scenario = Scenario(workers=many).with_settings(changes)
                replayed = replay(work, scenario.limits, workers=many, otherwise=scenario.otherwise)
                found.append((scenario, changes, answer(work, replayed)))
                progress.advance(task)
    document = {
        "workload": replace(shape),
        "scenarios": [
            {"workers": scenario.workers, "set": [str(each) for each in changes], **fields(given)}
            for scenario, changes, given in found
        ],
    }
    at.out.answer(document, lambda: shown(found))


def crews_of(text: str) -> list[int]:
    """The numbers of workers to compare."""
    try:
        crews = [int(each) for each in text.split(",")]
    except ValueError:
        crews = []
    if not crews or min(crews) < 1:
        raise typer.BadParameter(f"--workers are whole numbers from 1, like 8,16,32: not {text!r}")
    return crews


def fields(given: Answer) -> dict[str, Any]:
    """One answer as a document."""
    return {"all": given.all, "fairness": given.fairness, "tenants": given.tenants}


def shown(found: list[tuple[Scenario, list[Setting], Answer]]) -> Any:
    """Answers as people read them: all tenants together, and those who waited longest."""
    from rich.console import Group

    made = table("workers", "set", "who", ">messages", ">p50", ">p95", ">p99", ">longest", ">even")
    for scenario, changes, given in found:
        said = " ".join(map(str, changes)) or "nothing"
        even = NOTHING if given.fairness is None else f"{given.fairness:.2f}"
        rows(made, [[scenario.workers, said, "all", *waits(given.all), even]])
        worst = sorted(given.tenants.items(), key=lambda each: -each[1].p99)
        rows(made, [["", "", name, *waits(own), ""] for name, own in worst[:3]])
    many = counted(len(found[0][2].tenants), "tenant")
    last = f"Waits from being due to being begun: of all, and of those three of {many} that waited longest."
    return Group(made, last)


def waits(given: Waits) -> list[object]:
    """One line of waits."""
    times = (given.p50, given.p95, given.p99, given.longest)
    return [given.messages, *(duration(each) for each in times)]
