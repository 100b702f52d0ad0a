"""docker-compose.yml and the Dockerfile: `.env` takes precedence, images are pinned, and containers and their logs are
restricted.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from samedeal_server.settings import UNPREFIXED, Settings, described

pytestmark = pytest.mark.tier(2)

ROOT = Path(__file__).parents[2]
COMPOSE, DOCKERFILE = (ROOT / "docker-compose.yml").read_text(), (ROOT / "Dockerfile").read_text()
FIXED = {"SAMEDEAL_HOST": "0.0.0.0", "SAMEDEAL_PORT": "8640", "SAMEDEAL_DATA_DIR": "/data"}
"""What the network and the volume depend on."""


def interpolated(value: Any, env: Mapping[str, str]) -> Any:
    """Replace ${NAME:-default} in all texts. Empty variables count as unset, and defaults may be nested."""
    if isinstance(value, dict):
        return {key: interpolated(item, env) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, env) for item in value]
    while isinstance(value, str) and "${" in value:
        value = re.sub(r"\$\{(\w+):-([^${}]*)\}", lambda match: env.get(match[1]) or match[2], value)
    return value


def services(env: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the services with these variables in `.env`, as Compose does: `environment` wins over `env_file`."""
    result: dict[str, dict[str, Any]] = interpolated(yaml.safe_load(COMPOSE)["services"], env)
    for service in result.values():
        if "env_file" in service:
            assert service["env_file"] == [{"path": ".env", "required": False}]
            service["environment"] = {**env, **service["environment"]}
    return result


def settings(env: Mapping[str, str]) -> Settings:
    return Settings.from_env(services(env)["server-1"]["environment"])


def test_env_takes_precedence_for_every_setting_that_is_not_fixed() -> None:
    names = {variable for variable, *_ in described()} | {f"SAMEDEAL_{name.upper()}" for name in UNPREFIXED.values()}
    for name in sorted(names):
        environment = services({name: "other"})["server-1"]["environment"]
        assert environment[name] == FIXED.get(name, "other")


def test_without_env_the_servers_use_the_store_and_the_proxy_of_the_file() -> None:
    defaults = settings({})
    assert (defaults.redis_url, defaults.port, str(defaults.data_dir)) == ("redis://store:6379", 8640, "/data")
    assert (defaults.metrics, defaults.log_format, defaults.drain_seconds) == ("on", "json", 3)
    proxy = services({})["proxy"]
    assert f"{proxy['networks']['default']['ipv4_address']}/32" in str(defaults.trusted_proxies)
    assert services({"SAMEDEAL_METRICS": ""})["server-2"]["environment"]["SAMEDEAL_METRICS"] == "on"


@pytest.mark.parametrize(
    ("env", "port"),
    [
        ({}, "8640"),
        ({"PORT": "80"}, "80"),
        ({"SAMEDEAL_PORT": "81"}, "81"),
        ({"PORT": "80", "SAMEDEAL_PORT": "81"}, "81"),
    ],
)
def test_port_in_env_is_the_published_one(env: dict[str, str], port: str) -> None:
    assert services(env)["proxy"]["ports"] == [f"{port}:8640"]
    assert settings(env).port == 8640


def test_containers_cannot_write_to_their_root_or_gain_privileges() -> None:
    for name, service in services({}).items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    assert set(re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)) == {"10001:10001"}


def test_logs_of_containers_are_bounded() -> None:
    for name, service in services({}).items():
        assert service["logging"] == {"driver": "json-file", "options": {"max-size": "50m", "max-file": "4"}}, name


def test_images_are_pinned_by_digest() -> None:
    images = {service["image"] for service in services({}).values() if "build" not in service}
    images |= set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE))
    assert len(images) == 3
    for image in images:
        assert re.fullmatch(r"[\w/]+:\d+\.\d+\.\d+(-[\w-]+)?@sha256:[0-9a-f]{64}", image)


def test_the_image_installs_everything_with_the_tested_versions() -> None:
    assert "-c constraints.txt --build-constraint constraints.txt '.[all]'" in DOCKERFILE
