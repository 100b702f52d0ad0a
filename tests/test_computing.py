"""What computes for long, and where it may be called: in the bounded processes, and nowhere else in the server."""

import ast
from collections.abc import Iterator

import pytest

from samedeal_server import job_worker
from test_architecture import SOURCES, TREES, top

COMPUTING = {
    "samedeal.bots": {"play", "plays"},
    "samedeal.friendly": {"check", "first", "passes"},
    "samedeal.par": {"par"},
    "samedeal.bot_replay": {"replay_of"},
    "samedeal.strip": {"svg"},
    "samedeal.steps": {"steps"},
    "samedeal.verification": {"verify"},
    "samedeal_server.packed": {"text"},
}
"""The searches, plays and renderings, by the modules that have them."""
PROCESSES = {"samedeal_server.job_worker", "samedeal_server.verifier"}
"""The modules that run as bounded processes."""
STARTING = {"samedeal_server.embedded", "samedeal_server.jobs", "samedeal_server.verifier", "samedeal_server.workers"}
"""The modules that start processes: the store, the two above, and the workers of the server itself."""


def used(module: str) -> Iterator[str]:
    """What a module uses of the modules in COMPUTING."""
    names = dict[str, str]()  # of modules, as they are called there
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                if alias.name in COMPUTING.get(node.module or "", ()):
                    yield f"{node.module}.{alias.name}"
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Attribute):
            owner = names.get(ast.unparse(node.value), "")
            if node.attr in COMPUTING.get(owner, ()):
                yield f"{owner}.{node.attr}"


def test_all_that_computes_is_there() -> None:
    for module, functions in COMPUTING.items():
        defined = {node.name for node in TREES[module].body if isinstance(node, ast.FunctionDef)}
        assert functions <= defined


@pytest.mark.parametrize("module", [name for name in SOURCES if top(name) == "samedeal_server"])
def test_only_the_bounded_processes_compute(module: str) -> None:
    found = set(used(module))
    assert bool(found) == (module in PROCESSES), found


@pytest.mark.parametrize("module", [name for name in SOURCES if top(name) == "samedeal_server"])
def test_only_these_modules_start_processes(module: str) -> None:
    starting = {"create_subprocess_exec", "create_subprocess_shell", "Popen", "ProcessPoolExecutor", "fork"}
    calls = {ast.unparse(node.func) for node in ast.walk(TREES[module]) if isinstance(node, ast.Call)}
    found = {call for call in calls if call.rpartition(".")[2] in starting}
    assert not found or module in STARTING, found


@pytest.mark.parametrize("module", sorted(PROCESSES))
def test_a_bounded_process_limits_itself(module: str) -> None:
    calls = {ast.unparse(node.func) for node in ast.walk(TREES[module]) if isinstance(node, ast.Call)}
    assert {"limit_process", "limit_cpu"} <= calls


@pytest.mark.parametrize("module", ["samedeal_server.jobs", "samedeal_server.verifier"])
def test_whatever_starts_a_bounded_process_lowers_its_priority(module: str) -> None:
    calls = [ast.unparse(node.func) for node in ast.walk(TREES[module]) if isinstance(node, ast.Call)]
    assert calls.count("lower_priority") == calls.count("asyncio.create_subprocess_exec") == 1


def test_the_tasks_are_all_that_is_computed_but_the_verification() -> None:
    assert set(job_worker.TASKS) == {"deal", "par", "play", "strip", "replay", "steps"}
