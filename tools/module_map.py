"""Prints the module map: what each module of the program contains, from the first line of its docstring or comment."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("protocol/samedeal", "server/samedeal_server", "clients/cli/samedeal_cli", "clients/web")


def module_map() -> Iterator[str]:
    """Yield the lines of the map: each folder, and its modules below it."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in (".py", ".js")]
    parent = None
    for file in sorted(files, key=lambda file: (file.parent, file.name)):
        if file.parent != parent:
            parent = file.parent
            yield f"{parent.relative_to(ROOT)}/"
        yield f"  {file.name:<26}{summary(file)}"


def summary(file: Path) -> str:
    """Return the first line of a module's docstring, or of a JavaScript module's comment."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".js":
        return text.partition("\n")[0].removeprefix("// ")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


if __name__ == "__main__":
    print("\n".join(module_map()))
