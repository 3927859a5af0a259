"""The dashboard: a page and a JSON API over one or several queues. `create_app` builds an ASGI app."""

try:
    from lonnymq.dashboard.app import create_app
    from lonnymq.dashboard.queues import QueueAt
except ImportError as error:  # pragma: no cover - seen where the extra is not installed
    raise ImportError(
        "The dashboard needs an extra. Run: pip install 'lonnymq[dashboard]'", name=error.name
    ) from error

__all__ = ["QueueAt", "create_app"]
