"""A server as one is run for others: TLS with a certificate of our own authority, passwords, an ordinary log."""

import os
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import trustme

from lonnymq import install
from lonnymq.embedded_postgres import TemporaryServer, temporary

PASSWORD = "Pass-canary:/@4711"
HBA = """\
local all postgres trust
hostssl all all 127.0.0.1/32 scram-sha-256
"""


@dataclass(frozen=True)
class SecureServer:
    """A server that is reached by TCP and TLS only, but for the superuser's socket."""

    server: TemporaryServer
    port: int
    authority: Path

    @property
    def log(self) -> str:
        return self.server.log.read_text(errors="replace")

    @property
    def root(self) -> str:
        """The superuser's DSN."""
        return self.server.dsn.replace("port=5432", f"port={self.port}")

    def dsn(self, *, host: str = "localhost", sslmode: str = "verify-full", **more: str) -> str:
        """The DSN of the login `app`; its password is in it."""
        text = {"sslmode": sslmode, "sslrootcert": str(self.authority), **more}
        options = "&".join(f"{key}={quote(value, safe='')}" for key, value in text.items())
        login = f"app:{quote(PASSWORD, safe='')}"
        return f"postgresql://{login}@{host}:{self.port}/postgres?{options}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def secured(programs: Path, folder: Path) -> Iterator[SecureServer]:
    """Such a server, with a queue that `app` installed; Debian's, for the one that comes along is built without TLS."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    with temporary(programs) as server:
        server.stop()
        data, account = server.cluster.data, server.cluster.account
        certificate = authority.issue_cert("localhost")
        certificate.private_key_pem.write_to_path(data / "server.key")
        certificate.cert_chain_pems[0].write_to_path(data / "server.crt")
        for name in ("server.key", "server.crt"):
            (data / name).chmod(0o600)
            if os.geteuid() == 0:
                os.chown(data / name, account.user, account.group)
        (data / "pg_hba.conf").write_text(HBA)
        port = free_port()
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": server.cluster.socket_folder,
            "ssl": "on",
            "fsync": "off",
        }
        options = shlex.join(f"--{name}={value}" for name, value in settings.items())
        server.cluster._run(data, "pg_ctl", "start", "-w", "-l", "server.log", "-o", options)
        made = SecureServer(server, port, folder / "authority.pem")
        with psycopg.connect(made.root, autocommit=True) as connection:
            connection.execute("set log_min_error_statement = panic")  # this very statement says it
            connection.execute(f"create role app login password '{PASSWORD}'")
            connection.execute("grant create on database postgres to app")
        install(made.dsn())
        yield made
