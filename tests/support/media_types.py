"""Hooks for schemathesis: encoding of our media types, and valid dates.

Importing the module registers the hooks. SCHEMATHESIS_HOOKS makes the command line import it.
"""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import schemathesis
from hypothesis import strategies as st
from schemathesis import DeserializationContext
from schemathesis.core.transport import Response

from samedeal_server.live.dailies import DAYS_AHEAD

MSGPACK, NDJSON = "application/vnd.msgpack", "application/x-ndjson"

# A schema cannot express a range relative to the current day. The margin covers time zones and midnight.
_last = datetime.now(UTC).date() + timedelta(days=DAYS_AHEAD - 2)
schemathesis.openapi.format("date", st.dates(date(1970, 1, 1), _last).map(date.isoformat))


@schemathesis.deserializer(MSGPACK)
def read_msgpack(context: DeserializationContext, response: Response) -> Any:
    return msgspec.msgpack.decode(response.content)


@schemathesis.deserializer(NDJSON)
def read_ndjson(context: DeserializationContext, response: Response) -> Any:
    return [json.loads(line) for line in response.content.splitlines()]


@schemathesis.serializer(MSGPACK)
def write_msgpack(context: schemathesis.SerializationContext, value: Any) -> bytes:
    try:
        return msgspec.msgpack.encode(value)
    except OverflowError:  # JSON has larger integers than MessagePack
        return msgspec.msgpack.encode(json.loads(json.dumps(value), parse_int=float))


@schemathesis.serializer(NDJSON)
def write_ndjson(context: schemathesis.SerializationContext, value: Any) -> bytes:
    lines = value if isinstance(value, list) else [value]
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
