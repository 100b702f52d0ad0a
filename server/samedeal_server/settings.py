"""The settings: what the environment says about this server, checked, each with its meaning."""

import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

import msgspec
from msgspec import Meta
from platformdirs import user_data_dir

from samedeal_server.proxies import TrustedProxies

PREFIX: Final = "SAMEDEAL_"
PLAIN: Final = {"REDIS_URL": "redis_url", "PORT": "port"}
"""Names without the prefix, as hosts set them; with the prefix they win."""
OF_CLIENTS: Final = frozenset(
    f"SAMEDEAL_{name}"
    for name in (
        *("TOKEN", "SERVER", "NAME", "COLOR", "SUITS", "THEME", "ASCII", "CARDS", "MOUSE", "ANIMATION", "AUTO_DROP"),
        "SCREEN_READER",
    )
)
"""Names that are not for the server, and no mistake."""

Count = Annotated[int, Meta(ge=1)]
Number = Annotated[int, Meta(ge=0)]
Port = Annotated[int, Meta(ge=0, le=65535)]
Seconds = Annotated[float, Meta(gt=0, le=86400)]
StoreUrl = Annotated[
    str, Meta(pattern=r"^(rediss?://[^/\s]\S*|unix:///\S*|rediss?\+cluster://[^/?#\s]+/?(\?\S*)?)$(?!\n)")
]
"""A cluster has no numbered databases."""
PublicUrl = Annotated[str, Meta(pattern=r"^https?://[^/?#@\s]+$(?!\n)")]
Key = Annotated[str, Meta(pattern=r"^[0-9a-fA-F]{64}$(?!\n)")]

Fingerprint = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]


class SettingsError(Exception):
    """A setting cannot be used; the text names it and says what is expected, and shows no secret."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How this server runs. With each setting stand its meaning and what is expected."""

    host: Annotated[
        Annotated[str, Meta(min_length=1)],
        "The address to listen on",
        "an address or a host name; `0.0.0.0` is every address of the machine",
    ] = "127.0.0.1"
    port: Annotated[Port, "The port to listen on", "a number from 0 (any free port) to 65535"] = 8640
    workers: Annotated[Count, "Processes that serve on the port", "a number from 1"] = 1
    redis_url: Annotated[
        StoreUrl | None,
        "The store; if not set, the embedded one",
        "`redis://…`, `rediss://…` or `unix:///…`; for a cluster `redis+cluster://…` or `rediss+cluster://…`",
    ] = None
    store_durability: Annotated[
        Literal["always", "everysec", "none"],
        "The weakest durability that is accepted of the store, by the names of `appendfsync`",
        "`always`, `everysec`, or `none`, with which it is not checked",
    ] = "always"
    store_wait_seconds: Annotated[
        Annotated[float, Meta(ge=0, le=86400)],
        "How long to wait at the start for a store that does not answer or has no room on its disk",
        "a number of seconds, 0 for not at all",
    ] = 60.0
    data_dir: Annotated[Path, "Where the embedded store and the keys are", "a directory of its own"] = msgspec.field(
        default_factory=lambda: Path(user_data_dir("samedeal", appauthor=False))
    )
    public_url: Annotated[
        PublicUrl | None,
        "The address at which others reach the server, for invitations",
        "`https://` or `http://` and a host, nothing after it",
    ] = None
    master_key: Annotated[
        Key | None,
        "The key that the secrets of all sealed deals come from; if not set, that in `master.key`",
        "64 hexadecimal digits",
    ] = None
    accept_master_key: Annotated[
        Fingerprint | None,
        "The fingerprint of a new master key, which replaces the one that the store was used with",
        "16 hexadecimal digits, in lower case",
    ] = None
    signing_key: Annotated[
        Key | None,
        "The private key that replays are signed with; if not set, that in `signing.key`",
        "64 hexadecimal digits",
    ] = None
    trusted_proxies: Annotated[
        TrustedProxies,
        "The networks of proxies whose `X-Forwarded-For` or `Forwarded` header names the client",
        "IP networks separated by commas, such as `127.0.0.1/32,10.0.0.0/8`",
    ] = TrustedProxies()
    replay_days: Annotated[Count | None, "How long replays are kept; if not set, for ever", "a number of days"] = None
    guest_days: Annotated[
        Number, "How long a guest who does not come is remembered; 0 is for ever", "a number of days from 0"
    ] = 180
    message_bytes: Annotated[
        Annotated[int, Meta(ge=256, le=2**20)], "The longest message taken", "a number of bytes from 256 to 1048576"
    ] = 4096
    rate: Annotated[
        Annotated[float, Meta(gt=0, le=1e6)],
        "Messages a second that one connection may send all the time",
        "a number above 0",
    ] = 20.0
    burst: Annotated[Count, "Messages that one connection may send at once", "a number from 1"] = 60
    connections: Annotated[Count, "Connections in all; no more than there can be open files", "a number from 1"] = (
        10_000
    )
    connections_per_address: Annotated[
        Number,
        "WebSockets from one address; 0 is any number",
        "a number from 0",
    ] = 50
    http_connections_per_address: Annotated[
        Number,
        "Other connections from one address, and its HTTP requests in progress; 0 is any number",
        "a number from 0",
    ] = 200
    requests_per_second: Annotated[
        Annotated[float, Meta(ge=0, le=1e6)],
        "Request tokens that one address earns per second; 0 lifts this limit",
        "a number from 0",
    ] = 20.0
    request_burst: Annotated[
        Annotated[int, Meta(ge=100)], "Request tokens that one address can save up", "a number from 100"
    ] = 250
    guests_per_minute: Annotated[
        Number, "New guests from one address in a minute; 0 is any number", "a number from 0"
    ] = 60
    races_per_minute: Annotated[
        Number, "Races opened from one address in a minute; 0 is any number", "a number from 0"
    ] = 20
    wrong_tokens_per_minute: Annotated[
        Number, "Unknown tokens from one address in a minute; 0 is any number", "a number from 0"
    ] = 30
    open_races: Annotated[Count, "Races that may be open in all, waiting or running", "a number from 1"] = 10_000
    open_races_per_address: Annotated[
        Number, "Races opened from one address that may be open at once; 0 is any number", "a number from 0"
    ] = 100
    open_races_per_guest: Annotated[
        Number, "Races opened by one guest that may be open at once; 0 is any number", "a number from 0"
    ] = 20
    fragments_per_message: Annotated[Count, "Fragments that a message may come in", "a number from 1"] = 128
    control_frames: Annotated[
        Count, "Pings and pongs that one connection may send in ten seconds", "a number from 1"
    ] = 20
    header_bytes: Annotated[
        Annotated[int, Meta(ge=1024, le=2**20)],
        "The longest head of an HTTP request",
        "a number of bytes from 1024 to 1048576",
    ] = 16_384
    headers: Annotated[Count, "Headers that an HTTP request may have", "a number from 1"] = 100
    hello_timeout_ms: Annotated[
        Count,
        "How long an HTTP request, the handshake and the first message may take",
        "a number of milliseconds from 1",
    ] = 5000
    ping_seconds: Annotated[Seconds, "The silence after which a ping is sent", "a number of seconds"] = 20.0
    away_seconds: Annotated[
        Seconds,
        "How long one whose connection has ended keeps the seat before the countdown",
        "a number of seconds",
    ] = 30.0
    drain_seconds: Annotated[
        Annotated[float, Meta(ge=0, le=3600)],
        "How long, when told to stop, `/readyz` says so and nobody new is let in, before all are sent elsewhere",
        "a number of seconds, 0 for at once",
    ] = 0.0
    queue_messages: Annotated[
        Count, "Messages that may wait for a slow reader before it is dropped", "a number from 1"
    ] = 256
    queue_bytes: Annotated[
        Count, "Bytes of messages that may wait for a slow reader before it is dropped", "a number from 1"
    ] = 262_144
    unread_seconds: Annotated[
        Seconds, "How long one who reads nothing of what is sent is waited for", "a number of seconds"
    ] = 5.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        "From which level on events are logged",
        "`debug`, `info`, `warning` or `error`",
    ] = "info"
    log_format: Annotated[
        Literal["text", "json"], "Whether log lines are for people or for programs", "`text` or `json`"
    ] = "text"
    metrics: Annotated[
        Literal["off", "on"], "Whether `/metrics` tells a monitoring system how the server does", "`on` or `off`"
    ] = "off"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """The settings that the environment asks for; an empty value counts as none. Raises SettingsError."""
        fields = {field.name: field for field in msgspec.structs.fields(cls)}
        names = PLAIN | {PREFIX + name.upper(): name for name in fields}
        values: dict[str, Any] = {}
        faults = [
            _unknown(name, names) for name in env if name.startswith(PREFIX) and name not in names.keys() | OF_CLIENTS
        ]
        for variable, name in names.items():
            if value := env.get(variable):
                try:
                    values[name] = msgspec.convert(value, fields[name].type, strict=False, dec_hook=_decoded)
                except msgspec.ValidationError:
                    *_, expected = fields[name].type.__metadata__
                    faults.append(f"{variable} is {_shown(name, value)}; expected is {expected.replace('`', '')}.")
        if faults:
            raise SettingsError("\n".join(faults))
        return cls(**values)

    def shown(self) -> dict[str, str]:
        """Every setting by the name of its variable, fit to be shown to people: without the secrets."""
        return {
            PREFIX + name.upper(): "" if value is None else _shown(name, str(value))
            for name, value in msgspec.structs.asdict(self).items()
        }

    def __repr__(self) -> str:
        return f"Settings({self.shown()})"


def described() -> Iterator[tuple[str, str, str, str]]:
    """Of every setting the variable, the default, the meaning and what is expected."""
    plain = {name: variable for variable, name in PLAIN.items()}
    for field in msgspec.structs.fields(Settings):
        *_, meaning, expected = field.type.__metadata__
        default = (
            "the user's data directory" if field.name == "data_dir" else "" if field.default is None else field.default
        )
        yield plain.get(field.name, PREFIX + field.name.upper()), str(default), meaning, expected


class Keys(NamedTuple):
    """What this server must keep to itself, 32 bytes each."""

    master: bytes
    """What the secrets of all sealed deals come from."""
    signing: bytes
    """What replays are signed with."""


def keys_of(settings: Settings) -> Keys:
    """The keys: from the settings, or from their files, which are made if they are not there.

    Of several processes that start at once one makes a file and all use it. Raises SettingsError.
    """
    return Keys(
        _key(settings.master_key, settings.data_dir / "master.key"),
        _key(settings.signing_key, settings.data_dir / "signing.key"),
    )


def _key(given: str | None, file: Path) -> bytes:
    if given:
        return bytes.fromhex(given)
    file = file.expanduser()
    try:
        if not file.exists():
            _make_key(file)
        if os.name == "posix" and file.stat().st_mode & 0o077:
            raise SettingsError(
                f"{file} can be read by others: close it (chmod 600), or make a new key if they may have."
            )
        text = file.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise SettingsError(f"The key {file} cannot be used: {error}") from error
    try:
        return bytes.fromhex(msgspec.convert(text, Key))
    except msgspec.ValidationError:
        raise SettingsError(f"{file} holds no key: expected are 64 hexadecimal digits.") from None


def _make_key(file: Path) -> None:
    """Make the file with a new key, whole or not at all; if another process is quicker its file stays."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not any(file.parent.iterdir()):
        with suppress(OSError):  # it may be another's, open to us
            file.parent.chmod(0o700)  # now, as long as it is clear that nobody else has anything in it
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as output:
            output.write(secrets.token_hex(32) + "\n")
            output.flush()
            os.fsync(output.fileno())
        with suppress(FileExistsError):
            file.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)


def _unknown(name: str, names: Iterable[str]) -> str:
    bare = {known.removeprefix(PREFIX): known for known in names}
    near = get_close_matches(name.removeprefix(PREFIX), bare, n=1, cutoff=0.0)
    return f"{name} is no setting; the nearest is {bare[near[0]]}."


def _shown(name: str, value: str) -> str:
    if name in {"master_key", "signing_key"}:
        return "(not shown)"
    if name in {"redis_url", "public_url"} and (hidden := re.search(r"[@?]", value)):
        scheme = re.match(r"[a-z+]+://", value)
        rest = value.rpartition("@")[2] if "?" not in value else ""
        return f"{scheme.group() if scheme else ''}…{hidden.group() if rest else ''}{rest}"
    return value


def _decoded(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value)).expanduser()
    if kind is TrustedProxies:
        return TrustedProxies(str(value))
    raise NotImplementedError
