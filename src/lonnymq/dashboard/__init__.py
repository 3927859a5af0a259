"""The page: what every tenant's channel does, and what can be done about it. `create_app` makes an ASGI app of it."""

try:
    from lonnymq.dashboard.app import create_app
    from lonnymq.dashboard.queues import QueueAt
except ImportError as error:  # pragma: no cover - seen where the extra is not installed
    raise ImportError(
        "the dashboard needs an extra: pip install 'lonnymq[dashboard]'", name=error.name
    ) from error

__all__ = ["QueueAt", "create_app"]
