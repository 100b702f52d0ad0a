"""The build hook for the compiled wheel: compiles the library's busiest modules with Cython, next to their sources.

It is off by default: ``HATCH_BUILD_HOOKS_ENABLE=1 pip install .`` turns it on. Editable installs are never compiled, as
a compiled module would hide changes to its source.
"""

import os
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DIRECTIVES = {"language_level": 3, "annotation_typing": False, "binding": True, "infer_types": None}
"""The semantics of Python: annotations are not trusted, and functions have their signatures and docstrings."""


class CompiledModules(BuildHookInterface[BuilderConfig]):
    """Adds the compiled modules to a wheel, whose tag then names the interpreter and the platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        from Cython.Build import cythonize
        from setuptools import Distribution, Extension

        self._folder = tempfile.TemporaryDirectory(prefix="samedeal-build-")
        built, processes = Path(self._folder.name, "lib"), os.cpu_count() or 1
        options = ["-O3", "-g0", "-include", str(Path(self.root, "attribute_cache.h"))]
        for source, modules in self.config["modules"].items():
            with chdir(Path(self.root, source)):  # so that tracebacks name samedeal/game.py, which Python then finds
                extensions = [
                    Extension(module, [f"{module.replace('.', '/')}.py"], extra_compile_args=options)
                    for module in modules
                ]
                generated = cythonize(
                    extensions,
                    build_dir=self._folder.name,
                    compiler_directives=DIRECTIVES,
                    nthreads=processes,
                    quiet=True,
                )
                build = Distribution({"ext_modules": generated}).get_command_obj("build_ext")
                build.build_lib, build.build_temp, build.parallel = str(built), self._folder.name, processes
                build.ensure_finalized()
                build.run()
        files = {str(file): file.relative_to(built).as_posix() for file in built.rglob("*") if file.is_file()}
        build_data["force_include"].update(files)
        build_data.update(pure_python=False, infer_tag=True)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()
