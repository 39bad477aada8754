#!/usr/bin/python3
"""The checks of this folder can fail: each is run on a small tree with one fault."""

import pathlib
import tempfile
import unittest
import unittest.mock

import arrows
import causes
import commands
import documents
import json_documents
import links
import messages
import prose
import spelling
import words

GOOD = {
    "core/CMakeLists.txt": "add_library(core error.cpp)  # old.cpp",
    "core/error.h": "/// Errors.\n#pragma once\n",
    "core/error.cpp": '#include "core/error.h"\n',
    "runtime/slipway.h": "#ifndef SLIPWAY_H_\n#define SLIPWAY_H_\n#endif\n",
    "staging/reader/batches.h": "#pragma once\n",
    "tests/core/CMakeLists.txt": "slipway_test(core_tests SOURCES error_test.cpp)",
    "tests/core/error_test.cpp": '#include <gtest/gtest.h>\n#include "core/error.h"\n',
    "README.md": "[core](core/error.h), [web](https://example.org), [here](#top), `[no](link)`\n",
}

MANUAL = """# Commands
## slipway

```
slipway [OPTIONS] COMMAND
```

- `--json`: Print one JSON document
- `--runs-dir TEXT`: Where run folders are

## slipway run

```
slipway run [OPTIONS] spec
```

- `spec`: The experiment
- `--set TEXT`: KEY=VALUE
- `--engine {local,slurm}`: Where to run

## slipway trials

```
slipway trials COMMAND
```

## slipway trials ls

```
slipway trials ls [OPTIONS] [run]
```

- `-n`, `--limit INT`: Show at most so many

## slipway bench

```
slipway bench [OPTIONS] [name]
```
"""
COMMANDS = {
    "docs/reference/cli.md": MANUAL,
    "docs/reference/slipway.schema.json": """{"properties": {
        "launch": {"properties": {"nodes": {}}, "additionalProperties": false},
        "train": {"properties": {"args": {"additionalProperties": {}}}, "additionalProperties": false}},
        "additionalProperties": false}""",
    "docs/reference/workflow.md": "# W\n\n## Top of the file\n\n| `steps` | x |\n\n## A step\n\n"
                                  "| `command`, `experiment` | x |\n| `resources.cpus` | x |\n",
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
        for check in (arrows.check, words.check, links.check, causes.check, json_documents.check, messages.check,
                      prose.check, spelling.check):
            self.assertEqual(self.problems(check), [])

    def test_an_include_against_an_arrow(self):
        self.assert_one(arrows.check, {"core/error.h": '#pragma once\n#include "staging/reader/batches.h"\n'},
                        "core/ may")

    def test_a_part_that_includes_one_above_it(self):
        files = {"launcher/CMakeLists.txt": "cli/a.cpp", "launcher/cli/a.cpp": "", "launcher/cli/a.h": "#pragma once\n",
                 "launcher/plan/plan.h": '#pragma once\n#include "launcher/cli/a.h"\n'}
        self.assert_one(arrows.check, files, "launcher: plan includes cli, which stands above it")

    def test_a_part_without_a_layer(self):
        self.assert_one(arrows.check, {"launcher/attic/a.h": "#pragma once\n"},
                        "launcher: attic has no place in LAYERS")

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
        files["trainers/a.cpp"] = ('#include "staging/reader/batches.h"\n#include "runtime/slipway.h"\n'
                                   '#include <torch/torch.h>\n')
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

    def test_a_branch_on_the_words_of_a_message(self):
        for question in ('state.reason.starts_with("rank ")', "attempt->detail.find(words)",
                         'error.message().find("time limit") != npos', "trial.reason == ensemble::kWaitsInQueue",
                         'std::sscanf(reason.c_str(), "rank %d", &rank)',
                         "std::regex_search(outcome_->detail, pattern)",
                         'answer.starts_with("refused")', 'std::string(error.what()) == "x" || error.what() == "x"'):
            self.assert_one(causes.check, {"core/error.cpp": f"if ({question}) return;\n"}, "core/error.cpp:1: decides")
        for question in ('error.message.startswith("rank")', '"time limit" in run.reason', '"gone" in str(error)',
                         're.search("rank", state.reason)', 'reason == "waits"'):
            self.assert_one(causes.check, {"runtime/a.py": f"\nif {question}:\n    pass\n"}, "runtime/a.py:2: decides")

    def test_what_is_no_branch_on_the_words_of_a_message(self):
        for line in ("text.substr(0, reason.find('\\n'))", "if (reason.empty()) return;",
                     "if (stop == StopReason::kPaused)",
                     "if (file.reason != LeftOutReason::kFolder)", 'name.starts_with("burst:")',
                     "// reason.find(\"x\")", "if (text == state.reason) return;"):
            self.assertEqual(self.problems(causes.check, files={"core/error.cpp": line + "\n"}), [], line)
        files = {"tests/core/error_test.cpp": 'EXPECT_EQ(error.reason.find("x"), 0);\n',
                 "runtime/a.py": 'if "reason" in document:\n    print(document["reason"])\n',
                 "staging/reader/jpeg.cpp": 'torn = reason.find("Premature end") != npos;\n'}
        self.assertEqual(self.problems(causes.check, files=files), [])
        self.assert_one(causes.check, {"staging/reader/jpeg.cpp": "int unused;\n"}, "need not stand in FOREIGN")

    def test_a_message_without_a_next_step(self):
        for thrown in ('throw Error(ErrorKind::kUsage, "no");',
                       'Error error(ErrorKind::kBusy, fmt::format("{}", n), "");',
                       'throw ParameterError(name, "it is twice");', 'throw Error(kind, "no", {});'):
            self.assert_one(messages.check, {"core/a.cpp": thrown + "\n"}, "core/a.cpp:1: has no next step")
        for thrown in ('throw Error(ErrorKind::kInternal, "no");', 'throw Error(ErrorKind::kInterrupted, "ended");',
                       'throw Error(ErrorKind::kUsage, fmt::format("no \'{}\'{}", word, SuggestWord(word, words)));',
                       'throw Error(ErrorKind::kFailed, "no");  // next step: added by Main',
                       'ThrowErrno("cannot open");',
                       'throw Error(ErrorKind::kUsage, "no", "write yes");', '// throw Error(ErrorKind::kUsage, "no");',
                       'Error Refusal(ErrorKind kind, std::string message);'):
            self.assertEqual(self.problems(messages.check, files={"core/a.cpp": thrown + "\n"}), [], thrown)

    def test_a_message_that_a_function_passes_on(self):
        refuse = "void Refuse(std::string why, std::string next = {}) { throw Error(ErrorKind::kUsage, why, next); }\n"
        self.assert_one(messages.check, {"core/a.cpp": refuse + 'void F() { Refuse("no"); }\n'},
                        "core/a.cpp:2: has no next")
        self.assert_one(messages.check, {"core/a.cpp": refuse + 'void F() { Refuse("no.", "x"); }\n'},
                        "core/a.cpp:2: ends")
        refuse = refuse.replace("{})", '"stop")')
        self.assertEqual(self.problems(messages.check, files={"core/a.cpp": refuse + 'void F() { Refuse("no"); }\n'}),
                         [])

    def test_a_message_of_the_wrong_form(self):
        for message, expected in (
                ('fmt::format("{} of {}", a)', "2 places for 1 values"),
                ('fmt::format("{0}, {0}", a, b)', "1 places for 2"),
                ('"it ends" " here."', "ends with a full stop"), ('"' + "x" * 361 + '"', "takes 4 lines"),
                ('"a\\nb\\nc\\nd"', "takes 4 lines"), ('"nobody has it"', "'nobody' is no word"),
                ('late ? "it is late" : "it is early."', "ends with a full stop"),
                ('"it has " + name + " of " + fmt::format("{}", a, b)', "1 places for 2 values")):
            files = {"core/a.cpp": f'throw Error(ErrorKind::kUsage, {message}, "stop");\n'}
            self.assert_one(messages.check, files, expected)
        for message in ('fmt::format("{0} {1:.{2}f} {{}}", a, b, c)', 'fmt::format("{:.{}f}", a, 2)',
                        "name + \" is old\"", 'R"("a" is no word)"'):
            files = {"core/a.cpp": f'throw Error(ErrorKind::kUsage, {message}, "stop");\n'}
            self.assertEqual(self.problems(messages.check, files=files), [], message)

    def test_too_many_messages_that_no_rule_sees(self):
        files = {"core/a.cpp": 'throw Error(ErrorKind::kUsage, why, "stop");\n' * (messages.MOST_ELSEWHERE + 1)}
        self.assert_one(messages.check, files, "messages are made elsewhere")
        marked = 'throw Error(ErrorKind::kUsage, "no");  // next step: added by F\n'
        files = {"core/a.cpp": marked * (messages.MOST_ADDED + 1)}
        self.assert_one(messages.check, files, "next steps are added by callers")

    def document_problems(self, code, page, **more):
        files = {"core/a.cpp": code, "docs/reference/a.md": page, **more.get("files", {})}
        return self.problems(json_documents.check, files=files)

    def test_a_document_that_no_page_describes(self):
        code = 'Json a{{"schema", "slipway.a/1"}, {"x", 1}};\n'
        self.assertEqual(self.document_problems(code, "none\n"),
                         ["slipway.a/1: stands on no reference page, not on one"])
        page = "# `slipway.a/1`\n| `x` | number |\n"
        self.assertEqual(self.document_problems(code, page), [])
        both = self.document_problems(code, page, files={"docs/reference/b.md": page})
        self.assertEqual(both, ["slipway.a/1: stands on docs/reference/a.md and docs/reference/b.md, not on one"])

    def test_a_page_of_a_document_that_is_not_written(self):
        self.assertEqual(self.document_problems("", "`slipway.old-one/2`\n"),
                         ["docs/reference/a.md: names slipway.old-one/2, which the code lacks"])

    def test_members_of_documents(self):
        for code in ('const Json a{{"schema", "slipway.a/1"}, {"x", f("y")}, {"z", {{"inner", 1}}}};',
                     'void F() { Json a{{"schema", "slipway.a/1"}, {"x", 1}}; if (b) a["z"] = 2; }\n'
                     'void G() { a["u"] = 1; }',
                     'void F() { auto a = G(); a["schema"] = "slipway.a/1"; a["x"] = 1; a["z"] = 2; }',
                     'void P(const char* s) { Print(Json{{"schema", s}, {"x", 1}, {"z", 1}}); }\n'
                     'void F() { P("slipway.a/1"); }',
                     'template <class V, MaybeConst<A> S>\nvoid Visit(V& visit, S& a) { visit("x", a.x); visit("z", '
                     '1); }\n'
                     'constexpr auto kASchema = "slipway.a/1"; auto b = WriteFields(kASchema, a);'):
            whole = self.document_problems(code, "# `slipway.a/1`\n| `x`, `z[].inner` | text | `kind` |\n")
            self.assertEqual(whole, [], code)
            lacks = self.document_problems(code, "# `slipway.a/1`\n| `x` | text |\n# Other\n`z`\n")
            self.assertEqual(lacks, ["docs/reference/a.md: slipway.a/1 lacks z"], code)
            more = self.document_problems(code, "# `slipway.a/1`\n| `x` | text |\n| `z`, `w` | text |\n")
            self.assertEqual(more, ["docs/reference/a.md: slipway.a/1 has w, which the code does not write"], code)
        code = 'D = {"schema": "slipway.a/1", "x": {"y": 1}, "z": [f("u", 1)]}\n'
        lacks = self.document_problems("", "# `slipway.a/1`\n| `x` |\n", files={"bench/a.py": code})
        self.assertEqual(lacks, ["docs/reference/a.md: slipway.a/1 lacks z"])

    def test_an_exit_code_without_a_row(self):
        files = {"core/error.h": "/// Errors.\n#pragma once\nenum class ErrorKind {\n  kFailed = 1,  ///< a\n"
                                 "  kBusy = 4  ///< b\n};\n",
                 "core/error.cpp": '#include "core/error.h"\ncase ErrorKind::kFailed: return "failed";\n'
                                   'case ErrorKind::kBusy: return "busy";\n',
                 "docs/reference/exit-codes.md": "| 1 | `failed` | x |\n"}
        self.assert_one(json_documents.check, files, "exit-codes.md: has no row for 4, busy")

    def test_a_dead_link(self):
        self.assert_one(links.check, {"docs/a.md": "[x](../core/none.h#part)"}, "../core/none.h")

    def test_a_sentence_that_is_too_long(self):
        page = " ".join(f"word{number}" for number in range(41)) + ".\n" + "Short one. " * 60
        self.assert_one(prose.check, {"docs/a.md": page}, "docs/a.md: a sentence of 41 words")

    def test_a_table_cell_that_is_too_long(self):
        self.assert_one(prose.check, {"docs/a.md": "| " + "word " * 16 + "| b |\n"},
                        "docs/a.md: a table cell of 16 words")

    def test_a_word_that_is_ours_alone(self):
        self.assert_one(prose.check, {"docs/a.md": "The keeper waits.\n"}, "'keeper' is no word of the field")
        self.assertEqual(self.problems(prose.check, files={"docs/a.md": "Call `keeper`.\n```\nkeeper\n```\n"}), [])

    def test_sentences_that_are_long_as_a_rule(self):
        page = "".join(" ".join(["word"] * 16) + ". " for _ in range(20))
        self.assert_one(prose.check, {"docs/a.md": page}, "the median of a sentence is 16")

    def test_a_long_line_of_the_changelog(self):
        self.assert_one(prose.check, {"CHANGELOG.md": "- " + "x" * 99 + "\n"}, "CHANGELOG.md:1: 101 characters")

    def test_guides_that_are_hard_to_read(self):
        page = "Incomprehensible internationalization necessitates extraordinary interoperability. " * 9
        self.assert_one(prose.check, {"docs/how-to/a.md": page}, "a Flesch reading ease of")

    def test_words_that_are_misspelled(self):
        files = {"docs/a.md": "\nRanks recieve.\n", "core/error.cpp": "// The seperate one.\n",
                 "launcher/a.py": 'say("seperate")\n', ".hidden": "seperate\n",
                 "tests/core/error_test.cpp": "// The seperate one.\n"}
        self.assertEqual(sorted(self.problems(spelling.check, files=files)), [
            ".hidden:1: seperate ==> separate", "core/error.cpp:1: seperate ==> separate",
            "docs/a.md:2: recieve ==> receive", "launcher/a.py:1: seperate ==> separate",
            "tests/core/error_test.cpp:1: seperate ==> separate"])

    def test_what_is_no_misspelled_word(self):
        files = {"core/error.cpp": "return kOwn + RecieveAll(InFlight);  // SELECT iif(a, b, c)\n",
                 "tests/core/error_test.cpp": 'Suggest("seperate", R"("seperate")");\n',
                 "tests/launcher/golden/a.yaml": "comand: x\n"}
        self.assertEqual(self.problems(spelling.check, files=files), [])

    def problems_of_page(self, page):
        return self.problems(commands.check, files={**COMMANDS, "docs/a.md": page})

    def test_commands_that_exist(self):
        self.assertEqual(self.problems_of_page(
            "Use `slipway trials ls`.\n```\n"
            "FOO=1 slipway --json --runs-dir x run a.yaml --set train.args.lr=1 | jq .  # slipway no\n"
            "slipway trials ls -n 3 last && cat <(slipway run --engine=slurm a.yaml)\n```\n"
            "```\n$ slipway run a.yaml\nslipway prints this\n```\n```yaml\nlaunch: {nodes: 2}\n```\n"), [])

    def test_commands_that_do_not_exist(self):
        for line, expected in {
                "slipway walk a.yaml": "there is no command ' walk'",
                "slipway trials lst": "there is no command 'trials lst'",
                "x=$(slipway run a.yaml --sett y)": "there is no option --sett",
                "slipway run a.yaml --engine pbs": "--engine does not take 'pbs'",
                "slipway run a.yaml --set launch.node=2": "the spec has no field 'launch.node'",
                "slipway run a.yaml \\\n  b.yaml": "'run' takes 1 words, not 2",
                "slipway run": "'run' needs 1 words",
                "slipway bench a --fast": "there is no benchmark 'a'",
                "cd x && slipway trials ls -n": "-n has no value"}.items():
            with self.subTest(line):
                problem, = self.problems_of_page(f"```\n{line}\n```\n")
                self.assertTrue(problem.startswith("docs/a.md:2: ") and problem.endswith(expected), problem)

    def test_a_spec_with_an_unknown_field(self):
        problem, = self.problems_of_page("```yaml\nlaunch: {nodes: 2}\ntrain: {arg: 1}\n```\n")
        self.assertEqual(problem, "docs/a.md:1: the spec has no field 'train.arg'")

    def test_a_workflow_with_an_unknown_field(self):
        begin = "```yaml\nsteps:\n  a: {command: [x], resources: {cpus: 1}}\n  b: {experiment: {launch: {nodes: 2}}}\n"
        self.assertEqual(self.problems_of_page(begin + "```\n"), [])
        for line, field in {"c: {comand: [x]}": "c.comand", "c: {resources: {cpu: 1}}": "c.resources.cpu",
                            "c: {experiment: {launch: {node: 2}}}": "c.experiment.launch.node"}.items():
            with self.subTest(line):
                problem, = self.problems_of_page(begin + f"  {line}\n```\n")
                self.assertEqual(problem, f"docs/a.md:1: the spec has no field 'steps.{field}'")

    def test_a_mark_that_is_unknown(self):
        self.assertIn("no reason", *self.problems_of_page("<!-- needs: luck -->\n```\nslipway run a.yaml\n```\n"))
        self.assertIn("no mark", *self.problems_of_page("<!-- setups: a -->\n```\nslipway run a.yaml\n```\n"))

    def test_which_commands_of_a_page_run(self):
        run, not_run, part, output = documents.blocks_of(
            "```\nslipway run a.yaml\n```\n<!-- needs: slurm -->\n```\nslipway run a.yaml\n```\n"
            "<!-- needs: slurm (run) -->\n```\nslipway trials ls\nslipway run a.yaml\n```\n"
            "<!-- output -->\n```\nslipway run a.yaml\n```\n")
        self.assertEqual([block.runs() for block in (run, not_run, part, output)], [True, False, True, False])
        self.assertEqual([part.can_run(command) for _, command in part.commands()], [True, False])


if __name__ == "__main__":
    unittest.main()
