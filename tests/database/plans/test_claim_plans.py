"""The statements inside the functions of claims are index probes too, among 10 messages and among 20,000."""

from __future__ import annotations

import psycopg
import pytest

from database.plans.inner_plans import printed
from database.plans.test_plans import FEW_ROWS, PARTS, fill_queue, is_wrong

CALLS = {
    "claim_take": "claim_take('s', 1, 2, 20)",
    "claim_take, of named channels": "claim_take('s', 1, 2, 20, p_channels => array['channel 1', 'narrow'])",
    "claim_acknowledge": "claim_acknowledge('s', 1, 1, '0123456789abcdef')",
    "claim_renew": "claim_renew('s', 1)",
    "claim_release": "claim_release('s', 1, 1)",
    "claim_decide": "claim_decide({ids}, {tokens}, array_fill('fail'::text, array[10]))",
}
# A claim of ten messages that nobody has: that of a reader which has been away.
CLAIM = """
with claim as (
  insert into lonnymq.claim (stream, seq, made_at, token) values ('s', 1, 1, '0123456789abcdef') returning seq
)
insert into lonnymq.claim_part (stream, seq, part, due_at, message_ids)
select 's', c.seq, 1, 1, array(select generate_series(1, 10)) from claim c
"""


@pytest.mark.parametrize("rows", [10, 20_000])
def test_the_functions_of_claims_are_index_probes(dsn_18: str, rows: int) -> None:
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        fill_queue(connection, rows)
        connection.execute("select lonnymq.stream_open('s')")
        connection.execute(CLAIM)
        connection.execute("analyze")
    wrong = []
    for name, call in CALLS.items():
        with psycopg.connect(dsn_18, autocommit=True) as connection:
            scans = printed(connection, f"select * from lonnymq.{call.format(**PARTS)}")
        looked = [
            scan for scan in scans if scan.relation not in (*FEW_ROWS, "taken", "untaken", "buried")
        ]
        assert looked, f"{name}: nothing was seen"
        wrong += [f"{name}: {scan}" for scan in looked if is_wrong(scan)]
    assert not wrong, "\n".join(wrong)
