"""A private PostgreSQL for "no server at hand": `embedded()` is shared and durable, `temporary()` is neither."""

from lonnymq.embedded_postgres.server import EmbeddedServer as EmbeddedServer
from lonnymq.embedded_postgres.server import Server as Server
from lonnymq.embedded_postgres.server import TemporaryServer as TemporaryServer
from lonnymq.embedded_postgres.server import embedded as embedded
from lonnymq.embedded_postgres.server import temporary as temporary
