"""Slow functions are called only in bounded worker processes, nowhere else in the server."""

import ast
from collections.abc import Iterator

import pytest

from project.test_architecture import SOURCES, top, tree

COMPUTING = {
    "samedeal.analysis.advice": {"advise"},
    "samedeal.analysis.analysis": {"analysed"},
    "samedeal.solver.solve": {"solve"},
    "samedeal.wire.views": {"board_after"},
    "samedeal.computer.bots": {"play", "plays"},
    "samedeal.computer.deal_filters": {"check", "first", "passes"},
    "samedeal.computer.par": {"par"},
    "samedeal.replays.bot_replay": {"replay_of", "replay_of_line"},
    "samedeal.share.par_chart": {"svg"},
    "samedeal.replays.timeline": {"steps"},
    "samedeal.share.preview_picture": {"svg"},
    "samedeal.share.text": {"pace"},
    "samedeal.proof.verification": {"verify"},
    "samedeal_server.work.png": {"png"},
    "samedeal_server.store.stored_replays": {"render"},
}
"""Searches, plays and renderings, by module."""
PROCESS = "samedeal_server.work.worker"
"""The module that runs as a bounded process."""
STARTING = {
    "samedeal_server.store.embedded",
    "samedeal_server.work.pool",
    "samedeal_server.workers",
}
"""Modules that start processes: the store, worker processes, and server workers."""


def used(module: str) -> Iterator[str]:
    """The functions in COMPUTING that a module uses."""
    names = dict[str, str]()  # modules by their local names
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                if alias.name in COMPUTING.get(node.module or "", ()):
                    yield f"{node.module}.{alias.name}"
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Attribute):
            owner = names.get(ast.unparse(node.value), "")
            if node.attr in COMPUTING.get(owner, ()):
                yield f"{owner}.{node.attr}"


def test_computing_functions_exist() -> None:
    for module, functions in COMPUTING.items():
        defined = {node.name for node in tree(module).body if isinstance(node, ast.FunctionDef)}
        assert functions <= defined


@pytest.mark.parametrize("module", [name for name in SOURCES if top(name) == "samedeal_server"])
def test_only_bounded_processes_use_computing_functions(module: str) -> None:
    functions = set(used(module))
    assert bool(functions) == (module == PROCESS), functions


@pytest.mark.parametrize("module", [name for name in SOURCES if top(name) == "samedeal_server"])
def test_only_known_modules_start_processes(module: str) -> None:
    starting = {"create_subprocess_exec", "create_subprocess_shell", "Popen", "ProcessPoolExecutor", "fork"}
    calls = {ast.unparse(node.func) for node in ast.walk(tree(module)) if isinstance(node, ast.Call)}
    started = {call for call in calls if call.rpartition(".")[2] in starting}
    assert not started or module in STARTING, started
