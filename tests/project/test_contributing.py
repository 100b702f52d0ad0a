"""The pages name files, classes and functions that exist, their links lead somewhere, and examples run."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = "protocol|server|clients|docs|tests|examples|bench|research|tools|deploy"
REFERENCE = re.compile(rf"`((?:{FOLDERS})/[\w./-]*|\.[\w.]+/[\w.]*)(?::([\w.]+))?`")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])


def definitions(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Yield the names that a module or class defines: ``Race``, ``Race.after``, ``CODES``."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.ClassDef(name=name, body=inner):
                yield prefix + name
                yield from definitions(inner, f"{prefix}{name}.")
            case ast.Assign(targets=targets):
                yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_contributing_names_existing_files_and_functions() -> None:
    references = REFERENCE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(references) > 50
    missing = [
        f"{file}:{name}"
        for file, name in references
        if not (ROOT / file).exists()
        or (name and name not in set(definitions(ast.parse((ROOT / file).read_text(encoding="utf-8")).body)))
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_existing_files_and_headings(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if not target.startswith("https:"):
            file = (page.parent / path).resolve() if path else page
            if not file.exists() or (anchor and anchor not in anchors(file)):
                broken.append(target)
    assert broken == []


def test_library_example_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    exec("from samedeal" + readme.partition("```python\nfrom samedeal")[2].partition("```")[0], {})
    assert capsys.readouterr().out == "stuck 35 48\n"
