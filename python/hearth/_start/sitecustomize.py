"""Run by every Python that `hearth run` starts, since this folder is first on its PYTHONPATH: when a program imports a
framework that Hearth has an adapter for, the adapter is turned on. Nothing is imported before that. The sitecustomize
that this one hides is run too. Any Python may come here, so this is written for all of them; the adapters are for those
from 3.9 on.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))

# The adapter for a framework, by the module of it that is loaded last of what the adapter needs.
_ADAPTERS = {
    "triton.runtime.cache": "triton",
    "torch._inductor.remote_cache": "inductor",
    "jax._src.compilation_cache": "jax",
}


def _wanted():
    named = os.environ.get("HEARTH_FRAMEWORKS")
    return list(_ADAPTERS.values()) if named is None else named.replace(",", " ").split()


def _adapter(name):
    """A module of this Hearth's package. Under a name of its own: the program may use another version of Hearth."""
    from importlib import import_module, util

    package = "_hearth_of_run"
    if package not in sys.modules:
        folder = os.path.dirname(_HERE)
        spec = util.spec_from_file_location(
            package, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        module = sys.modules[package] = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        import_module(package + "._frameworks").quiet = True
    return import_module(package + "." + name)


def _turn_on(name):
    try:
        _adapter(name).enable()
    except Exception as problem:  # the framework goes on without
        try:
            _adapter("_frameworks").say(
                "Hearth could not be turned on for %s (%s: %s)." % (name, type(problem).__name__, problem)
            )
        except Exception:  # no ctypes, for one
            pass


class _Loader:
    """Loads a module as its own loader does, and turns an adapter on when that is done."""

    def __init__(self, loader, adapter):
        self._loader = loader
        self._adapter = adapter

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _ADAPTERS.pop(module.__name__, None)
        _turn_on(self._adapter)


class _Finder:
    """Finds what the others find, and is interested in few."""

    def find_spec(self, name, path=None, target=None):
        adapter = _ADAPTERS.get(name)
        if adapter is None:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module") and hasattr(spec.loader, "create_module"):
                    spec.loader = _Loader(spec.loader, adapter)
                return spec
        return None


def _chain():
    """Runs the sitecustomize that this one hides. What goes wrong in it is the program's own affair."""
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _HERE]
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", this)


if sys.version_info >= (3, 9):
    for _name in [name for name in _ADAPTERS if _ADAPTERS[name] not in _wanted()]:
        del _ADAPTERS[_name]
    sys.meta_path.insert(0, _Finder())
_chain()
