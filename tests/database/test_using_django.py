"""A call inside a transaction of Django: `django.db.connection`, in `atomic` and by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import django
import pytest
from django.conf import settings
from django.db import connection, connections, transaction
from psycopg.conninfo import conninfo_to_dict

from caller_transactions import Transaction, TransactionTests

if not settings.configured:
    settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "unset"}}
    )
    django.setup()


@pytest.fixture(autouse=True, params=[False, True], ids=["client_binding", "server_binding"])
def database(dsn: str, request: pytest.FixtureRequest) -> Iterator[None]:
    known = conninfo_to_dict(dsn)
    connection.settings_dict.update(
        NAME=known.pop("dbname"),
        USER=known.pop("user", ""),
        PASSWORD=known.pop("password", ""),
        HOST=known.pop("host", ""),
        PORT=known.pop("port", ""),
        OPTIONS={**known, "server_side_binding": request.param},
    )
    yield
    connections.close_all()


class TestAtomic(TransactionTests):
    @pytest.fixture
    def transaction(self) -> Transaction:
        @contextmanager
        def begin(commit: bool) -> Iterator[Any]:
            with transaction.atomic():
                yield connection
                transaction.set_rollback(not commit)

        return begin


class TestNamedConnectionByHand(TransactionTests):
    @pytest.fixture
    def transaction(self) -> Transaction:
        @contextmanager
        def begin(commit: bool) -> Iterator[Any]:
            transaction.set_autocommit(False)
            yield connections["default"]
            transaction.commit() if commit else transaction.rollback()
            transaction.set_autocommit(True)

        return begin
