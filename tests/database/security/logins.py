"""Names that the tests of roles share."""

from collections.abc import Callable

ROLES = ("producer", "consumer", "viewer", "admin")
Login = Callable[[str], str]
