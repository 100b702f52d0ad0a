"""Settings from environment variables, and the keys of the server."""

import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta
from platformdirs import user_data_dir

from samedeal.codec import convert
from samedeal_server.addresses import TrustedProxies, normal_url

PREFIX: Final = "SAMEDEAL_"
UNPREFIXED: Final = {"REDIS_URL": "redis_url", "PORT": "port"}
"""Variables that hosting platforms set without the prefix. Variables with the prefix take precedence."""
CLIENT_VARIABLES: Final = frozenset(
    f"SAMEDEAL_{name}"
    for name in (
        *("TOKEN", "SERVER", "NAME", "COLOR", "SUITS", "THEME", "ASCII", "CARDS", "MOUSE", "ANIMATION", "AUTO_DROP"),
        *("REACTIONS", "CLOCK", "SCREEN_READER"),
    )
)
"""Variables of the client, which the server ignores."""

# Types of settings, most with the expected values in words.
Count = Annotated[int, Meta(ge=1), "a number from 1"]
Number = Annotated[int, Meta(ge=0), "a number from 0"]
Key = Annotated[str, Meta(pattern=r"^[0-9a-fA-F]{64}$(?!\n)")]
OptionalKey = Annotated[Key | None, "64 hexadecimal digits"]
AdminKey = Annotated[str, Meta(pattern=r"^[!-~]{32,256}$(?!\n)")]
StoreUrl = Annotated[
    str, Meta(pattern=r"^(rediss?://[^/\s]\S*|unix:///\S*|rediss?\+cluster://[^/?#\s]+/?(\?\S*)?)$(?!\n)")
]
"""URLs of clusters cannot name a database."""
FrameAncestors = Annotated[
    str, Meta(pattern=r"^(none|\*|https?://[A-Za-z0-9.*:-]+( https?://[A-Za-z0-9.*:-]+)*)$(?!\n)")
]
"""Sources of the directive `frame-ancestors` of a content security policy."""
LinkUrl = Annotated[str, Meta(pattern=r"^https?://[^@\s]+$(?!\n)")]
OWN_PATHS: Final = (
    *("api", "asyncapi.json", "c", "daily", "docs", "fairness", "g", "healthz", "login", "metrics", "o"),
    *("openapi.json", "p", "page", "practice", "problems", "r", "readyz", "replay", "rules", "solution", "sw.js"),
    *("verify", "w", "ws"),
)
"""The first parts of the server's paths. With a public URL whose path starts with one, paths would be ambiguous."""
PublicUrl = Annotated[
    str,
    Meta(
        pattern=rf"^(?i:https?)://[^/?#@\s]+(/(?!({'|'.join(map(re.escape, OWN_PATHS))})(/|$))"
        r"([A-Za-z0-9_~-][A-Za-z0-9._~-]*(/|$))*)?$(?!\n)"
    ),
]
"""The parts of its path contain only characters that are the same in a URL, HTML and a regular expression.
The setting is the result of ``normal_url``."""
Fingerprint = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]


class SettingsError(Exception):
    """A setting is invalid. The text names the setting and the expected values, without secrets."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, each annotated with the expected values and then its description."""

    host: Annotated[
        str, Meta(min_length=1), "an IP address or host name; `0.0.0.0` for all interfaces", "The address to listen on"
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535), "a number from 0 (any free port) to 65535", "The port to listen on"] = (
        8640
    )
    workers: Annotated[Count, "Worker processes"] = 1
    redis_url: Annotated[
        StoreUrl | None,
        "`redis://…`, `rediss://…` or `unix:///…`; for a cluster `redis+cluster://…` or `rediss+cluster://…`",
        "The URL of the store; by default, the embedded store",
    ] = None
    store_durability: Annotated[
        Literal["always", "everysec", "none"],
        "`always`, `everysec`, or `none` to skip the check",
        "The minimum durability of the store, as in its option `appendfsync`",
    ] = "always"
    data_dir: Annotated[
        Path, "a directory used only by the server", "The directory of the embedded store and the keys"
    ] = msgspec.field(default_factory=lambda: Path(user_data_dir("samedeal", appauthor=False)))
    public_url: Annotated[
        PublicUrl | None,
        "`https://` or `http://`, a host, and perhaps a path that the server itself does not use",
        "The public URL of the server, for invitations",
    ] = None
    source_url: Annotated[
        LinkUrl | None, "`https://` or `http://` and an address", "Where the source code is, for the footer of the page"
    ] = None
    frame_ancestors: Annotated[
        FrameAncestors,
        "`none`, `*`, or origins separated by spaces, such as `https://example.org https://*.example.net`",
        "The sites that may embed the pages of replays (`/replay/…`) and the overlay (`/o/…`) in a frame",
    ] = "none"
    master_key: Annotated[
        OptionalKey, "The key that derives the secrets of sealed deals; by default, the content of `master.key`"
    ] = None
    accept_master_key: Annotated[
        Fingerprint | None,
        "16 lowercase hexadecimal digits",
        "The fingerprint of a new master key that replaces the store's current one",
    ] = None
    signing_key: Annotated[
        OptionalKey, "The private key that signs replays; by default, the content of `signing.key`"
    ] = None
    admin_key: Annotated[
        AdminKey | None,
        "32 to 256 letters, digits and ASCII punctuation",
        "The key for `samedeal admin` over HTTP; by default, only the socket in the data directory",
    ] = None
    trusted_proxies: Annotated[
        TrustedProxies,
        "comma-separated IP networks, such as `127.0.0.1/32,10.0.0.0/8`",
        "The networks of proxies whose `X-Forwarded-For` or `Forwarded` header is trusted",
    ] = TrustedProxies()
    replay_days: Annotated[
        Annotated[int, Meta(ge=1)] | None, "a number of days", "How long to keep replays; by default, forever"
    ] = None
    guest_days: Annotated[
        int, Meta(ge=0), "a number of days from 0", "How long to keep tokens of guests who do not return; 0 for forever"
    ] = 180
    refused_names: Annotated[
        Path | None, "a file with one word per line", "Words that names of new guests must not contain"
    ] = None
    rate: Annotated[
        float,
        Meta(gt=0, le=1e6),
        "a number above 0",
        "Sustained messages per second per connection; three times as many at once",
    ] = 20.0
    connections: Annotated[Count, "Maximum connections, also limited by open files"] = 10_000
    connections_per_address: Annotated[
        Number, "WebSocket connections and event streams per address; 0 for unlimited"
    ] = 50
    http_connections_per_address: Annotated[
        Number, "HTTP connections and concurrent requests per address; 0 for unlimited"
    ] = 200
    requests_per_second: Annotated[
        float, Meta(ge=0, le=1e6), "a number from 0", "Request tokens per second per address; 0 for unlimited"
    ] = 20.0
    requests_per_address: Annotated[
        float,
        Meta(ge=0, le=1e6),
        "a number from 0",
        "Request tokens per second for all known players at one address; 0 for unlimited",
    ] = 60.0
    request_burst: Annotated[int, Meta(ge=100), "a number from 100", "Burst of request tokens per address"] = 600
    guests_per_minute: Annotated[Number, "New guests per minute per address; 0 for unlimited"] = 60
    races_per_minute: Annotated[Number, "New races per minute per address; 0 for unlimited"] = 20
    wrong_tokens_per_minute: Annotated[
        Number, "Unknown tokens and login codes per minute per address; 0 for unlimited"
    ] = 30
    open_races: Annotated[Count, "Maximum races that are open or running"] = 10_000
    open_races_per_address: Annotated[Number, "Maximum open races created per address; 0 for unlimited"] = 100
    open_races_per_guest: Annotated[Number, "Maximum open races created per guest; 0 for unlimited"] = 20
    ready_seconds: Annotated[
        float,
        Meta(ge=0, le=86400),
        "a number of seconds; 0 for no limit",
        "How long racers have to get ready once two others are, before their seats are released",
    ] = 60.0
    drain_seconds: Annotated[
        float,
        Meta(ge=0, le=3600),
        "a number of seconds; 0 for immediately",
        "How long to refuse new players and fail `/readyz` before closing connections at shutdown",
    ] = 0.0
    search_ahead: Annotated[
        Literal["off", "on"],
        "`on` or `off`",
        "Whether to search the deals of running races for winning lines on idle cores",
    ] = "on"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        "`debug`, `info`, `warning` or `error`",
        "The minimum level of log records",
    ] = "info"
    log_format: Annotated[Literal["text", "json"], "`text` or `json`", "The format of log records"] = "text"
    access_log: Annotated[
        Literal["off", "on"], "`on` or `off`", "Whether to log every HTTP request and WebSocket connection when it ends"
    ] = "off"
    metrics: Annotated[Literal["off", "on"], "`on` or `off`", "Whether to serve Prometheus metrics at `/metrics`"] = (
        "off"
    )

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read the settings from environment variables. Empty values count as unset. Raises SettingsError."""
        fields = {field.name: field for field in msgspec.structs.fields(cls)}
        names = UNPREFIXED | {PREFIX + name.upper(): name for name in fields}
        values: dict[str, Any] = {}
        errors = [
            _unknown(name, names)
            for name in env
            if name.startswith(PREFIX) and name not in names.keys() | CLIENT_VARIABLES
        ]
        for variable, name in names.items():
            if value := env.get(variable):
                try:
                    values[name] = convert(value, fields[name].type, strict=False, hook=_decode)
                    if name == "public_url":
                        values[name] = normal_url(values[name])
                except ValueError:  # msgspec's error is one
                    *_, expected, _ = fields[name].type.__metadata__
                    errors.append(f"{variable} is {_redact(name, value)}; expected {expected.replace('`', '')}.")
        if errors:
            raise SettingsError("\n".join(errors))
        settings = cls(**values)
        try:
            f"{settings.data_dir}".encode()  # it is part of URLs and JSON
        except UnicodeEncodeError:
            text = "The path of the data directory is not valid UTF-8. Set SAMEDEAL_DATA_DIR to another directory."
            raise SettingsError(text) from None
        return settings

    @property
    def root_path(self) -> str:
        """The path of the public URL: empty, or such as `/cards`."""
        return urlsplit(self.public_url or "").path

    def redacted(self) -> dict[str, str]:
        """Return every setting by the name of its variable, without secrets."""
        return {
            PREFIX + name.upper(): "" if value is None else _redact(name, str(value))
            for name, value in msgspec.structs.asdict(self).items()
        }

    def __repr__(self) -> str:
        return f"Settings({self.redacted()})"


def described() -> Iterator[tuple[str, str, str, str]]:
    """Yield the variable, default, description and expected values of every setting."""
    unprefixed = {name: variable for variable, name in UNPREFIXED.items()}
    for field in msgspec.structs.fields(Settings):
        *_, expected, description = field.type.__metadata__
        default = "" if field.default is None else f"{field.default}"
        if field.name == "data_dir":
            default = "the user's data directory"
        yield unprefixed.get(field.name, PREFIX + field.name.upper()), default, description, expected


class Keys(NamedTuple):
    """The secret keys of the server, 32 bytes each."""

    master: bytes
    """Derives the secrets of sealed deals."""
    signing: bytes
    """Signs replays."""


def load_keys(settings: Settings) -> Keys:
    """Return the keys from the settings, or else from their files. Creates missing files.

    Processes that start at the same time use the same files. Raises SettingsError.
    """
    return Keys(
        _load_key(settings.master_key, settings.data_dir / "master.key"),
        _load_key(settings.signing_key, settings.data_dir / "signing.key"),
    )


def existing_keys(settings: Settings) -> dict[str, bytes]:
    """Return the keys that the settings or files contain, by the names of the files. Creates none.

    Raises SettingsError.
    """
    values = {"master.key": settings.master_key, "signing.key": settings.signing_key}
    return {
        name: _load_key(value, settings.data_dir / name)
        for name, value in values.items()
        if value or (settings.data_dir / name).exists()
    }


def _load_key(value: str | None, file: Path) -> bytes:
    if value:
        return bytes.fromhex(value)
    file = file.expanduser()
    try:
        if not file.exists():
            _create_key(file)
        if os.name == "posix" and file.stat().st_mode & 0o077:
            raise SettingsError(
                f"{file} is readable by other users: run chmod 600, and replace the key if it may have been read."
            )
        text = file.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise SettingsError(f"Cannot read or create the key {file}: {error}") from error
    try:
        return bytes.fromhex(convert(text, Key))
    except msgspec.ValidationError:
        raise SettingsError(f"{file} is not a valid key: expected 64 hexadecimal digits.") from None


def _create_key(file: Path) -> None:
    """Create the file with a new key atomically, unless another process creates it first."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not any(file.parent.iterdir()):
        with suppress(OSError):  # the directory may belong to another user
            file.parent.chmod(0o700)  # not a shared directory, because it is empty
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
    near = get_close_matches(name.removeprefix(PREFIX), bare, n=1)
    advice = f"did you mean {bare[near[0]]}?" if near else "docs/operate/operations.md lists all settings."
    return f"Unknown setting {name}; {advice}"


def _redact(name: str, value: str) -> str:
    if name in {"master_key", "signing_key", "admin_key"}:
        return "(not shown)"
    if name in {"redis_url", "public_url", "source_url"} and (hidden := re.search(r"[@?]", value)):
        scheme = re.match(r"[a-z+]+://", value)
        rest = value.rpartition("@")[2] if "?" not in value else ""
        return f"{scheme.group() if scheme else ''}…{hidden.group() if rest else ''}{rest}"
    return value


def _decode(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value)).expanduser()
    if kind is TrustedProxies:
        return TrustedProxies(str(value))
    raise NotImplementedError
