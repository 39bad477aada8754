"""Tags, descriptions, and the filters of `slipway ls`."""

import json
import shlex
import shutil

import pytest

from slipway_here import Place


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    place.program("loss = float(sys.argv[sys.argv.index('--x') + 1])\nreport(1, loss=loss)\nsys.exit(loss > 8)\n")
    return place


def run(place, name, x, more="", status=0):
    place.spec(more, name=name, args={"x": x})
    return place.json("run", "spec.yaml", status=status)["run"]


def listed(place, *words):
    return [entry["name"] for entry in place.json("ls", *words)["runs"]]


@pytest.fixture
def four(place):
    run(place, "alpha", 3, "tags: [paper, baseline]\ndescription: The first")
    run(place, "beta", 1, "tags: [paper]")
    run(place, "gamma", 9, status=1)
    run(place, "delta", 2)
    return place


def test_filters_combine(four):
    assert listed(four) == ["alpha", "beta", "gamma", "delta"]
    assert listed(four, "--tag", "paper") == ["alpha", "beta"]
    assert listed(four, "--tag", "paper", "--tag", "baseline") == ["alpha"]
    assert listed(four, "--state", "failed,lost") == ["gamma"]
    assert listed(four, "--state", "succeeded", "--tag", "paper", "--name", "b*") == ["beta"]
    assert listed(four, "--name", "[ad]*a") == ["alpha", "delta"]
    assert listed(four, "--name", "amm") == ["gamma"]
    assert listed(four, "--since", "1d") == ["alpha", "beta", "gamma", "delta"]
    assert listed(four, "--since", "2200-01-01") == []
    assert listed(four, "--limit", "2") == ["gamma", "delta"]
    assert listed(four, "--limit", "2", "--reverse") == ["delta", "gamma"]


def test_advice_names_runs_of_a_folder_that_is_given_by_their_path(place):
    place.spec("ensemble:\n  objective: {metric: loss, goal: minimize}\n  trials: 2\n  sampler: grid\n"
               "  space: {x: {choice: [1, 2]}}\n")
    for folder in ("other", "with space"):
        name = place.json("--runs-dir", folder, "trials", "new", "spec.yaml")["run"]
        path = shlex.quote(f"{folder}/{name}")
        assert f"slipway trials ask {path}" in place.slipway("--runs-dir", folder, "ls")
        assert f"slipway trials ask {path}" in place.json("--runs-dir", folder, "status")["reason"]
        assert place.json("status", f"{folder}/{name}")["run"] == name, "the advised name finds it"
    place.json("trials", "new", "spec.yaml")
    assert "slipway trials ask small-" in place.slipway("ls"), "elsewhere the id is enough"


def test_orders(four):
    assert listed(four, "--sort", "name") == ["alpha", "beta", "delta", "gamma"]
    assert listed(four, "--sort", "best") == ["gamma", "alpha", "delta", "beta"], "the best stands last"
    assert listed(four, "--sort", "best", "--limit", "2") == ["delta", "beta"]
    assert listed(four, "--sort", "state")[-1] == "gamma"
    assert listed(four, "--sort", "started") == ["alpha", "beta", "gamma", "delta"]


def test_runs_without_the_metric_that_orders_them_are_named_once(four):
    four.program("report(1, accuracy=0.5, error=0.5)\n")
    for name in ("zeta", "eta"):
        run(four, name, 0)
    assert listed(four, "--sort", "best")[-1] == "beta"
    assert "2 runs have no metric 'loss'; choose one with --metric NAME: accuracy, error" in four.said
    assert listed(four, "--sort", "best", "--metric", "error")[-1] in ("zeta", "eta")
    assert four.said.count("4 runs have no metric 'error'; choose one with --metric NAME: loss") == 1
    listed(four, "--sort", "best", "--name", "alpha")
    assert "--metric" not in four.said


def test_ensembles_are_ordered_by_their_best_trial(four):
    run(four, "epsilon", 0, "ensemble:\n  objective: {metric: loss, goal: minimize}\n  sampler: grid\n"
                            "  space: {x: {choice: [5.0, 1.5]}}")
    best = four.json("ls", "--sort", "best")["runs"]
    assert [entry["name"] for entry in best] == ["gamma", "alpha", "delta", "epsilon", "beta"]
    assert best[3]["best"] == {"metric": "loss", "value": 1.5}
    four.program("report(1, mAP=float(sys.argv[2]))\n")
    run(four, "weak", 0.5)
    run(four, "strong", 0.75)
    assert listed(four, "--sort", "best", "--metric", "mAP", "--limit", "2") == ["weak", "strong"]
    assert "epsilon" in listed(four, "--sort", "best", "--metric", "loss", "--limit", "2")


def test_an_ensemble_with_repeats_is_as_good_as_its_best_mean(place):
    place.program("x = float(sys.argv[2])\nrepeat = int(os.environ['SLIPWAY_REPEAT'])\n"
                  "report(1, loss=x + (2 * repeat - 1) * (4 if x == 2.0 else 0.5))\n")
    run(place, "noisy", 0, "ensemble:\n  objective: {metric: loss, goal: minimize}\n  sampler: grid\n  repeats: 2\n"
                           "  space: {x: {choice: [2.0, 1.0]}}")
    assert place.json("ls", "--sort", "best")["runs"][0]["best"] == {"metric": "loss", "value": 1.0}
    best = place.json("status")["trials"]["best"]
    assert (best["objective"], best["trial"], best["parameters"]) == (1.0, 2, {"x": 1.0})
    view = place.json("report", "last")["runs"][0]
    assert (view["best"]["value"], view["best"]["trial"]) == (1.0, 2)


@pytest.mark.parametrize("words, message", [
    (("--state", "runing"), "did you mean 'running'"),
    (("--sort", "bset"), "did you mean 'best'"),
    (("--since", "yesterday"), "2026-11-25"),
    (("--limit", "0"), "limit"),
])
def test_unknown_words_are_errors(place, words, message):
    place.slipway("ls", *words, status=2)
    assert message in place.said


def test_a_tag_that_no_run_has_suggests_the_nearest(four):
    out = four.slipway("ls", "--tag", "papre", "--state", "failed")
    assert "none of 4 runs" in out and "fits --tag papre --state failed\nall of them: slipway ls" in out
    assert "did you mean 'paper'" in four.said


def test_a_tag_where_there_is_none_says_how_to_add_one(place):
    assert place.slipway("ls", "--tag", "paper").startswith("no runs in ")
    assert "tag" not in place.said
    run(place, "alpha", 3)
    assert "none of 1 run in" in place.slipway("ls", "--tag", "paper")
    assert "no run has the tag 'paper', nor any other; add one with: slipway tag RUN +TAG" in place.said


def test_an_option_that_may_be_repeated_takes_one_word(place):
    run(place, "alpha", 3)
    place.slipway("tag", "last", "old", "--remove", "old", status=2)
    place.slipway("tag", "last", "+old")
    place.slipway("tag", "last", "--remove", "old", "new")
    assert place.json("tag", "last")["tags"] == ["new"]
    place.slipway("ls", "--tag", "new", "old", status=2)
    assert "old" in place.said


def test_columns_are_shown_where_there_is_something(place):
    run(place, "alpha", 3)
    assert "tags" not in place.slipway("ls").splitlines()[0]
    place.slipway("tag", "last", "+paper")
    header, line = place.slipway("ls").splitlines()[:2]
    assert "tags" in header and "paper" in line
    place.run().rename(place.runs / "renamed")
    header, line = place.slipway("ls").splitlines()[:2]
    assert "name" in header and "alpha" in line


def test_tags_change_later_and_survive_a_copy(place):
    name = run(place, "alpha", 3, "tags: [draft, old]")
    assert place.slipway("tag", name, "+paper", "v1", "-draft", "--description", "For the paper", "-q").split() == [
        "old", "paper", "v1"]
    place.slipway("tag", "last", "-old", "--json")
    status = place.json("status")
    assert status["tags"] == ["paper", "v1"] and status["description"] == "For the paper"
    assert "For the paper" in place.slipway("status")
    assert place.json("report")["runs"][0]["tags"] == ["paper", "v1"]
    stored = json.loads((place.run() / "tags.json").read_text())
    assert stored["schema"] == "slipway.tags/1"
    assert "tags" not in json.loads((place.run() / "state.json").read_text())
    copy = place.runs / "copied"
    shutil.copytree(place.run(), copy)
    assert place.json("tag", str(copy))["tags"] == ["paper", "v1"]
    place.slipway("resume", name)
    assert place.json("status", name)["tags"] == ["paper", "v1"], "the manager leaves them alone"


@pytest.mark.parametrize("words", [["+-x"], ["+"], ["two words"], ["+" + "x" * 65], ["-missing"], ["--remove", "x"],
                                   ["<b>"], ["é"],
                                   [f"t{number}" for number in range(33)], ["--description", "x" * 2001],
                                   ["--description", "bell \x07"]])
def test_what_is_no_tag_changes_nothing(place, words):
    run(place, "alpha", 3, "tags: [paper]")
    place.slipway("tag", "last", "fine", *words, status=2)
    assert place.json("tag", "last")["tags"] == ["paper"]


def test_damaged_tags_are_no_tags_in_views(place):
    run(place, "alpha", 3)
    for text in ("{", '{"schema": "slipway.tags/9"}', '{"schema": "slipway.tags/1", "tags": [1], "description": ""}'):
        (place.run() / "tags.json").write_text(text)
        assert listed(place) == ["alpha"]
        place.slipway("tag", "last", "+x", status=3)
        assert "remove the file" in place.said


@pytest.mark.parametrize("more, message", [
    ("tags: [ok, 'two words']", "a tag has at most 64"),
    ("tags: [a, a]", "stands here twice"),
    ("tags: [" + ", ".join(f"t{number}" for number in range(33)) + "]", "at most 32 tags"),
    (f"description: {'x' * 2001}", "at most 2000 bytes"),
])
def test_wrong_tags_of_a_spec_are_errors(place, more, message):
    place.spec(more)
    place.slipway("validate", "spec.yaml", status=2)
    assert message in place.said
