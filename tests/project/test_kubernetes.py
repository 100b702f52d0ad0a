"""The Kubernetes manifests are valid, and their settings, ports and probes fit the server."""

from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from samedeal_server import workers
from samedeal_server.settings import Settings
from samedeal_server.store.checks import WAIT_S

pytestmark = pytest.mark.tier(2)

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
VERSIONS = ("1.25", kubernetes_validate.latest_version())


def objects(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


ALL = [item for file in sorted(FOLDER.iterdir()) for item in objects(file.name)]


def by_kind(kind: str) -> list[dict[str, Any]]:
    return [item for item in ALL if item["kind"] == kind]


def pod() -> dict[str, Any]:
    [deployment] = by_kind("Deployment")
    spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return spec


def container() -> dict[str, Any]:
    [only] = pod()["containers"]
    result: dict[str, Any] = only
    return result


def environment() -> dict[str, str]:
    """Return the environment of the server, with keys in place of the placeholders."""
    secrets = {item["metadata"]["name"]: item["stringData"] for item in by_kind("Secret")}
    [source] = container()["envFrom"]
    secret = secrets[source["secretRef"]["name"]]
    keys = {name: "0f" * 32 if name.endswith("_KEY") else value for name, value in secret.items()}
    return keys | {item["name"]: item["value"] for item in container()["env"]}


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_match_the_schemas(version: str) -> None:
    assert len(ALL) == 8
    for item in ALL:
        kubernetes_validate.validate(item, version, strict=True)


def test_validation_rejects_an_unknown_field() -> None:
    [budget] = by_kind("PodDisruptionBudget")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(budget | {"spec": budget["spec"] | {"minAvailble": 1}}, VERSIONS[0], strict=True)


def test_server_accepts_the_environment() -> None:
    settings = Settings.from_env(environment())
    assert settings.redis_url
    assert settings.master_key
    assert settings.signing_key
    [ingress] = by_kind("Ingress")
    [rule] = ingress["spec"]["rules"]
    assert settings.public_url == f"https://{rule['host']}"


def test_service_variables_do_not_become_settings() -> None:
    """Kubernetes would set SAMEDEAL_PORT for the service "samedeal"."""
    assert pod()["enableServiceLinks"] is False


def test_ports_and_probes_are_those_of_the_server() -> None:
    [port] = container()["ports"]
    assert port == {"name": "http", "containerPort": Settings().port}
    probes = {name: container()[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert {probe["port"] for probe in probes.values()} == {"http"}
    assert [probe["path"] for probe in probes.values()] == ["/healthz", "/readyz", "/healthz"]
    startup = container()["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] > WAIT_S


def test_pods_have_time_to_drain() -> None:
    drain_s = Settings.from_env(environment()).drain_seconds
    assert drain_s > container()["readinessProbe"]["periodSeconds"]
    assert pod()["terminationGracePeriodSeconds"] > drain_s + workers.STOP_S


def test_containers_cannot_write_to_their_root_or_gain_privileges() -> None:
    assert pod()["securityContext"]["runAsNonRoot"]
    assert not pod()["automountServiceAccountToken"]
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_ingress_routes_to_services_of_the_server_but_hides_metrics() -> None:
    [deployment] = by_kind("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    [ingress] = by_kind("Ingress")
    [rule] = ingress["spec"]["rules"]
    services = {path["path"]: path["backend"]["service"]["name"] for path in rule["http"]["paths"]}
    assert services == {"/ws": "samedeal-races", "/metrics": "samedeal-nowhere", "/": "samedeal"}
    reached = {
        item["metadata"]["name"]: item["spec"]["selector"].items() <= labels.items() for item in by_kind("Service")
    }
    assert reached == {"samedeal-races": True, "samedeal-nowhere": False, "samedeal": True}
