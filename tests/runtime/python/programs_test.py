"""Whole programs as users start them. Each test starts its own ranks."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
from memory_group import memory_group  # noqa: E402

PROGRAMS = HERE / "programs"
IMPORTS = {"ml_comm": "slipway.compat.cray", "dl_comm": "slipway.compat.cray",
           "dl_comm.torch": "slipway.compat.cray.torch", "horovod.torch": "slipway.compat.horovod.torch"}


def with_import_changed(name, folder):
    """A copy of a program where nothing but the line of its import is another."""
    text = (PROGRAMS / name).read_text()
    for old, new in IMPORTS.items():
        text = text.replace(f"import {old} as", f"import {new} as")
    (folder / name).write_text(text)
    return folder / name


def start(program, *arguments, ranks=2, before=(), **environment):
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    return subprocess.run([*mpirun, *before, sys.executable, program, *arguments], capture_output=True, text=True,
                          timeout=50, env={**os.environ, **environment})


def into_files(folder):
    """stderr of each rank into a file of its own: mpirun may drop the last words of ranks that it is ending."""
    return ["sh", "-c", 'exec "$@" 2>"$0/$OMPI_COMM_WORLD_RANK"', str(folder)]


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_cray_script_in_numpy(tmp_path, ranks):
    done = start(with_import_changed("cray_numpy.py", tmp_path), ranks=ranks)
    assert done.returncode == 0, done.stderr
    assert f"ranks {ranks} loss" in done.stdout and "weights 1.0 -2.0 0.5 3.0" in done.stdout
    waits = [line for line in done.stdout.splitlines() if "ranks waited" in line]
    assert len(waits) == 3 and "20 calls" in waits[0] and "slowest ranks" in waits[0]


def test_a_cray_script_in_torch(tmp_path):
    done = start(with_import_changed("cray_torch.py", tmp_path))
    assert (done.returncode, "done 3.0" in done.stdout) == (0, True), done.stdout + done.stderr


def test_a_cray_script_with_the_plugins_optimizer(tmp_path):
    done = start(with_import_changed("cray_optimizer.py", tmp_path), ranks=3)
    assert (done.returncode, "ranks 3 done 3.0" in done.stdout) == (0, True), done.stdout + done.stderr
    assert done.stdout.count("ranks waited") == 3


@pytest.mark.parametrize("arguments", [[], ["--fp16-allreduce", "--batches-per-allreduce", "2"]])
def test_a_horovod_script(tmp_path, arguments):
    done = start(with_import_changed("horovod_torch.py", tmp_path), *arguments, ranks=3 if arguments else 2)
    assert done.returncode == 0, done.stderr
    losses = [float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("epoch")]
    assert len(losses) == 2 and losses[1] < losses[0]
    assert "on this node" in done.stdout


def test_what_a_horovod_script_asks_for_in_vain_is_named(tmp_path):
    done = start(with_import_changed("horovod_torch.py", tmp_path), "--use-adasum")
    assert done.returncode != 0
    assert "Adasum is not there; use op=hvd.Average" in done.stderr


@pytest.mark.parametrize("how", ["raise", "exit", "exit raised again", "exit of site", "quit", "thread"])
def test_a_rank_that_gives_up_ends_the_job_at_once(how):
    done = start(PROGRAMS / "fails_on_one_rank.py", how, ranks=3)  # sooner than others are taken for stalled
    assert done.returncode != 0 and "went on" not in done.stdout
    if how in ("raise", "thread"):
        assert done.stderr.count("ValueError: this rank gives up") == 1


def test_a_rank_that_does_not_come_is_an_exception_that_names_it():
    done = start(PROGRAMS / "stalls.py", ranks=3)
    assert done.returncode == 9
    assert "rank 2" in done.stdout and "slipway_allreduce" in done.stdout


def test_an_operation_on_a_process_set_whose_member_has_joined_ends_and_says_why():
    done = start(PROGRAMS / "join_and_set.py")
    assert done.returncode == 9
    assert re.search(r"rank 0: allreduce.* on ProcessSet.*ranks=\[0, 1\].*rank 1 .*has called join", done.stdout)


def test_a_gradient_that_is_not_finite_is_an_exception_that_names_tensor_and_rank(tmp_path):
    done = start(PROGRAMS / "not_finite.py", ranks=3, before=into_files(tmp_path))
    assert done.returncode != 0 and "went on" not in done.stdout
    said = "".join(file.read_text() for file in tmp_path.iterdir())
    found = re.search("slipway.errors.NotFiniteError: .*", said)
    assert found, said + done.stderr
    line = found[0]
    assert "'layer.weight'" in line and "rank 1" in line


def test_a_program_leaves_the_job_by_itself():
    done = start(PROGRAMS / "ends.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("in the job at the end: True") == 2


def test_a_program_that_ends_after_a_caught_exit_leaves_the_job():
    done = start(PROGRAMS / "ends_after_exit.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("caught 3") == 2 and done.stdout.count("left the job: True") == 2


def test_a_program_that_ends_between_backward_and_step_ends_well_and_is_told():
    done = start(PROGRAMS / "ends_after_backward.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("trained") == 2
    assert done.stderr.count("warning: the program ended with a step in flight of team 'optimizer 1'") == 1
    assert "optimizer.step() or synchronize()" in done.stderr


@pytest.mark.parametrize("beside", [[], ["beside"]])
def test_a_step_that_only_some_ranks_have_begun_is_named_at_the_end(tmp_path, beside):
    done = start(PROGRAMS / "ends_after_backward.py", "differs", *beside, before=into_files(tmp_path))
    assert done.returncode != 0
    said = "".join(file.read_text() for file in tmp_path.iterdir())
    assert "team 'optimizer 1' has step 1 in flight on rank 0, but not on rank 1" in said, said + done.stderr


def test_arrays_in_shared_memory_outlive_the_job():
    done = start(PROGRAMS / "after_finalize.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("sum 100000.0 slipway_barrier: ") == 2
    assert done.stdout.count("sum 100000.0 this process is not in the job") == 2


def test_a_fork_of_a_rank_is_not_in_the_job():
    done = start(PROGRAMS / "fork.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the rank went on") == 2 and "Traceback" not in done.stderr


def test_the_package_without_library_names_what_it_tried():
    done = subprocess.run([sys.executable, "-c", "import slipway; slipway.init()"], capture_output=True, text=True,
                          env={**os.environ, "SLIPWAY_LIBRARY": "/nowhere/libslipway.so"})
    assert done.returncode != 0
    assert "/nowhere/libslipway.so: no such file" in done.stderr


def test_the_benchmark_measures_all_sides_on_the_shapes_of_resnet_50():
    done = subprocess.run([sys.executable, HERE.parents[2] / "bench/ddp/ddp_bench.py", "--steps", "1", "--json"],
                          capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["schema"], result["ranks"]) == ("slipway.bench.ddp/1", 2)
    assert (result["tensors"], result["bytes"]) == (161, 4 * 25557032)
    sides = [row["side"] for row in result["rows"]]
    assert [side for side in sides if not side.startswith("mpi")] == [
        "local", "ddp alone", "gloo", "backend", "ddp alone views", "gloo views", "backend views", "slipway", "limit"]
    assert all(row["median_ms"] > 0 for row in result["rows"])


@pytest.mark.parametrize("torch, error", [("raise ImportError('there is none')", "cannot import torch: there is none"),
                                         ("import types; cuda = types.SimpleNamespace(is_available=lambda: False)",
                                          "torch sees no GPU")])
def test_the_benchmark_of_gpus_starts_no_ranks_where_there_is_none(tmp_path, torch, error):
    (tmp_path / "torch.py").write_text(torch + "\n")
    done = subprocess.run([sys.executable, HERE.parents[2] / "bench/gpu/gpu_bench.py"], capture_output=True, text=True,
                          timeout=50, env={**os.environ, "PYTHONPATH": str(tmp_path), "PATH": "/nowhere"})
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == 2 and error in lines[0] and lines[1].startswith("  next: "), done.stderr


def test_the_benchmark_of_snapshots_compares_with_one_copy():
    done = subprocess.run([sys.executable, HERE.parents[2] / "bench/snapshot/snapshot_bench.py", "--turns", "1", "--ranks",
                           "2", "--json"], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["schema"], result["ranks"], result["bytes"]) == ("slipway.bench.snapshot/1", 2, 4 * 25557032)
    assert [row["side"] for row in result["rows"]] == ["copy", "save", "published"]
    medians = {row["side"]: row["median_ms"] for row in result["rows"]}
    assert result["ratio"] == pytest.approx(medians["save"] / medians["copy"], rel=1e-2)


def test_more_memory_than_there_is_is_an_error_and_wakes_no_oom_killer():
    limit = 300 << 20
    with memory_group(limit) as group:
        if group is None:
            pytest.skip("no control group of memory can be made here")
        join = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
        for environment in ({}, {"SLIPWAY_SHARED_MEMORY_LIMIT": "0"}):
            done = subprocess.run([*join, sys.executable, PROGRAMS / "alloc_beyond.py", str(2 * limit)], text=True,
                                  capture_output=True, timeout=50, env={**os.environ, **environment})
            assert done.returncode == 0, done.stderr
            assert "no memory for a block of slipway_alloc: 629 MB more are needed" in done.stdout
            assert "goes on with 7" in done.stdout
