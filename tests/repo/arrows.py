#!/usr/bin/python3
"""The arrows of the house: which folder may include which, and where each library has its home.

Also: every source is named in a build file, and every header can be included twice.
"""

import ast
import pathlib
import re
import sys

import house

BELOW_RUN = {"launcher/trials", "launcher/plan", "launcher/spec", "launcher/nodes", "launcher/engines", "launcher/monitor",
             "launcher/shim", "ensemble", "staging", "runtime/watch", "core"}
BELOW_SEARCH = {"ensemble/space", "ensemble/space.h", "ensemble/trial_table.h", "ensemble/random.h", "core"}
BELOW_METHODS = {"ensemble/search/proposer.h", "ensemble/search/results", "ensemble/search/cube", "ensemble/search/numbers",
                 *BELOW_SEARCH}

# Folder -> what its sources may include with "...": a folder, or a single header.
ARROWS = {
    "core": {"core"},
    "runtime": {"runtime", "core"},
    "staging": {"staging", "core"},
    "ensemble": {"ensemble", "core"},
    # Within the search, from the bottom up: numbers, the cube that methods compute in, what ended trials say, the methods.
    "ensemble/search": {"ensemble/search", *BELOW_SEARCH},
    "ensemble/search/numbers": {"ensemble/search/numbers", *BELOW_SEARCH},
    "ensemble/search/cube": {"ensemble/search/cube", *BELOW_SEARCH},
    "ensemble/search/results": {"ensemble/search/results", "ensemble/search/cube", "ensemble/search/numbers",
                                *BELOW_SEARCH},
    "ensemble/search/gaussian_process": {"ensemble/search/gaussian_process", "ensemble/search/steps.h",
                                         "ensemble/search/trust_region.h", *BELOW_METHODS},
    "ensemble/search/quadratic": {"ensemble/search/quadratic", *BELOW_METHODS},
    "ensemble/search/evolution": {"ensemble/search/evolution", *BELOW_METHODS},
    "ensemble/search/tpe": {"ensemble/search/tpe", *BELOW_METHODS},
    "launcher": {"launcher", "ensemble", "staging", "runtime", "core"},
    # Within the launcher, from the bottom up.
    "launcher/shim": {"launcher/shim"},
    "launcher/supervisor": {"launcher/supervisor", "launcher/shim"},
    "launcher/monitor": {"launcher/monitor", "runtime", "core"},
    "launcher/engines": {"launcher/engines", "launcher/monitor", "launcher/shim", "launcher/supervisor", "core"},
    "launcher/nodes": {"launcher/nodes", "launcher/engines/local", "staging/network", "runtime/watch", "core"},
    "launcher/spec": {"launcher/spec", "launcher/engines", "launcher/monitor", "ensemble", "staging", "runtime", "core"},
    "launcher/plan": {"launcher/plan", "launcher/spec", "launcher/engines", "ensemble", "staging", "runtime", "core"},
    "launcher/doctor": {"launcher/doctor", "launcher/spec", "launcher/engines", "ensemble", "staging", "runtime/slipway.h",
                        "core"},
    "launcher/plots": {"launcher/plots", "ensemble", "core"},
    "launcher/trials": {"launcher/trials", "ensemble", "core"},
    "launcher/run": {"launcher/run", *BELOW_RUN},
    # Within it: what lies in a run's folder, then what makes an attempt, then jobs and trials, then the manager of all.
    "launcher/run/folder": {"launcher/run/folder", *BELOW_RUN},
    "launcher/run/ranks": {"launcher/run/ranks", "launcher/run/folder", "launcher/run/interrupt.h", *BELOW_RUN},
    "launcher/run/results": {"launcher/run/results", "launcher/run/folder", "launcher/run/interrupt.h", *BELOW_RUN},
    "launcher/run/data": {"launcher/run/data", "launcher/run/folder", "launcher/run/interrupt.h", *BELOW_RUN},
    "launcher/run/ending": {"launcher/run/ending", "launcher/run/run_context.h", *BELOW_RUN},
    "launcher/run/batch": {"launcher/run/batch", "launcher/run/data", "launcher/run/folder", *BELOW_RUN},
    "launcher/run/trials": {"launcher/run/trials", "launcher/run/batch", "launcher/run/ending", "launcher/run/ranks",
                            "launcher/run/results", "launcher/run/folder", "launcher/run/instance_log.h",
                            "launcher/run/run_context.h", *BELOW_RUN},
    "launcher/explain": {"launcher/explain", "launcher/run", "launcher/trials", "launcher/plan", "launcher/engines",
                         "launcher/monitor", "ensemble", "core"},
    "launcher/commands": {"launcher/commands", "launcher/doctor", "launcher/explain", "launcher/run", "launcher/trials",
                          "launcher/plots", "launcher/plan", "launcher/spec", "launcher/monitor", "ensemble", "staging",
                          "core"},
    "trainers": {"trainers", "runtime/slipway.h", "runtime/slipway.hpp", "staging/reader/batches.h"},
    # The readers' faces throw the error of the house.
    "trainers/common": {"trainers/common", "runtime/slipway.h", "runtime/slipway.hpp", "staging/reader/batches.h",
                        "core/error.h"},
    "tests/core": {"tests", "core"},
    "tests/runtime": {"tests", "runtime", "core"},
    "tests/staging": {"tests", "launcher/commands", "staging", "core"},
    "tests/ensemble": {"tests", "launcher/commands", "launcher/plots", "launcher/trials", "ensemble", "core"},
    "tests/trainers": {"tests", "trainers/common", "ensemble", "staging", "core"},
    "tests": {"tests", "launcher", "ensemble", "staging", "runtime", "core"},
}

# A library's headers -> the folders or files that may include them.
HOMES = {
    r"mpi\.h": {"runtime", "tests/runtime", "tests/bench", "tests/slurm", "tests/support"},
    r"slurm/.*": {"launcher/engines/slurm/module"},
    r"sqlite3\.h|SQLiteCpp/.*": {"ensemble/store", "tests/ensemble", "tests/bench/ensemble"},
    r"boost/.*|LBFGSB?\.h": {"ensemble/search"},
    r"(unsupported/)?Eigen/.*": {"ensemble/search", "staging/make"},
    r"hdf5(_hl)?\.h|H5.*\.h": {"staging/formats", "tests/staging"},
    r"zlib\.h": {"staging", "tests/staging"},
    r"sodium\.h": {"staging/network"},
    r"turbojpeg\.h": {"staging/reader", "staging/make", "tests/staging"},
    r"protozero/.*": {"staging/formats", "staging/dataset", "tests/staging"},
    r"yaml-cpp/.*": {"launcher/spec", "tests/launcher"},
    r"pcre2\.h": {"launcher/spec", "launcher/monitor"},
    r"CLI/.*": {"launcher/cli", "tests/bench"},
    r"hwloc\.h": {"runtime/group"},
    r"(simgrid|smpi)/.*": {"tests/bench/simulate"},
    r"(torch|ATen|c10)/.*": {"trainers", "tests/trainers"},
    r"spdlog/.*": {"core"},
    r"(gtest|gmock)/.*|rapidcheck.*": {"tests"},
}

# The Python face: a package -> the files or folders that may import it. The standard library is free.
PYTHON_FACES = {"runtime/python", "staging/python", "trainers/python"}
PYTHON_HOMES = {
    "slipway": PYTHON_FACES,
    "numpy": {"staging/python/slipway/data.py", "runtime/python/slipway/memory.py", "runtime/python/slipway/_arrays.py",
              "trainers/python"},
    "torch": {"staging/python/slipway/data.py", "runtime/python/slipway/memory.py", "runtime/python/slipway/torch.py",
              "runtime/python/slipway/compat/horovod", "trainers/python"},
}

SOURCES = {".h", ".hpp", ".c", ".cpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
SOURCE_IN_BUILD_FILE = re.compile(r"(\$\{\w+\}/)?([\w./+-]+\.(?:cpp|c))\b")
# For C compilers too: they have an include guard.
C_HEADERS = {"runtime/slipway.h": "SLIPWAY_H_", "staging/reader/slipway_reader.h": "SLIPWAY_READER_H_"}


def lies_in(name, places):
    """True when `name` is one of `places` or below one."""
    return any(name == place or name.startswith(place + "/") for place in places)


def folder_of(name):
    """The longest key of ARROWS that holds `name`, or None."""
    holding = [folder for folder in ARROWS if lies_in(name, {folder})]
    return max(holding, key=len, default=None)


def wrong_includes(root, name):
    for kind, header in INCLUDE.findall(house.text_of(root, name)):
        folder = folder_of(name)
        if kind == '"' and folder and not lies_in(header, ARROWS[folder]):
            yield f'{name}: includes "{header}", but {folder}/ may include only {", ".join(sorted(ARROWS[folder]))}'
        if kind == '"' and not (root / header).is_file():
            yield f'{name}: includes "{header}", which is not a path from the root of the repository'
        for pattern, homes in HOMES.items():
            if re.fullmatch(pattern, header) and not lies_in(name, homes):
                yield f"{name}: includes <{header}>, whose home is {', '.join(sorted(homes))}"


def imported(tree):
    """The packages that a Python file imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def wrong_imports(root, name):
    for package in sorted(set(imported(ast.parse(house.text_of(root, name))))):
        homes = PYTHON_HOMES.get(package, set())
        if package not in sys.stdlib_module_names and not lies_in(name, homes):
            yield f"{name}: imports {package}, whose home is {', '.join(sorted(homes)) or 'nowhere here'}"


def build_files(root, names):
    """Folder and text of each build file, without comments."""
    for name in names:
        if name.name == "CMakeLists.txt" or name.suffix == ".cmake":
            yield name.parent, re.sub(r"#.*", "", house.text_of(root, name))


def lost_python_test(root, name, names):
    """True for a test that the build file beside it does not name."""
    texts = [text for folder, text in build_files(root, names) if folder == name.parent]
    return not any(re.search(rf"\b{name.stem}\b", text) for text in texts)


def built_sources(root, names):
    """Every source that a build file names."""
    built = set()
    for folder, text in build_files(root, names):
        for variable, source in SOURCE_IN_BUILD_FILE.findall(text):
            base = pathlib.PurePosixPath(".") if "PROJECT_SOURCE_DIR" in variable else folder
            built.add(str((root / base / source).resolve()))
    return built


def check(root):
    problems = []
    names = house.files_of(root)
    built = built_sources(root, names)
    for name in names:
        if name.suffix == ".py" and lies_in(str(name), PYTHON_FACES):
            problems += wrong_imports(root, str(name))
        if lies_in(str(name), {"tests"}) and name.match("*_test.py") and lost_python_test(root, name, names):
            problems.append(f"{name}: is in no build file")
        if name.suffix not in SOURCES or not folder_of(str(name)):
            continue
        problems += wrong_includes(root, str(name))
        if name.suffix in {".c", ".cpp"} and str((root / name).resolve()) not in built:
            problems.append(f"{name}: is in no build file")
        guard = f"#ifndef {C_HEADERS[str(name)]}" if str(name) in C_HEADERS else "#pragma once"
        if name.suffix in {".h", ".hpp"} and guard not in house.text_of(root, name):
            problems.append(f"{name}: has no {guard}")
    return problems


if __name__ == "__main__":
    house.run(check)
