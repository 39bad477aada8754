#!/usr/bin/python3
"""What runs record of their code, and what is made of it: reproduce and compare."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from recorded_runs import PROGRAM, TRAIN, git, recorded, run, slipway, spec, weights

pytest_plugins = ["recorded_runs"]  # its fixture
REPEATS = 20


# ---- what is recorded


def test_a_clean_repository_is_its_commit(place):
    git(place, "tag", "v1")
    folder = run(place)
    found = recorded(folder)
    assert found["schema"] == "slipway.provenance/1"
    assert found["commit"] == git(place, "rev-parse", "HEAD")
    assert (found["branch"], found["description"], found["is_dirty"], found["diff"]) == ("main", "v1", False, "")
    assert found["untracked"] == [] and found["not_recorded"] == ""
    assert found["repository"] == str(place) + "/"
    assert re.search(r"slipway run exp\.yaml --json$", found["command"])
    assert found["directory"] == str(place)
    assert [pathlib.Path(file["path"]).name for file in found["files"]] == ["train.py"]
    assert found["versions"]["slipway"] and found["versions"]["python"] == found["python"]["version"]
    assert found["hosts"][0]["cpus"] > 0 and found["warnings"] == []
    assert (folder / "provenance.json").stat().st_mode & 0o777 == 0o600
    assert json.loads(slipway("report", folder, "--json").stdout)["runs"][0]["provenance"] == found


@pytest.mark.parametrize("of_the_user", [(), ("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true")])
def test_a_diff_brings_the_files_back(place, of_the_user):
    if of_the_user:
        git(place, "config", *of_the_user)
    (place / "data.bin").write_bytes(bytes(range(256)))
    (place / "gone.txt").write_text("gone\n")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "more")
    (place / "train.py").write_text(TRAIN + "# changed\n")
    (place / "data.bin").write_bytes(bytes(range(255, -1, -1)))
    (place / "gone.txt").unlink()
    (place / "latin.txt").write_bytes(b"caf\xe9\n")
    (place / "na me.txt").write_text("text\n")
    git(place, "add", "latin.txt", "na me.txt")
    found = recorded(run(place))
    assert found["is_dirty"] and found["diff_left_out"] == []
    changed = {name: (place / name).read_bytes() for name in ("train.py", "data.bin", "latin.txt", "na me.txt")}
    git(place, "reset", "-q", "--hard")
    (place / "patch").write_text(found["diff"])
    git(place, "apply", "patch")
    assert {name: (place / name).read_bytes() for name in changed} == changed
    assert not (place / "gone.txt").exists()


def test_untracked_files_are_named_but_not_the_runs(place):
    (place / ".gitignore").write_text("*.log\n")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "ignore")
    (place / "notes.txt").write_text("x")
    (place / "a.log").write_text("x")
    (place / "new").mkdir()
    (place / "new" / "deep.txt").write_text("x")
    run(place)
    assert recorded(run(place))["untracked"] == ["new/", "notes.txt"]


def test_too_many_untracked_files_are_counted(place):
    for number in range(1_100):
        (place / f"note-{number:05}").write_text("")
    found = recorded(run(place))
    assert len(found["untracked"]) == 1_000 and found["untracked_more"] == 100


def test_a_huge_diff_is_cut_between_files(place):
    for name in ("a.txt", "b.txt", "m.bin", "z.txt"):
        (place / name).write_text("x\n")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "texts")
    (place / "a.txt").write_text("line of text\n" * 300_000)
    (place / "b.txt").write_text("small\n")
    for name, size in (("m.bin", 5 << 20), ("z.txt", 1 << 30)):
        with open(place / name, "wb") as large:
            large.truncate(size)
    found = recorded(run(place))
    assert len(found["diff"]) < 1 << 20 and "b/b.txt" in found["diff"]
    left = {file["path"]: (file["bytes"] > 1 << 20, file["reason"]) for file in found["diff_left_out"]}
    assert left == {"a.txt": (True, "its diff is large"), "m.bin": (True, "the file is large"),
                    "z.txt": (True, "the file is large")}
    assert found["not_recorded"] == ""


def test_changed_files_that_are_large_together_are_not_all_compared(place):
    names = [f"{number}.txt" for number in range(5)]
    for name in names:
        (place / name).write_text("x\n")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "texts")
    for name in names:
        (place / name).write_text("line of text\n" * 300_000)
    found = recorded(run(place))
    assert found["diff"] == "" and found["not_recorded"] == ""
    left = {file["path"]: file["reason"] for file in found["diff_left_out"]}
    assert left == {**dict.fromkeys(names[:4], "its diff is large"), "4.txt": "the changed files are large together"}


def test_a_folder_without_git_says_so(place, tmp_path):
    plain = tmp_path / "plain"
    shutil.copytree(place, plain, ignore=shutil.ignore_patterns(".git"))
    found = recorded(run(plain))
    assert found["commit"] is None and "is in no git repository" in found["not_recorded"]
    assert found["files"][0]["crc32c"]


def test_a_bare_repository_has_a_commit_and_no_diff(place, tmp_path):
    bare = tmp_path / "bare.git"
    git(place, "clone", "-q", "--bare", ".", bare)
    for name in ("train.py", "exp.yaml"):
        shutil.copy(place / name, bare)
    found = recorded(run(bare))
    assert found["commit"] == git(place, "rev-parse", "HEAD") and found["is_dirty"] is None and found["diff"] == ""


def test_a_repository_without_a_commit_says_so(place, tmp_path):
    shutil.rmtree(place / ".git")
    git(place, "init", "-q")
    found = recorded(run(place))
    assert found["commit"] is None and "no commit yet" in found["not_recorded"]


def test_a_detached_head_has_no_branch(place):
    git(place, "checkout", "-q", "--detach")
    found = recorded(run(place))
    assert found["branch"] is None and found["commit"] == git(place, "rev-parse", "HEAD")


def test_submodules_are_recorded_with_their_commits(place, tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "a.py").write_text("a = 1\n")
    git(library, "add", ".")
    git(library, "commit", "-q", "-m", "library")
    git(place, "-c", "protocol.file.allow=always", "submodule", "add", "-q", library, "library")
    git(place, "commit", "-q", "-m", "with library")
    (place / "library" / "a.py").write_text("a = 2\n")
    (submodule,) = recorded(run(place))["submodules"]
    assert submodule == {"path": "library", "commit": git(library, "rev-parse", "HEAD"), "is_dirty": True}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_not_read(place):
    os.chown(place / ".git", 65534, 65534)
    os.chown(place, 65534, 65534)
    found = recorded(run(place))
    assert found["commit"] is None and found["diff"] == ""
    assert re.search(r"not trusted: .*belongs to nobody", found["not_recorded"]), found["not_recorded"]
    (pathlib.Path(os.environ["HOME"]) / ".gitconfig").write_text(f"[safe]\n\tdirectory = {place}\n")
    assert recorded(run(place))["commit"]


def test_nothing_of_a_repository_is_executed(place, tmp_path):
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    for hook in ("post-checkout", "post-index-change", "fsmonitor-watchman", "query-watchman"):
        shutil.copy(trap, place / ".git" / "hooks" / hook)
    for name in ("core.fsmonitor", "filter.trap.clean", "filter.trap.process", "diff.trap.command",
                 "diff.trap.textconv", "core.pager", "diff.external", "core.sshCommand"):
        git(place, "config", name, str(trap))
    (place / ".git" / "info" / "attributes").write_text("* filter=trap diff=trap\n")
    (place / "train.py").write_text(TRAIN + "# changed\n")
    found = recorded(run(place))
    assert "# changed" in found["diff"]
    assert not (tmp_path / "sprung").exists()


def test_the_switch_keeps_code_private(place):
    (place / "train.py").write_text(TRAIN + "# a secret\n")
    (place / "exp.yaml").write_text(json.dumps(spec(provenance="no_diff")))
    folder = run(place)
    found = recorded(folder)
    assert found["is_dirty"] and found["diff"] == "" and found["untracked"] == []
    assert "a secret" not in (folder / "provenance.json").read_text()
    (place / "exp.yaml").write_text(json.dumps(spec(provenance="off")))
    folder = run(place)
    assert not (folder / "provenance.json").exists()
    assert json.loads(slipway("report", folder, "--json").stdout)["runs"][0]["provenance"] is None
    assert "provenance" in slipway("run", "exp.yaml", "--set", "provenance=some", status=2).stderr


def test_variables_modules_and_environments_are_recorded(place):
    found = recorded(run(place, env={"OMP_NUM_THREADS": "3", "LOADEDMODULES": "gcc/12:torch/2.1", "CONDA_PREFIX": "/c",
                                     "MY_PASSWORD": "secret"}))
    assert found["modules"] == ["gcc/12", "torch/2.1"]
    assert found["environment"]["OMP_NUM_THREADS"] == "3" and found["environment"]["CONDA_PREFIX"] == "/c"
    assert "secret" not in json.dumps(found)


def test_data_has_a_fingerprint(place):
    (place / "train.raw").write_bytes(b"x" * 100)
    (place / "exp.yaml").write_text(json.dumps(spec(data={"train": {"source": "train.raw", "format": "raw",
                                                                    "tier": "none"}})))
    first, again = recorded(run(place))["data"], recorded(run(place))["data"]
    assert first == again and first[0]["bytes"] == 100
    (place / "train.raw").write_bytes(b"x" * 101)
    assert recorded(run(place))["data"][0]["fingerprint"] != first[0]["fingerprint"]


# ---- reproduce


def reproduction(folder, *words):
    return json.loads(slipway("reproduce", folder, *words, "--json").stdout)


def carry_out(command, cwd):
    """The folder of the run that a printed command makes."""
    words = [PROGRAM if word == "slipway" else word for word in command]
    done = subprocess.run([*words, "--json"], check=True, capture_output=True, text=True, cwd=cwd, timeout=100)
    return pathlib.Path(json.loads(done.stdout)["folder"])


def test_repeats_end_with_identical_weights(place):
    folder = run(place)
    found = reproduction(folder)
    assert found["restore_code"] == [] and found["differences"] == []
    assert {weights(carry_out(found["command"], place)) for _ in range(REPEATS)} == {weights(folder)}


def test_the_mpi_of_more_ranks_is_no_difference_of_one(place):
    folder = run(place)
    before = recorded(folder)
    before["versions"]["mpi"] = "mpirun (Open MPI) 4.1.4"  # it began with two ranks
    before["versions"]["glibc"] = "1.0"
    (folder / "provenance.json").write_text(json.dumps(before))
    assert [each["what"] for each in reproduction(folder)["differences"]] == ["versions.glibc"]


def test_overrides_and_settings_are_repeated(place):
    folder = pathlib.Path(json.loads(slipway("run", "exp.yaml", "--json", "--set", "train.args.lr=0.3", "--set",
                                             "launch.time_limit=90s").stdout)["folder"])
    found = reproduction(folder)
    assert "train.args.lr=0.3" in found["command"] and "launch.time_limit=90.0s" in found["command"]
    assert weights(carry_out(found["command"], place)) == weights(folder)


def test_other_code_is_restored_beside_the_present_one(place):
    (place / "train.py").write_text(TRAIN.replace("random()", "random() + 1"))
    folder = run(place)
    git(place, "commit", "-q", "-a", "-m", "second")
    (place / "train.py").write_text(TRAIN.replace("random()", "random() + 2"))
    found = reproduction(folder)
    assert any(each["what"] == "commit" for each in found["differences"])
    *restore, again = found["restore_code"]
    for step in restore:
        subprocess.run(step, shell=True, check=True, capture_output=True)
    words = again.replace("slipway", str(PROGRAM), 1) + " --json"
    restored = json.loads(subprocess.run(words, shell=True, check=True, capture_output=True, text=True).stdout)
    assert restored["restore_code"] == []
    assert weights(carry_out(restored["command"], pathlib.Path(restored["spec"]).parent)) == weights(folder)


def test_what_differs_here_is_said(place):
    (place / "train.raw").write_bytes(b"x" * 100)
    (place / "exp.yaml").write_text(json.dumps(spec(data={"train": {"source": "train.raw", "format": "raw",
                                                                    "tier": "none"}})))
    folder = run(place, env={"OMP_NUM_THREADS": "3", "PYTHONHASHSEED": "1"})
    (place / "train.raw").write_bytes(b"x" * 101)
    found = reproduction(folder)
    assert found["command"][:2] == ["env", "OMP_NUM_THREADS=3"]
    assert {each["what"] for each in found["differences"]} >= {"data.train", "environment.PYTHONHASHSEED"}
    (place / "train.raw").unlink()
    assert any("cannot run it" in remark for remark in reproduction(folder)["remarks"])


@pytest.mark.parametrize("workdir", ["own", "spec"])
def test_files_of_the_command_that_are_missing_at_another_place_are_named(place, tmp_path, workdir):
    (place / "exp.yaml").write_text(json.dumps(spec(provenance="off", launch={"engine": "local", "workdir": workdir})))
    folder = run(place)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = ("--out", str(elsewhere / "again.yaml"))
    (note,) = (remark for remark in reproduction(folder, *out)["remarks"] if "the command names" in remark)
    assert f"names train.py: not in '{elsewhere}'" in note and f"from '{place}'" in note
    (elsewhere / "train.py").write_text(TRAIN)
    found = reproduction(folder, *out)
    assert not any("the command names" in remark for remark in found["remarks"])
    assert weights(carry_out(found["command"], elsewhere)) == weights(folder)


def test_a_file_in_the_way_stays(place):
    folder = run(place)
    (place / "mine.yaml").write_text("mine\n")
    done = slipway("reproduce", folder, "--out", "mine.yaml", status=2)
    assert "exists, with other content" in done.stderr
    assert (place / "mine.yaml").read_text() == "mine\n"


def test_runs_without_or_with_damaged_records_are_repeated_with_a_remark(place):
    folder = run(place)
    (folder / "provenance.json").write_text("{")
    found = reproduction(folder)
    assert any("provenance.json cannot be read" in remark for remark in found["remarks"])
    (folder / "provenance.json").unlink()
    assert any("no provenance" in remark for remark in reproduction(folder)["remarks"])
    assert weights(carry_out(found["command"], place)) == weights(folder)


# ---- compare


def compared(*words, status=0):
    return json.loads(slipway("compare", *words, "--json", status=status).stdout)


def test_equal_runs_have_equal_bits(place, tmp_path):
    first, second = run(place), run(place)
    found = compared(first, second, "--html", tmp_path / "both.html")
    (bits,) = found["bits"]
    assert bits["expected"] and bits["parting"] is None and bits["compared"] == 20, bits
    assert bits["left_out"] == ["images_per_second"]
    assert found["spec"] == [] and found["provenance"] == []
    page = (tmp_path / "both.html").read_text()
    assert first.name in page and second.name in page
    assert "all 20 values are the same" in slipway("compare", first, second).stdout
    assert slipway("-q", "compare", first, second).stdout == "same\n"


def test_bits_that_should_be_the_same_and_part_fail(place):
    (place / "train.py").write_text(TRAIN.replace("for step in range", "import secrets\n    for step in range")
                                    .replace("generator.gauss(w, 1)",
                                             "(generator.gauss(w, 1) if step < 7 else secrets.randbelow(9))"))
    first, second = run(place), run(place)
    (bits,) = compared(first, second, status=1)["bits"]
    assert bits["expected"] and (bits["parting"]["step"], bits["parting"]["metric"]) == (7, "loss")
    assert "they part at step 7: loss" in slipway("compare", first, second, status=1).stdout


def test_differences_of_spec_and_code_are_shown(place):
    first = run(place)
    (place / "train.py").write_text(TRAIN + "# changed\n")
    second = pathlib.Path(json.loads(slipway("run", "exp.yaml", "--json", "--set",
                                             "train.args.lr=0.3").stdout)["folder"])
    found = compared(first, second)
    assert found["spec"] == [{"key": "train.args.lr", "values": [0.1, 0.3]}]
    assert {row["fact"] for row in found["provenance"]} >= {"diff.train.py", "file.train.py"}
    (bits,) = found["bits"]
    assert not bits["expected"] and "train.args.lr differs" in bits["reasons"] and bits["parting"]["step"] == 0
    shown = slipway("compare", first, second).stdout
    assert "train.args.lr" in shown and "need not be the same" in shown
    assert slipway("-q", "compare", first, second).stdout == "different\n"


def test_a_comparison_needs_two_runs(place):
    folder = run(place)
    assert "two different runs" in slipway("compare", folder, folder, status=2).stderr
