"""Finding libslipway.so, and the prototypes against the header. No job is needed."""

import os
import pathlib
import re
from array import array

import pytest

import slipway
from slipway import _library
from slipway.errors import BY_STATUS, LibraryError

HEADER = (pathlib.Path(__file__).resolve().parents[3] / "runtime/slipway.h").read_text()


def declared():
    """Function -> its parameters, of the header."""
    text = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
    return {name: [] if parameters.strip() == "void" else [" ".join(p.split()) for p in parameters.split(",")]
            for name, parameters in re.findall(r"SLIPWAY_API [\w\s*]*?(slipway_\w+)\(([^)]*)\);", text)}


def kind_of(parameter):
    """How a parameter of the header is passed."""
    if "slipway_tensor*" in parameter:
        return _library._TENSORS
    kinds = {"const char*": _library._TEXT, "char*": _library._TEXT, "void*": _library._MEMORY,
             "const void*": _library._MEMORY, "const int64_t*": _library._COUNTS, "int64_t*": _library._COUNTS,
             "const int*": _library._INTS, "int*": _library._INTS, "double*": _library._DOUBLES, "int64_t": _library._INT64,
             "double": _library._DOUBLE, "size_t": _library._SIZE, "int": _library._INT, "slipway_dtype": _library._INT,
             "slipway_op": _library._INT}
    return kinds.get(parameter.rsplit(" ", 1)[0])


def test_every_function_of_the_header_has_its_prototype():
    functions = declared()
    assert len(functions) > 30
    assert sorted(functions) == sorted(_library.PROTOTYPES)
    for name, parameters in functions.items():
        taken = _library.PROTOTYPES[name][1]
        assert len(taken) == len(parameters), name
        for parameter, kind in zip(parameters, taken):
            if kind_of(parameter) is not None:
                assert kind is kind_of(parameter), (name, parameter)


def test_every_status_of_the_header_has_its_exception():
    statuses = {int(number) for number in re.findall(r"SLIPWAY_ERROR_\w+ = (\d+)", HEADER)}
    assert statuses == set(BY_STATUS)
    for error in BY_STATUS.values():
        assert getattr(slipway, error.__name__) is error and error.__name__ in slipway.__all__


def test_the_numbers_of_dtypes_and_operations_are_those_of_the_header():
    from slipway._arrays import DTYPES
    from slipway.collectives import OPERATIONS
    for name, number in {**DTYPES, **OPERATIONS}.items():
        assert re.search(rf"SLIPWAY_{name.upper()} = {number}\b", HEADER), name


def test_the_launcher_says_which_mpi_it_is():
    assert _library.mpi_of_launcher({"OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "0"}) == "openmpi"
    assert _library.mpi_of_launcher({"PMI_RANK": "0", "PMI_SIZE": "2"}) == "mpich"
    assert _library.mpi_of_launcher({}) is None
    assert _library.mpi_in_process("7f00 /usr/lib/libmpich.so.12\n") == "mpich"
    assert _library.mpi_in_process("7f00 /usr/lib/libmpi.so.40\n") == "openmpi"
    assert _library.mpi_in_process("7f00 /usr/lib/libc.so.6\n") is None


def test_a_library_of_another_mpi_than_the_launchers_is_an_error(monkeypatch):
    monkeypatch.setattr(_library, "library", lambda: type("Loaded", (), {"_name": "/opt/libslipway.so"}))
    for environment in ({"PMI_SIZE": "4"}, {"OMPI_COMM_WORLD_SIZE": "4"}):
        with pytest.raises(LibraryError, match="4 ranks.*/opt/libslipway.so sees one"):
            _library.require_whole_job(1, environment)
        _library.require_whole_job(4, environment)
    _library.require_whole_job(1, {})
    _library.require_whole_job(1, {"OMPI_COMM_WORLD_SIZE": "1"})


def installation(root, flavours):
    """The tree of an installation, with empty libraries."""
    for flavour in flavours:
        (root / "lib/slipway" / flavour).mkdir(parents=True)
        (root / "lib/slipway" / flavour / "libslipway.so").touch()
    (root / "lib").mkdir(exist_ok=True)
    (root / "lib/libslipway.so").touch()
    return root / "lib/slipway/python/slipway"


def test_an_installation_gives_the_library_of_the_launchers_mpi(tmp_path):
    package = installation(tmp_path, ["openmpi", "mpich"])
    for flavour in ("openmpi", "mpich"):
        found = _library.candidates({}, package, flavour)
        assert found[0] == str(tmp_path / "lib/slipway" / flavour / "libslipway.so")
        assert not any("lib/libslipway.so" in path for path in found)
    assert _library.candidates({}, package, None)[0] == str(tmp_path / "lib/libslipway.so")


def test_the_variable_wins(tmp_path):
    package = installation(tmp_path, ["openmpi"])
    assert _library.candidates({"SLIPWAY_LIBRARY": "/opt/libslipway.so"}, package, "mpich") == ["/opt/libslipway.so"]


def test_a_library_that_is_not_there_is_an_error_that_names_what_was_tried(tmp_path):
    missing = str(tmp_path / "libslipway.so")
    with pytest.raises(LibraryError, match=f"(?s){re.escape(missing)}: no such file.*SLIPWAY_LIBRARY"):
        _library.load({"SLIPWAY_LIBRARY": missing}, tmp_path)
    with pytest.raises(ImportError):
        _library.load({"SLIPWAY_LIBRARY": missing}, tmp_path)


def test_a_file_that_is_no_library_is_an_error_that_says_so(tmp_path):
    path = tmp_path / "libslipway.so"
    path.write_text("no library")
    with pytest.raises(LibraryError, match="libslipway.so: .*"):
        _library.load({"SLIPWAY_LIBRARY": str(path)}, tmp_path)


def test_a_library_without_our_functions_is_an_error():
    with pytest.raises(LibraryError, match="older than this Python package"):
        _library._declare(__import__("ctypes").CDLL(None), "an old library")


@pytest.mark.parametrize("call", [
    slipway.rank, slipway.size, slipway.local_rank, slipway.ALL.rank, slipway.ALL.size,
    lambda: slipway.allgather(b"1"), lambda: slipway.alltoall(b"1"), lambda: slipway.broadcast(bytearray(1)),
    lambda: slipway.reduce_scatter(array("f", [1])), lambda: slipway.broadcast_object(1),
    lambda: slipway.allgather_object(1)])
def test_a_place_in_the_job_before_init_is_an_error_with_a_next_step(call):
    assert not slipway.initialized()
    with pytest.raises(slipway.StateError, match=r"not in the job; call slipway.init\(\) first"):
        call()


def test_a_place_in_the_job_before_init_of_the_cray_module_names_its_init():
    import slipway.compat.cray as mc
    for call in (mc.get_rank, mc.get_nranks):
        with pytest.raises(slipway.StateError, match=r"not in the job; call init_mpi\(\) first"):
            call()


def test_the_installed_layout_holds_every_module():
    root = pathlib.Path(_library.__file__).parent
    text = (root.parent / "pyproject.toml").read_text()
    # Packages are found: a folder without __init__.py would be left out, and nobody would notice.
    assert re.search(r'packages\.find\]\ninclude = \["slipway\*"\]', text)
    folders = {path.parent for path in root.rglob("*.py")}
    assert len(folders) > 5 and [folder for folder in folders if not os.access(folder / "__init__.py", os.R_OK)] == []
    assert re.search(r'^version = "(.*)"', text, re.MULTILINE)[1] == _library.VERSION


def test_a_call_before_init_names_the_function_of_this_package():
    said = "slipway_report: this process is not in the job; call slipway.init\\(\\) first"
    with pytest.raises(slipway.StateError, match=said):
        slipway.report(1, loss=0.5)
