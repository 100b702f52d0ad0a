"""The version of the program: that of the release, with the commit's date and id in other builds."""

from importlib.metadata import distribution
from typing import Final

_INSTALLED = distribution("samedeal")
_IS_EDITABLE = '"editable": true' in (_INSTALLED.read_text("direct_url.json") or "")

# An editable installation runs what is in its folder now, whichever commit it was installed from.
VERSION: Final = f"{_INSTALLED.version.partition('+')[0]}+editable" if _IS_EDITABLE else _INSTALLED.version
