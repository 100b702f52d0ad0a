"""A model of the store for the simulation: Redis with only the commands that races need.

``test_store_model.py`` compares it with a real store.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha1
from importlib.resources import files
from typing import Any, NamedTuple

from redis.exceptions import NoScriptError, ResponseError

from samedeal_server.store.connection import Word


class Logged(NamedTuple):
    """An entry of a stream."""

    id: bytes
    fields: dict[bytes, bytes]


Value = bytes | dict[bytes, bytes] | dict[bytes, float] | set[bytes] | list[Logged]
"""A string, hash, sorted set, set or stream."""


class Copy(NamedTuple):
    """A snapshot of the store."""

    values: dict[bytes, Value]
    expires: dict[bytes, int]
    kept: dict[bytes, int]


Script = Callable[["Model", Sequence[bytes], Sequence[bytes]], Any]
WRITES = frozenset(
    {
        *(b"EVAL", b"EVALSHA", b"EXPIRE", b"HDEL", b"HSET", b"HSETNX", b"PERSIST", b"SADD", b"SET", b"SREM"),
        *(b"ZADD", b"ZREM"),
    }
)
"""Commands that write."""


class Model:
    """Keys, values and loaded scripts. Commands are atomic."""

    def __init__(self, now: Callable[[], int], scripts: Mapping[str, Script] | None = None) -> None:
        """`now` returns milliseconds. `scripts` replaces models of the server's scripts, by file name."""
        self.now = now
        self.values: dict[bytes, Value] = {}
        self.expires: dict[bytes, int] = {}
        self.scripts: set[bytes] = set()
        self.kept: dict[bytes, int] = {}
        """How often each key was created by SET."""
        models = {**SCRIPTS, **(scripts or {})}
        self._models = {digest(source(name)): model for name, model in models.items()}

    def execute(self, *command: Word) -> Any:
        """Execute a command. Return the reply as the client library does. Raises ResponseError, NoScriptError."""
        name, *words = (word if isinstance(word, bytes) else str(word).encode() for word in command)
        for key in [key for key, at in self.expires.items() if at <= self.now()]:
            del self.values[key], self.expires[key]
        do: Callable[..., Any] = getattr(self, "_" + name.decode().lower())
        return do(*words)

    def copy(self) -> "Copy":
        """Return a snapshot for ``restore``. Values are never changed in place."""
        return Copy(dict(self.values), dict(self.expires), dict(self.kept))

    def restore(self, copy: "Copy") -> None:
        """Restore a snapshot, except for guests: without their tokens, players would have new identities."""
        guests = {key: value for key, value in self.values.items() if key.startswith(b"guest:")}
        self.values, self.expires, self.kept = {**copy.values, **guests}, dict(copy.expires), dict(copy.kept)

    # Scripts.

    def _evalsha(self, sha: bytes, count: bytes, *words: bytes) -> Any:
        if sha not in self.scripts:
            raise NoScriptError("NOSCRIPT No matching script.")
        return self._models[sha](self, words[: int(count)], words[int(count) :])

    def _eval(self, text: bytes, count: bytes, *words: bytes) -> Any:
        self.scripts.add(digest(text))
        return self._evalsha(digest(text), count, *words)

    # Strings, hashes, sets.

    def _time(self) -> tuple[int, int]:
        return self.now() // 1000, self.now() % 1000 * 1000

    def _exists(self, key: bytes) -> int:
        return int(key in self.values)

    def _get(self, key: bytes) -> bytes | None:
        value = self.values.get(key)
        assert value is None or isinstance(value, bytes)
        return value

    def _getrange(self, key: bytes, first: bytes, last: bytes) -> bytes:
        return (self._get(key) or b"")[int(first) : int(last) + 1]

    def _set(self, key: bytes, text: bytes, *options: bytes) -> bool | None:
        if b"NX" in options and key in self.values:
            return None
        self.values[key] = text
        self.kept[key] = self.kept.get(key, 0) + 1
        self.expires.pop(key, None)
        if b"EX" in options:
            self.expires[key] = self.now() + 1000 * int(options[options.index(b"EX") + 1])
        return True

    def _expire(self, key: bytes, seconds: bytes) -> bool:
        if key in self.values:
            self.expires[key] = self.now() + 1000 * int(seconds)
        return key in self.values

    def _persist(self, key: bytes) -> bool:
        return self.expires.pop(key, None) is not None

    def _hget(self, key: bytes, field: bytes) -> bytes | None:
        return self._hash(key).get(field)

    def _hmget(self, key: bytes, *fields: bytes) -> list[bytes | None]:
        return [self._hash(key).get(field) for field in fields]

    def _hgetall(self, key: bytes) -> dict[bytes, bytes]:
        return self._hash(key)

    def _hdel(self, key: bytes, *fields: bytes) -> int:
        return self._zrem(key, *fields)

    def _hset(self, key: bytes, *words: bytes) -> int:
        fields, known = dict(zip(words[::2], words[1::2], strict=True)), self._hash(key)
        self.values[key] = known | fields
        return len(fields.keys() - known.keys())

    def _hsetnx(self, key: bytes, field: bytes, text: bytes) -> int:
        return 0 if field in self._hash(key) else self._hset(key, field, text)

    def _sadd(self, key: bytes, *members: bytes) -> int:
        known = self._members(key)
        self.values[key] = known | set(members)
        return len(set(members) - known)

    def _srem(self, key: bytes, *members: bytes) -> int:
        known = self._members(key)
        self._put(key, known - set(members))
        return len(known & set(members))

    def _zadd(self, key: bytes, *words: bytes) -> int:
        known = self._hash(key)
        scores = {member: float(score) for score, member in zip(words[::2], words[1::2], strict=True)}
        self.values[key] = known | scores
        return len(scores.keys() - known.keys())

    def _zcard(self, key: bytes) -> int:
        return len(self._hash(key))

    def _zmscore(self, key: bytes, *members: bytes) -> list[float | None]:
        return [self._hash(key).get(member) for member in members]

    def _zrem(self, key: bytes, *members: bytes) -> int:
        known = self._hash(key)
        self._put(key, {member: score for member, score in known.items() if member not in members})
        return len(known.keys() & set(members))

    def _zrangebyscore(self, key: bytes, least: bytes, most: bytes, limit: bytes, first: bytes, count: bytes) -> Any:
        assert limit == b"LIMIT"
        result = sorted((score, member) for member, score in self._hash(key).items())
        members = [member for score, member in result if float(least) <= score <= float(most)]
        return members[int(first) :][: int(count)]

    # Streams.

    def _xadd(self, key: bytes, id_: bytes, *words: bytes) -> bytes:
        log = self._log(key)
        if id_ == b"MAXLEN":  # an approximate limit, which no history reaches
            _, _, id_, *rest = words
            words = tuple(rest)
        if id_ == b"*":
            id_ = b"%d-0" % (_number(log[-1].id) + 1 if log else 1)
        if log and _number(id_) <= _number(log[-1].id):
            raise ResponseError("The ID specified in XADD is equal or smaller than the target stream top item")
        self.values[key] = [*log, Logged(id_, dict(zip(words[::2], words[1::2], strict=True)))]
        return id_

    def _xtrim(self, key: bytes, _: bytes, oldest: bytes) -> int:
        return 0  # no history lasts that long

    def _xrange(self, key: bytes, first: bytes, last: bytes, *count: bytes) -> list[Logged]:
        most = float("inf") if last == b"+" else _number(last)
        found = [entry for entry in self._log(key) if _number(first) <= _number(entry.id) <= most]
        return found[: int(count[1])] if count else found

    def _xread(self, block: bytes, _: bytes, streams: bytes, *words: bytes) -> list[list[Any]]:
        """Return the entries available now. Blocking callers must call again."""
        assert (block, streams) == (b"BLOCK", b"STREAMS")
        half = len(words) // 2
        result = []
        for key, after in zip(words[:half], words[half:], strict=True):
            if news := [entry for entry in self._log(key) if _number(entry.id) > _number(after)]:
                result.append([key, news])
        return result

    def _hash(self, key: bytes) -> dict[bytes, Any]:
        value = self.values.get(key, {})
        assert isinstance(value, dict)
        return value

    def _members(self, key: bytes) -> set[bytes]:
        value = self.values.get(key, set())
        assert isinstance(value, set)
        return value

    def _log(self, key: bytes) -> list[Logged]:
        value = self.values.get(key, [])
        assert isinstance(value, list)
        return value

    def _put(self, key: bytes, value: Value) -> None:
        """Delete a key with an empty value."""
        self.values[key] = value
        if not value:
            del self.values[key]
            self.expires.pop(key, None)


# The scripts.


def append(
    model: Model, keys: Sequence[bytes], words: Sequence[bytes], *, checked: bool = True, idle: bool = True
) -> Any:
    """The model of append.lua, optionally without its check of the predecessor or of repeated calls."""
    replies, rest = list[int](), list(words)
    for log, head in zip(keys[::2], keys[1::2], strict=True):
        before, count = rest[0], int(rest[1])
        entries = [rest[2 + 3 * i : 5 + 3 * i] for i in range(count)]
        rest = rest[2 + 3 * count :]
        replies.append(_appended(model, log, head, before, entries, checked=checked, idle=idle))
    return replies


def _appended(
    model: Model, log: bytes, head: bytes, before: bytes, entries: list[list[bytes]], *, checked: bool, idle: bool
) -> int:
    n, h = model._hmget(head, b"n", b"h")
    first, last = int(entries[0][0]), int(entries[-1][0])
    if n is None or int(n) < first - 1 or (not idle and int(n) >= first):
        return 0
    if int(n) > last:
        result = model._xrange(log, b"%d-0" % last, b"%d-0" % last)
        return int(bool(result) and result[0].fields[b"h"] == entries[-1][2])
    done = int(n) - first + 1
    if checked and h != (entries[done - 1][2] if done else before):
        return 0
    for number, text, digest in entries[done:]:
        model._xadd(log, number + b"-0", b"e", text, b"h", digest)
    model._hset(head, b"n", entries[-1][0], b"h", entries[-1][2])
    return 1


def create(model: Model, keys: Sequence[bytes], words: Sequence[bytes]) -> int:
    """The model of create.lua."""
    header = model._hget(keys[0], b"header")
    if header is not None:
        return int(header == words[1])
    model._hset(keys[0], *words)
    return 1


def claim(model: Model, keys: Sequence[bytes], words: Sequence[bytes]) -> int:
    """The model of claim.lua."""
    (key,), (most, score, member, expire_s) = keys, words
    if int(most) and member not in model._hash(key) and model._zcard(key) >= int(most):
        return 0
    model._zadd(key, score, member)
    if int(expire_s):
        model._expire(key, expire_s)
    return 1


def delete_empty(model: Model, keys: Sequence[bytes], words: Sequence[bytes]) -> int:
    """The model of delete_empty.lua."""
    if int(model._hget(keys[0], b"n") or 0):
        return 0
    for key in keys:
        model.values.pop(key, None)
        model.expires.pop(key, None)
    return 1


def source(name: str) -> bytes:
    """Return the source of one of the server's scripts."""
    return files("samedeal_server.store").joinpath(name).read_bytes()


SCRIPTS: dict[str, Script] = {
    "append.lua": append,
    "claim.lua": claim,
    "create.lua": create,
    "delete_empty.lua": delete_empty,
}


def digest(text: bytes) -> bytes:
    """Return the digest that identifies a script."""
    return sha1(text).hexdigest().encode()


def _number(id_: bytes) -> int:
    """Return the number in a stream id of the form ``<number>-0``."""
    return int(id_.removesuffix(b"-0"))
