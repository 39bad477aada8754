"""Functions, arguments, values and exceptions as bytes.

cloudpickle is used where it is installed, else pickle, which knows functions and classes by their names only.
"""

import importlib
import io
import os
import pickle
import runpy
import sys

from slipway.launch import errors

_INSTALL = "install cloudpickle, or define it by 'def' or 'class' at the top level of a module or script"
_loads_main = False


def pickler():
    """The module that pickles: cloudpickle, the copy of it in joblib, or pickle."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return pickle


def _why_not(value, error):
    """What pickle cannot do with a function, in words."""
    name = getattr(value, "__qualname__", "") or type(value).__qualname__
    if name.endswith("<lambda>"):
        return f"a lambda ({name})"
    if "<locals>" in name:
        return f"'{name}', which is defined within a function"
    return f"'{name}': {error}"


def _require_importable(value):
    """Without cloudpickle what is defined at a prompt or in a notebook exists in this process only."""
    main = sys.modules.get("__main__")
    if getattr(value, "__module__", None) == "__main__" and main_program() is None and hasattr(main, "__dict__"):
        raise errors.NotPicklableError(
            f"'{value.__qualname__}' is defined at a prompt or in a notebook, and cannot be sent to a job without "
            "cloudpickle", "install cloudpickle, or move it to a module")


def dump(value, what):
    """The bytes of `value`. Errors: NotPicklableError, which names `what`."""
    module = pickler()
    if module is pickle and callable(value):
        _require_importable(value if hasattr(value, "__qualname__") else type(value))
    try:
        return module.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError, ValueError) as error:
        next_step = _INSTALL if module is pickle else "leave out what holds open files, threads or connections"
        raise errors.NotPicklableError(f"{what} cannot be sent to a job: pickle cannot take {_why_not(value, error)}",
                                       next_step) from error


def load(data):
    """The value. Errors: whatever its classes raise."""
    sys.modules.setdefault("__mp_main__", sys.modules["__main__"])  # as a job names what it has from the script
    return pickle.load(io.BytesIO(data))


def main_program():
    """How a job imports the script of this process: {"module": NAME} or {"path": FILE}; None at a prompt."""
    main = sys.modules.get("__main__")
    spec, path = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None and spec.name not in ("__main__", None):
        return {"module": spec.name}
    return {"path": os.path.abspath(path)} if path and os.path.exists(path) else None


def import_main(program):
    """Makes the names of the caller's script those of `__main__`, without running what stands below its guard."""
    global _loads_main
    _loads_main = True
    try:
        module = type(sys)("__mp_main__")
        if "module" in program:
            module.__dict__.update(runpy.run_module(program["module"], run_name="__mp_main__", alter_sys=True))
        else:
            module.__dict__.update(runpy.run_path(program["path"], run_name="__mp_main__"))
    finally:
        _loads_main = False
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def require_guard():
    """A script that submits while a job imports it would submit without end."""
    if _loads_main:
        raise errors.LaunchError("the script submits jobs while a job imports it",
                                 "put what submits below: if __name__ == '__main__':")
