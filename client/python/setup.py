"""Build steps that pyproject.toml cannot express: generated files, the planner, what a source distribution has."""
import atexit
import os
import shutil
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import generate  # noqa: E402
import native_build  # noqa: E402


class BuildPy(build_py):
    """Generates into the build folder or, for an editable installation, into the sources (where git ignores it)."""

    def run(self):
        super().run()
        if getattr(self, "editable_mode", False):
            generate.generate(os.path.join(HERE, "src", "evenkeel"))
            return
        generate.generate(os.path.join(self.build_lib, "evenkeel"))
        self.copy_file(generate.source("LICENSE"), os.path.join(self.build_lib, "evenkeel"))
        # This script also runs on a GPU machine without the package, so it is outside src/.
        self.copy_file(os.path.join(HERE, "evenkeel_profile.py"), self.build_lib)


class BuildExt(build_ext):
    """Compiles the planner."""

    def run(self):
        source = os.path.join(HERE, "src", "evenkeel")
        native_build.build(source if self.inplace else os.path.join(self.build_lib, "evenkeel"))

    def get_outputs(self):
        return [os.path.join(self.build_lib, "evenkeel", native_build.MODULE)]

    def get_output_mapping(self):
        return {}


class Build(build):
    """Leaves no folder in the sources, because its content would go into the next wheel, and be linted."""

    def initialize_options(self):
        super().initialize_options()
        self.build_base = tempfile.mkdtemp(prefix="evenkeel-build-")
        atexit.register(shutil.rmtree, self.build_base, ignore_errors=True)


class Sdist(sdist):
    """Adds the files that generate.py reads."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in sorted({*generate.inputs(), *native_build.inputs()}):
            to = os.path.join(base_dir, "repository", name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(generate.source(name), to)


# One module for all versions of Python from 3.10 on.
native = {"ext_modules": [Extension("evenkeel._native", [], py_limited_api=True)],
          "options": {"bdist_wheel": {"py_limited_api": "cp310"}}} if native_build.wanted() else {}
setup(version=generate.version(),
      cmdclass={"build": Build, "build_ext": BuildExt, "build_py": BuildPy, "sdist": Sdist}, **native)
