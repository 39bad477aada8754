#!/usr/bin/python3
"""The checks of this folder can fail: each is run on a small tree with one fault."""

import pathlib
import tempfile
import unittest
import unittest.mock

import arrows
import links
import words

GOOD = {
    "core/CMakeLists.txt": "add_library(core error.cpp)  # old.cpp",
    "core/error.h": "/// Errors.\n#pragma once\n",
    "core/error.cpp": '#include "core/error.h"\n',
    "runtime/slipway.h": "#ifndef SLIPWAY_H_\n#define SLIPWAY_H_\n#endif\n",
    "staging/reader/reader.h": "#pragma once\n",
    "staging/reader/batches.h": "#pragma once\n",
    "tests/core/CMakeLists.txt": "slipway_test(core_tests SOURCES error_test.cpp)",
    "tests/core/error_test.cpp": '#include <gtest/gtest.h>\n#include "core/error.h"\n',
    "README.md": "[core](core/error.h), [web](https://example.org), [here](#top), `[no](link)`\n",
}


class Checks(unittest.TestCase):
    def problems(self, check, **changes):
        """What `check` says of the good tree with some files added, named by their path with _ for / and ."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, text in {**GOOD, **changes.get("files", {})}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check(root)

    def assert_one(self, check, files, expected):
        problems = self.problems(check, files=files)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(expected, problems[0])

    def test_the_good_tree_has_no_problems(self):
        for check in (arrows.check, words.check, links.check):
            self.assertEqual(self.problems(check), [])

    def test_an_include_against_an_arrow(self):
        self.assert_one(arrows.check, {"core/error.h": '#pragma once\n#include "staging/reader/reader.h"\n'}, "core/ may")

    def test_a_part_that_includes_one_above_it(self):
        files = {"launcher/CMakeLists.txt": "cli/a.cpp", "launcher/cli/a.cpp": "", "launcher/cli/a.h": "#pragma once\n",
                 "launcher/plan/plan.h": '#pragma once\n#include "launcher/cli/a.h"\n'}
        self.assert_one(arrows.check, files, "launcher: plan includes cli, which stands above it")

    def test_a_part_without_a_layer(self):
        self.assert_one(arrows.check, {"launcher/attic/a.h": "#pragma once\n"}, "launcher: attic has no place in LAYERS")

    def test_a_loop_between_folders(self):
        files = {f"core/{a}/{a}.h": f'#pragma once\n#include "core/{b}/{b}.h"\n' for a, b in ("xy", "yz", "zx")}
        self.assert_one(arrows.check, files, "core: a loop: ")

    def test_a_loop_with_the_folder_above(self):
        files = {"core/up.h": '#pragma once\n#include "core/x/down.h"\n',
                 "core/x/down.h": '#pragma once\n#include "core/error.h"\n'}
        self.assert_one(arrows.check, files, "core: a loop: ")

    def test_the_table_of_parts(self):
        includes = {"core/a.h": [], "runtime/a.h": ["core/a.h"], "runtime/watch/b.h": ["runtime/a.h"]}
        with unittest.mock.patch("source_tree.text_of", return_value="x\ny\n"):
            lines = list(arrows.table(pathlib.Path("."), includes))
        self.assertIn("runtime" + " " * 28 + "      4 lines     2 files  -> core", lines)
        self.assertIn("runtime/watch" + " " * 22 + "      2 lines     1 files  -> .", lines)

    def test_a_trainer_that_reaches_into_the_core(self):
        files = {"trainers/CMakeLists.txt": "a.cpp", "trainers/a.cpp": '#include "core/error.h"\n'}
        self.assert_one(arrows.check, files, "trainers/ may")
        files["trainers/a.cpp"] = '#include "staging/reader/batches.h"\n#include "runtime/slipway.h"\n#include <torch/torch.h>\n'
        self.assertEqual(self.problems(arrows.check, files=files), [])

    def test_a_library_away_from_home(self):
        for header in ("mpi.h", "slurm/slurm.h", "SQLiteCpp/Database.h", "hdf5.h", "yaml-cpp/yaml.h", "CLI/CLI.hpp",
                       "torch/torch.h", "gtest/gtest.h"):
            files = {"core/error.cpp": f'#include "core/error.h"\n#  include <{header}>\n'}
            self.assert_one(arrows.check, files, header)

    def test_an_include_that_is_no_path_from_the_root(self):
        problems = self.problems(arrows.check, files={"core/error.cpp": '#include "error.h"\n'})
        self.assertTrue(any("not a path from the root" in problem for problem in problems), problems)

    def test_a_test_in_no_build_file(self):
        self.assert_one(arrows.check, {"tests/core/lost_test.cpp": ""}, "lost_test.cpp: is in no build file")

    def test_a_source_named_only_in_a_comment(self):
        self.assert_one(arrows.check, {"core/old.cpp": ""}, "old.cpp: is in no build file")

    def test_a_header_without_pragma_once(self):
        self.assert_one(arrows.check, {"core/bare.h": "/// Bare.\n"}, "bare.h: has no #pragma once")
        self.assert_one(arrows.check, {"runtime/slipway.h": "#pragma once\n"}, "has no #ifndef SLIPWAY_H_")

    def test_an_import_of_the_python_face_away_from_home(self):
        face = "runtime/python/slipway/"
        for text in ("import torch\n", "def late():\n    from numpy import zeros\n", "import requests\n"):
            self.assert_one(arrows.check, {face + "teams.py": text}, "teams.py: imports")
        good = "import os\nfrom slipway.errors import StateError\nfrom . import errors\nimport torch.nn\n"
        self.assertEqual(self.problems(arrows.check, files={face + "torch.py": good}), [])

    def test_a_python_test_in_no_build_file(self):
        files = {"tests/runtime/python/CMakeLists.txt": "slipway_python_test(found_test)  # lost_test",
                 "tests/runtime/python/found_test.py": "", "tests/runtime/python/lost_test.py": ""}
        self.assert_one(arrows.check, files, "lost_test.py: is in no build file")

    def test_words(self):
        self.assert_one(words.check, {"core/error.h": "// TODO later\n"}, "core/error.h:1: TODO")
        self.assert_one(words.check, {"docs/a.md": "\nin /home/me/x\n"}, "docs/a.md:2: /home/me")
        self.assertEqual(self.problems(words.check, files={"docs/a.md": "a/home/b mktemp XXXXXX $HOME/root/x"}), [])

    def test_a_dead_link(self):
        self.assert_one(links.check, {"docs/a.md": "[x](../core/none.h#part)"}, "../core/none.h")


if __name__ == "__main__":
    unittest.main()
