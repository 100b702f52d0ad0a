"""The root path: the path of the public URL. Proxies remove it from requests or leave it in place; both work."""

import re

from starlette.types import Scope


def add_root_path(scope: Scope, root_path: str) -> None:
    """Complete the scope of a request below a root path: as ASGI specifies, its path starts with the root path."""
    path = scope["path"]
    if path == root_path:
        path += "/"
    elif not path.startswith(f"{root_path}/"):
        path = root_path + path
    scope.update(path=path, root_path=root_path)


def route_path(scope: Scope) -> str:
    """Return the path of a request without the root path."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("app_root_path", scope.get("root_path", "")))


def below_root_path(html: str, root_path: str) -> str:
    """Return HTML whose links lead to paths below the root path."""
    return re.sub(r'(?<=\s)(href|src)="/', rf'\1="{root_path}/', html) if root_path else html
