"""Generated files are current."""

import pytest

from tools.generated_files import FILES, ROOT, content

pytestmark = pytest.mark.tier(2)


@pytest.mark.parametrize("name", FILES)
def test_generated_files_are_current(name: str) -> None:
    file = ROOT / name
    assert file.exists(), "`make generate` writes it"
    assert file.read_bytes() == content(name), "`make generate` rewrites it"
