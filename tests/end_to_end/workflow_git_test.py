"""Steps whose program is a git repository."""

import subprocess
import sys

import pytest

from workflow_test import Flow


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A step in a repository whose program imports a module; nothing of the user's settings counts."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a",
                        "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}.items():
        monkeypatch.setenv(name, value)
    flow = Flow(tmp_path / "project")
    flow.folder.mkdir()
    flow.step("import model\n")
    (flow.folder / "model.py").write_text("size = 1\n")
    (flow.folder / ".gitignore").write_text("runs\nran\n__pycache__\nflow.yaml\n")
    flow.steps(train=(["train"], ["code: git"]), other=(["other"], []))
    git(flow.folder, "init", "-q", "-b", "main")
    commit(flow)
    flow.slipway("run", "flow.yaml")
    assert sorted(flow.ran()) == ["other", "train"]
    return flow


def commit(flow):
    git(flow.folder, "add", ".")
    git(flow.folder, "commit", "-q", "-m", "more")
    return git(flow.folder, "rev-parse", "HEAD")


def changes(flow, step="train"):
    return flow.json("workflow", "why", "last", step)["changes"]


def test_an_edit_and_a_commit_are_named(project):
    assert changes(project) == []
    first = git(project.folder, "rev-parse", "HEAD")
    (project.folder / "model.py").write_text("size = 2\n")
    assert changes(project) == ["model.py was edited"] and changes(project, "other") == []
    project.slipway("run", "flow.yaml")
    assert project.ran() == ["train"], "an imported module counts"
    (project.folder / "model.py").write_text("size = 3\n")
    assert changes(project) == ["model.py was edited"]
    second = commit(project)
    assert changes(project) == [f"commit {first[:7]} became {second[:7]}", "model.py is as in its commit again"]
    assert f"commit {first[:7]} became {second[:7]}" in project.slipway("plan", "flow.yaml")
    project.slipway("run", "flow.yaml")
    assert project.ran() == ["train"] and changes(project) == []
    git(project.folder, "checkout", "-q", first)
    project.slipway("run", "flow.yaml")
    assert project.ran() == [], "the result of that commit is still there"


def test_modes_deletions_and_renames_are_edits(project):
    (project.folder / "model.py").chmod(0o755)
    assert changes(project) == ["model.py was edited"]
    git(project.folder, "reset", "-q", "--hard")
    assert changes(project) == []
    git(project.folder, "mv", "model.py", "models.py")
    assert changes(project) == ["model.py was edited", "models.py was edited"]


def test_untracked_files_count_when_they_are_named(project):
    (project.folder / "notes.txt").write_text("x")
    assert changes(project) == []
    project.steps(train=(["train"], ["code: git", "files: ['*.txt']"]))
    assert changes(project) == ["file notes.txt is new"]
    (project.folder / "fresh.py").write_text("print(1)\n")
    command = f"[{sys.executable}, fresh.py]"
    project.write(f"name: flow\ndefaults: {{code: git}}\nsteps:\n  train: {{command: {command}}}\n")
    project.slipway("run", "flow.yaml")
    (project.folder / "fresh.py").write_text("print(2)\n")
    assert changes(project) == ["file fresh.py has changed"], "git does not know it, so its content counts"


def test_what_is_no_work_tree_says_so(project, tmp_path):
    plain = Flow(tmp_path / "plain")
    plain.folder.mkdir()
    plain.steps(train=(["train"], ["code: git"]))
    plain.slipway("plan", "flow.yaml", status=2)
    assert "is in no git work tree" in plain.said and "code: files" in plain.said
    git(plain.folder, "init", "-q")
    plain.slipway("plan", "flow.yaml", status=3)
    assert "has no commit yet" in plain.said
    plain.steps(train=(["train"], ["code: svn"]))
    plain.slipway("validate", "flow.yaml", status=2)
    assert "code" in plain.said and "git" in plain.said


def test_an_experiment_has_the_commit_of_its_program(project):
    project.program("report(1, loss=1.0)\n")
    commit(project)
    project.write("name: flow\nsteps:\n  train:\n    code: git\n"
                  f"    experiment: {{train: {{command: [{sys.executable}, train.py]}}}}\n")
    project.slipway("run", "flow.yaml")
    assert changes(project) == []
    (project.folder / "model.py").write_text("size = 4\n")
    assert changes(project) == ["model.py was edited"]
