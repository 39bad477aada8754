"""slipway.launch without the program: what is written, what is read, what is refused. No rank is started."""

import functools
import json
import os
import pathlib
import random
import subprocess
import sys

import pytest

from slipway import launch
from slipway import _crc32c
from slipway.launch import _calls, _checkpoint, _files, _pickles, _results, _spec, errors

PLACE = {"rank": 0, "attempt": 1}


@pytest.fixture
def plain_pickle(monkeypatch):
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        monkeypatch.setitem(sys.modules, name, None)


def double(x):
    return 2 * x


class Refuses(Exception):
    """Its pickle does not give it back."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def test_neither_loads_libslipway_nor_needs_other_packages():
    program = ("import sys\n"
               "for name in ('numpy', 'torch', 'pandas', 'cloudpickle', 'IPython'):\n"
               "    sys.modules[name] = None\n"
               "import slipway.launch\n"
               "from slipway import _library\n"
               "assert not _library.loaded()\n")
    environment = {**os.environ, "SLIPWAY_LIBRARY": "/nowhere/libslipway.so"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_says_that_the_program_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SLIPWAY_PROGRAM", raising=False)
    monkeypatch.setattr("slipway._program.__file__", str(tmp_path / "a/b/c/d/e.py"))
    with pytest.raises(launch.ProgramNotFoundError,
                       match="not found\n  next: put it on the PATH, or name it in SLIPWAY_PR"):
        launch.Job.from_id("last")
    monkeypatch.setenv("SLIPWAY_PROGRAM", str(tmp_path / "slipway"))
    with pytest.raises(launch.ProgramNotFoundError, match="cannot be started: .*No such file"):
        launch.Job.from_id("last")


@pytest.mark.parametrize("text, status, expected", [
    ('{"schema": "slipway.error/1", "kind": "busy", "exit_code": 4, "message": "m", "next_step": "n"}', 4,
     launch.BusyError),
    ('{"schema": "slipway.error/1", "kind": "new word", "exit_code": 9, "message": "m", "next_step": "n"}', 9,
     launch.CommandError),
    ('{"schema": "slipway.error/1", "kind": "usage", "exit_code": 2, "message": "m", "next_step": "n", "diagnostics": '
     '[{"file": "a.yaml", "line": 1, "column": 2, "message": "no", "suggestion": "yes"}]}', 2, launch.SpecError),
    ("Segmentation fault", 139, launch.DefectError), ("", 1, launch.DefectError)])
def test_error_documents_are_types(monkeypatch, tmp_path, text, status, expected):
    program = tmp_path / "slipway"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n")
    program.chmod(0o700)
    monkeypatch.setenv("SLIPWAY_PROGRAM", str(program))
    with pytest.raises(expected) as raised:
        launch.Job.from_id("last")
    assert type(raised.value) is expected
    if "schema" in text:
        assert raised.value.exit_code == status and raised.value.next_step == "n"
    if expected is launch.SpecError:
        assert "a.yaml:1:2: no; did you mean 'yes'?" in str(raised.value)


def test_every_kind_of_error_has_its_type():
    kinds = {"failed": 1, "usage": 2, "environment": 3, "busy": 4, "internal": 70, "try_again": 75, "interrupted": 130}
    for kind, code in kinds.items():
        error = errors.of_document({"kind": kind, "exit_code": code, "message": "m"})
        assert type(error) is not launch.CommandError and (error.kind, error.exit_code) == (kind, code)


def test_unknown_resources_suggest_the_closest():
    with pytest.raises(TypeError, match="unknown resource 'gpu_per_rank': did you mean 'gpus_per_rank'"):
        _spec.fields_of({"gpu_per_rank": 1})
    with pytest.raises(TypeError, match="unknown resource 'placement'"):
        _spec.fields_of({"placement": "job"})
    assert _spec.fields_of({"placement": "job"}, *_spec.ENSEMBLE)["ensemble"] == {"placement": "job"}


def test_names_of_runs_are_what_a_spec_allows():
    assert _spec.name_of("<lambda>") == "lambda"
    assert _spec.name_of("über/train it.py") == "ber-train-it.py"
    assert _spec.name_of("...") == "call"
    assert len(_spec.name_of("x" * 99)) == 40


def test_paths_begin_where_the_caller_works(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert _spec.fields_of({})["launch"]["workdir"] == str(tmp_path)
    assert _spec.fields_of({"workdir": "a"})["launch"]["workdir"] == str(tmp_path / "a")
    assert _spec.fields_of({"workdir": "own"})["launch"]["workdir"] == "own"
    text, words = _spec.split({"launch": {"files": ["a"], "nodes": 2}, "data": {"x": {"source": "b"}}})
    assert text == 'launch: {"nodes": 2}\n'
    assert words == ["--set", 'launch.files=["a"]', "--set", 'data={"x": {"source": "b"}}']


def test_nested_changes_are_single_fields():
    assert _spec.overrides_of({"train.args.epochs": 3, "launch": {"nodes": 2, "env": {"A": "${B}"}}, "tags": []}) == [
        "--set", "train.args.epochs=3", "--set", "launch.nodes=2", "--set", 'launch.env.A="$${B}"', "--set", "tags=[]"]


def test_words_that_are_no_text_are_refused(tmp_path):
    with pytest.raises(launch.LaunchError, match="no UTF-8 text"):
        _spec.write(tmp_path, {"name": "a", "train": {"command": ["b\udcff"]}})


def test_a_spec_is_for_its_owner_only(tmp_path):
    _spec.write(tmp_path, {"name": "a"})
    assert (tmp_path / "spec.yaml").stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("plain_pickle")
def test_without_cloudpickle_lambdas_and_closures_are_refused(tmp_path):
    def inner():
        return tmp_path
    with pytest.raises(launch.NotPicklableError, match=r"a lambda .*\n  next: install cloudpickle"):
        _calls.write(tmp_path, lambda: 1, [()])
    with pytest.raises(launch.NotPicklableError, match="'.*inner', which is defined within a function"):
        _calls.write(tmp_path, inner, [()])
    with pytest.raises(launch.NotPicklableError, match="the arguments of call 1 cannot be sent"):
        _calls.write(tmp_path, double, [(1,), (open(os.devnull),)])


@pytest.mark.usefixtures("plain_pickle")
def test_a_function_of_a_prompt_needs_cloudpickle():
    program = ("import sys\n"
               "sys.modules['cloudpickle'] = sys.modules['joblib.externals.cloudpickle'] = None\n"
               "from slipway.launch import _pickles\n"
               "def here(): pass\n"
               "_pickles.dump(here, 'the function')\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "'here' is defined at a prompt or in a notebook" in done.stderr


def test_each_call_reads_its_own_arguments(tmp_path):
    calls = [(number, "x" * number) for number in range(100)]
    _calls.write(tmp_path, functools.partial(double), calls)
    assert _calls.name_of(functools.partial(double)) == "double"
    for number in (0, 57, 99):
        function, arguments = _calls.read(tmp_path, number)
        assert arguments == calls[number] and function(3) == 6


def test_foreign_pickles_are_not_read(tmp_path):
    _calls.write(tmp_path, double, [(1,)])
    (tmp_path / "function.pickle").chmod(0o666)
    with pytest.raises(launch.ResultError, match="other users can write to it"):
        _calls.read(tmp_path, 0)
    (tmp_path / "function.pickle").chmod(0o600)
    tmp_path.chmod(0o777)
    with pytest.raises(launch.ResultError, match=f"of '{tmp_path}', other users can write"):
        _calls.read(tmp_path, 0)
    tmp_path.chmod(0o1777)
    assert _calls.read(tmp_path, 0)[1] == (1,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_pickles_of_another_user_are_not_read(tmp_path):
    _files.write(tmp_path / "a", b"x")
    os.chown(tmp_path / "a", 12345, -1)
    with pytest.raises(launch.ResultError, match="belongs to user 12345"):
        _files.require_own(tmp_path / "a")


def test_results_come_back_as_they_are(tmp_path):
    _results.write_value(tmp_path, PLACE, {"a": [1, 2]})
    assert _results.read(tmp_path, 0, 1).value() == {"a": [1, 2]}
    assert _results.read(tmp_path, 0, 2) is None, "of an earlier attempt"
    assert _results.read(tmp_path, 1, 1) is None


def written(tmp_path, error):
    try:
        raise error
    except BaseException as caught:
        _results.write_exception(tmp_path, PLACE, caught)
    return _results.read(tmp_path, 0, 1).exception()


def test_exceptions_come_back_with_their_traceback(tmp_path):
    error = written(tmp_path, KeyError("missing"))
    assert type(error) is KeyError and error.args == ("missing",)
    assert "in written" in str(error.__cause__) and "KeyError: 'missing'" in str(error.__cause__)


@pytest.mark.parametrize("error, name", [(Refuses(1, 2), "Refuses"), (SystemExit(3), "SystemExit"),
                                         (KeyboardInterrupt(), "KeyboardInterrupt")])
def test_exceptions_that_cannot_travel_come_as_text(tmp_path, error, name):
    found = written(tmp_path, error)
    assert type(found) is launch.RemoteError and found.type_name == name
    assert name in str(found.__cause__)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-1] + b"?", lambda data: b"no JSON\n",
                                    lambda data: b"", lambda data: b"[]\n" + data])
def test_damaged_results_are_refused(tmp_path, damage):
    _results.write_value(tmp_path, PLACE, list(range(100)))
    path = _results.path_in(tmp_path, 0)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(launch.ResultError, match="is damaged"):
        _results.read(tmp_path, 0, 1)


def test_a_result_whose_class_is_gone_says_so(tmp_path, monkeypatch):
    module = type(sys)("gone")
    module.Thing = type("Thing", (), {"__module__": "gone"})
    monkeypatch.setitem(sys.modules, "gone", module)
    monkeypatch.setattr(_pickles, "pickler", lambda: __import__("pickle"))
    _results.write_value(tmp_path, PLACE, module.Thing())
    monkeypatch.delitem(sys.modules, "gone")
    with pytest.raises(launch.ResultError, match="cannot be rebuilt here: ModuleNotFoundError"):
        _results.read(tmp_path, 0, 1).value()


def bitwise(data):
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def test_crc32c_is_that_of_the_manifests():
    assert _crc32c.crc32c(b"123456789") == 0xE3069283
    assert _crc32c.crc32c(b"") == 0
    data = random.Random(1).randbytes(3000)
    assert _crc32c.crc32c(data) == bitwise(data)


def test_crc32c_continues_and_reads_files(tmp_path):
    (tmp_path / "a").write_bytes(b"123456789")
    assert _crc32c.crc32c(b"56789", _crc32c.crc32c(b"1234")) == 0xE3069283
    assert _crc32c.of_file(tmp_path / "a") == (9, 0xE3069283)


def test_crc32c_by_numpy_is_the_same():
    numpy = pytest.importorskip("numpy")
    data = random.Random(2).randbytes(_crc32c._ROWS * 3 + 17)
    assert _crc32c._by_rows(numpy, data, 0xFFFFFFFF) == _crc32c._plain(data, 0xFFFFFFFF)
    large = data * 100
    assert _crc32c.crc32c(large) == _crc32c._plain(large, 0xFFFFFFFF) ^ 0xFFFFFFFF


class Saves:
    def __init__(self, value):
        self.value, self.answer = value, None

    def __call__(self, x):
        return self.value + x

    def checkpoint(self):
        return self.answer


class Delayed:
    """As submitit's."""

    def __init__(self, function, *args, **kwargs):
        self.function, self.args, self.kwargs = function, args, kwargs


class SavesAsSubmitit(Saves):
    def checkpoint(self, x):
        return Delayed(self, x + 1)


def place_for(folder, **more):
    return {"rank": 0, "world_size": 1, "attempt": 1, "checkpoints": str(folder / "checkpoints"), "resume_from": "",
            "stop_file": str(folder / "stop.json"), "spec_hash": "abc", "keep": 2, "outputs": str(folder / "outputs"),
            **more}


def newest(place):
    return str(max(pathlib.Path(place["checkpoints"]).glob("step-*")))


def test_a_state_is_published_and_continued_from(tmp_path):
    place = place_for(tmp_path)
    _checkpoint.save(place, (Saves(1), (5,), {}))
    folder = pathlib.Path(newest(place))
    manifest = json.loads((folder / "manifest.json").read_text())
    entry, = manifest["files"]
    assert folder.name == "step-000000000000" and manifest["step"] == 0 and manifest["spec_hash"] == "abc"
    assert entry["bytes"] == (folder / entry["path"]).stat().st_size
    again = place_for(tmp_path, resume_from=str(folder))
    function, arguments, keywords = _checkpoint.load(again)
    assert (function.value, arguments, keywords) == (1, (5,), {})
    function.value = 2
    _checkpoint.save(again, (function, arguments, keywords))
    assert newest(place).endswith("step-000000000001")


def test_no_progress_is_no_checkpoint(tmp_path, capfd):
    place = place_for(tmp_path)
    _checkpoint.save(place, (Saves(1), (5,), {}))
    again = place_for(tmp_path, resume_from=newest(place))
    _checkpoint.save(again, _checkpoint.load(again))
    assert "no checkpoint is written" in capfd.readouterr().err
    assert os.listdir(place["checkpoints"]) == ["step-000000000000"]


def test_answers_of_checkpoint():
    assert _checkpoint._state_of(SavesAsSubmitit(0), (1,), {})[1] == (2,)
    other = Saves(0)
    other.answer = double
    assert _checkpoint._state_of(other, (1,), {}) == (double, (1,), {})


def test_only_the_newest_checkpoints_are_kept(tmp_path):
    place = place_for(tmp_path)
    for value in range(4):
        _checkpoint.save(place, (Saves(value), (), {}))
        place["resume_from"] = newest(place)
    assert sorted(os.listdir(place["checkpoints"])) == ["step-000000000002", "step-000000000003"]


def test_ranks_that_do_not_save_leave_no_checkpoint(tmp_path, capfd):
    (tmp_path / "stop.json").write_text('{"deadline": "2020-01-01T00:00:00.000Z"}')
    _checkpoint.save(place_for(tmp_path, world_size=3), (Saves(1), (), {}))
    assert "ranks [1, 2] have not stored their state in time" in capfd.readouterr().err
    assert not list((tmp_path / "checkpoints").glob("step-*"))


@pytest.mark.parametrize("has_returned", [0, 1])
def test_ranks_that_have_returned_are_part_of_a_checkpoint(tmp_path, has_returned):
    saves = 1 - has_returned
    place = place_for(tmp_path, world_size=2)
    _results.write_value(place["outputs"], {**place, "rank": has_returned}, "done")
    _checkpoint.save({**place, "rank": saves}, (Saves(1), (), {}))
    files = json.loads((pathlib.Path(newest(place)) / "manifest.json").read_text())["files"]
    assert {each["path"] for each in files} == {f"call-{saves:05}.pickle", f"result-{has_returned:05}.pickle"}
    again = place_for(tmp_path, world_size=2, attempt=2, resume_from=newest(place))
    assert _checkpoint.has_returned({**again, "rank": has_returned})
    assert _results.read(place["outputs"], has_returned, 2).value() == "done"
    assert not _checkpoint.has_returned({**again, "rank": saves}) and _checkpoint.load({**again, "rank": saves})
