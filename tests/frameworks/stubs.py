"""Stand-ins for modules that a framework's source imports but whose code the checks never reach: CUDA kernels, newer
parts of torch. The checks test the framework's own code; a stand-in answers any name with a mock."""
import importlib.abc
import importlib.machinery
import sys
import types
from unittest import mock


class _Class(type):
    """A class whose unknown attributes are classes too, because they occur in annotations."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Class(name, (), {})


class _Module(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = _Class(name, (), {}) if name[:1].isupper() else mock.MagicMock(name=name)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the named modules, and those below them, as stand-ins."""

    def __init__(self, names):
        self.names = tuple(names)

    def find_spec(self, fullname, path=None, target=None):
        if any(fullname == name or fullname.startswith(name + ".") for name in self.names):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


def stand_in(*names):
    """Installs stand-ins for these modules, before anything imports them."""
    sys.meta_path.insert(0, Finder(names))


def package(name, path):
    """Makes a package that is only its folder: its modules can be imported, but its __init__ does not run."""
    module = types.ModuleType(name)
    module.__path__ = [path]
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)
    return module
