"""A report's document made up from a seed, without Spark: a flood, limits, errors, growth, names that mean harm."""

from __future__ import annotations

from math import pi, sin
from random import Random
from typing import Any

from lonnymq.report.document import SUMMED_COLUMNS
from lonnymq.report.highlights import find_highlights
from lonnymq.report.tables import SERIES_COLUMNS

BEGIN = 1_893_456_000_000  # 2030-01-01
HOUR_MS = 3_600_000
HOSTILE = [
    '</script><script>alert("tenant")</script>',
    '"><img src=x onerror=alert(1)>',
    "<!-- <script>",
    "שלום \u202e cba \u202c עולם",
    "🦊🏳️‍🌈 fox & co",
    "line\nbreak\u2028and\u2029more",
    "long-" + "x" * 250,
]


def document(
    *, tenants: int = 40, hours: int = 72, seed: int = 7, detailed: int = 30, hostile: bool = True
) -> dict[str, Any]:
    rng = Random(seed)
    names = [
        *(HOSTILE if hostile else []),
        *(f"tenant-{number:05}" for number in range(1, tenants + 1)),
    ][:tenants]
    times = [BEGIN + hour * HOUR_MS for hour in range(hours)]
    rows = [tenant(name, place, rng) for place, name in enumerate(names)]
    series = [course(times, rng, loud=place == 1) for place in range(min(detailed, len(rows)))]
    waiting = [sum(each["waiting_after"][hour] for each in series) for hour in range(hours)]
    made: dict[str, Any] = {
        "format": 1,
        "made_at": BEGIN + 90 * HOUR_MS,
        "begin": BEGIN,
        "end": BEGIN + hours * HOUR_MS,
        "every_ms": HOUR_MS,
        "source": None,
        "sources": ["shop"],
        "times": times,
        "summary": {
            "tenants": len(rows),
            **{name: sum(each[name] for each in rows) for name in SUMMED_COLUMNS},
            "wait_p50": 85,
            "wait_p95": 2_300,
            "wait_p99": 41_000,
            "service_p50": 90,
            "service_p95": 400,
            "service_p99": 900,
            "wait_most": 900_000,
        },
        "tenants": {name: [each[name] for each in rows] for name in rows[0]} if rows else {},
        "rest": None,
        "details": series,
        "waits": {
            name: [
                round(base * (1.3 + sin(hour * pi / 12)) * rng.uniform(0.8, 1.2))
                for hour in range(hours)
            ]
            for name, base in (
                ("wait_p50", 80),
                ("wait_p95", 2_000),
                ("wait_p99", 30_000),
                ("service_p50", 90),
                ("service_p95", 400),
            )
        },
        "backlog": {
            "arrivals": [0] * hours,
            "waiting_after": waiting,
            "due": [sum(each["due"][hour] for each in series) for hour in range(hours)],
            "ended": [sum(each["ended"][hour] for each in series) for hour in range(hours)],
            "running_mean": [round(rng.uniform(5, 16), 1) for _ in times],
            "top": [
                {
                    "source": "shop",
                    "channel": rows[place]["channel"],
                    "waiting_after": series[place]["waiting_after"],
                }
                for place in range(min(7, len(series)))
            ],
        },
        "fairness": {
            "shop": {
                "jain": [
                    None if hour % 9 == 0 else round(rng.uniform(0.62, 1.0), 3)
                    for hour in range(hours)
                ],
                "competing": [rng.randrange(2, 20) for _ in times],
                "backlogged": [20] * hours,
                "held": [1] * hours,
            }
        },
        "noise": {
            "noisy": [int(hour % 24 in (9, 10, 11)) for hour in range(hours)],
            "noisy_work": [4000 if hour % 24 in (9, 10, 11) else 0 for hour in range(hours)],
            "quiet_work": [round(900 * (1.3 + sin(hour * pi / 12))) for hour in range(hours)],
            "quiet_wait_p95": [1500 if hour % 24 in (9, 10, 11) else 300 for hour in range(hours)],
        },
        "noisy": [
            {
                "source": "shop",
                "channel": names[1],
                "hours": 9,
                "share": 0.81,
                "most_share": 0.93,
                "quiet_wait_p95": 1500,
                "otherwise_wait_p95": 300,
            }
        ]
        if len(names) > 1
        else [],
        "limits": [
            {
                "source": "shop",
                "channel": name,
                "max_concurrency": 2 + place,
                "min_interval_ms": 250 if place % 2 else None,
                "burst": 1,
                "hours": hours,
                "hours_at_concurrency": 30 - 3 * place,
                "hours_at_rate": 2 * place,
                "concurrency_used_most": 1.0,
                "rate_used_most": 0.97 if place % 2 else None,
                "waiting_meanwhile": 42.5 / (1 + place),
            }
            for place, name in enumerate(names[2:9])
        ],
        "limits_reached": len(names[2:9]),
        "starvation": [
            {
                "source": "shop",
                "date": "2030-01-02",
                "channel": name,
                "begins_at": BEGIN + (20 + place) * HOUR_MS,
                "ends_at": BEGIN + (20 + place) * HOUR_MS + 700_000 // (place + 1),
                "length_ms": 700_000 // (place + 1),
                "others": 3400 // (place + 1) if place % 3 else 0,
                "windows": 3,
                "running": int(place % 4 == 1),
                "is_held": place % 4 == 1,
                "max_concurrency": 1 if place % 4 == 1 else None,
                "min_interval_ms": None,
            }
            for place, name in enumerate(names[:12])
        ],
        "errors": [
            {
                "error": error,
                "attempts": 900 // (place + 1),
                "dead": 90 // (place + 1),
                "first_at": BEGIN,
                "last_at": BEGIN + 70 * HOUR_MS,
                "sample": error.replace("#", "17"),
                "channels": 12 - place,
                "channel": names[place % len(names)],
                "source": "shop",
            }
            for place, error in enumerate(
                [
                    "TimeoutError: no answer after # s",
                    "HTTPError: # from https://api.example/v#/orders/#",
                    "ValueError: <b>width</b> # is too wide",
                    "(the lease ran out)",
                    "KeyError: #",
                ]
            )
        ]
        if names
        else [],
        "forecast": [
            {
                "source": "shop",
                "days": 20,
                "horizon_days": days,
                "last_day": "2030-01-20",
                "due_a_day": 52_000.0,
                "growth_a_day": 810.0,
                "expected": 52_000.0 + days * 810,
                "error": 0.06 + 0.01 * days,
                "tried": 14,
                "capacity_a_day": 96_000.0,
                "is_capacity_seen": True,
                "full_on": "2030-03-16",
            }
            for days in (1, 7)
        ],
        "days": [
            {
                "day": BEGIN + day * 24 * HOUR_MS,
                "due": round((36_000 + 800 * day) * rng.uniform(0.93, 1.07)),
                "ended": 36_000 + 800 * day,
            }
            for day in range(20)
        ],
    }
    return made | {"highlights": [vars(each) for each in find_highlights(made)]}


def tenant(name: str, place: int, rng: Random) -> dict[str, Any]:
    """One tenant's line."""
    p50 = round(rng.expovariate(1 / 200))
    attempts = rng.randrange(100, 9_000) * (12 if place == 1 else 1)
    failed = attempts // rng.randrange(20, 400)
    return {
        "source": "shop",
        "channel": name,
        "arrivals": attempts - failed,
        "attempts": attempts,
        "completed": attempts - failed,
        "deferred": 0,
        "failed": failed,
        "expired": failed // 9,
        "dead": failed // 12,
        "retries": failed,
        "size": attempts * 1_400,
        "wait_p50": p50,
        "wait_p95": 8 * p50,
        "wait_p99": 30 * p50 + 50,
        "wait_most": 60 * p50 + 90,
        "service_p50": 90,
        "service_p95": 400,
        "service_p99": 800,
        "service_most": 2_000,
        "waiting_mean": 1.4,
        "waiting_most": place * 3,
        "running_mean": 0.3,
        "concurrency_used_most": 0.97 if place % 4 == 2 else None,
        "rate_used_most": None,
    }


def course(times: list[int], rng: Random, *, loud: bool) -> dict[str, list[Any]]:
    """One tenant over time."""

    def wave(hour: int, base: float) -> int:
        flood = 30 if loud and hour % 24 in (9, 10, 11) else 1
        return max(0, round(base * flood * (1 + 0.8 * sin(hour * pi / 12)) * rng.uniform(0.7, 1.3)))

    bases = {
        "due": 40,
        "ended": 40,
        "waiting_after": 3,
        "running_mean": 2,
        "wait_p50": 90,
        "wait_p95": 700,
        "wait_p99": 2_000,
        "service_p95": 300,
        "failed": 1,
        "dead": 0.2,
    }
    made: dict[str, list[Any]] = {
        name: [wave(hour, base) for hour in range(len(times))] for name, base in bases.items()
    }
    made["concurrency_used"] = [min(1.0, round(rng.uniform(0.2, 1.1), 3)) for _ in times]
    return {name: made[name] for name in SERIES_COLUMNS if name in made}


def nothing() -> dict[str, Any]:
    """A report of a period in which nothing happened."""
    made = document(tenants=0, hours=24, hostile=False, detailed=0)
    made["summary"] = {
        name: 0 if isinstance(value, int) else None for name, value in made["summary"].items()
    }
    made["backlog"] = {**made["backlog"], "waiting_after": [None] * 24, "top": []}
    return made | {"highlights": [], "sources": []}
