#!/usr/bin/python3
"""Which folder may include which, and where each library is used. Prints the parts with their sizes and arrows.

Also: every source is named in a build file, and every header can be included twice.
"""

import ast
import collections
import graphlib
import pathlib
import re
import sys

import source_tree

# Folder -> what its sources may include with "...": a folder, or a single header. The longest key that fits counts.
ARROWS = {
    "core": {"core"},
    "runtime": {"runtime", "core"},
    "staging": {"staging", "core"},
    "ensemble": {"ensemble", "core"},
    "launcher": {"launcher", "ensemble", "staging", "runtime", "core"},
    "launcher/ranks": {"launcher/ranks", "staging/network", "runtime/watch", "core"},
    "launcher/ranks/shim": {"launcher/ranks/shim", "core/lines.h"},
    "launcher/ranks/supervisor": {"launcher/ranks/supervisor", "launcher/ranks/shim", "core/lines.h"},
    "launcher/cluster": {"launcher/cluster", "core"},
    "launcher/trials": {"launcher/trials", "ensemble", "core"},
    "launcher/cli/doctor": {"launcher/cli/doctor", "launcher/spec", "launcher/cluster", "launcher/ranks", "ensemble",
                            "staging", "runtime/slipway.h", "runtime/device", "runtime/exchange/settings.h",
                            "runtime/memory/peer_copies.h", "core"},
    "trainers": {"trainers", "runtime/slipway.h", "runtime/slipway.hpp", "staging/reader/batches.h"},
    # The two public faces throw errors of core.
    "trainers/common": {"trainers/common", "runtime/slipway.h", "runtime/slipway.hpp", "staging/reader/batches.h",
                        "core/error.h"},
    "bench": {"bench", "ensemble", "staging", "runtime", "core"},
    "tests/core": {"tests", "core"},
    "tests/runtime": {"tests", "runtime", "core"},
    "tests/staging": {"tests", "bench", "launcher/cli/commands", "staging", "core"},
    "tests/ensemble": {"tests", "bench", "launcher/cli/commands", "launcher/trials", "ensemble", "core"},
    "tests/trainers": {"tests", "trainers/common", "ensemble", "staging", "core"},
    "tests": {"tests", "bench", "launcher", "ensemble", "staging", "runtime", "core"},
}

# Folder -> its parts from the bottom up; `.` stands for the sources that lie in the folder itself. A part may include
# what stands before it. Parts of folders that are not named here have no loop either.
LAYERS = {
    ".": ["core", "runtime", "staging", "ensemble", "launcher", "bench", "templates", "trainers", "tests"],
    "runtime": [".", "memory", "device", "selection", "reduction", "watch", "report", "group", "collectives", "stop", "trace",
                "checkpoint", "exchange", "server", "api", "check"],
    "staging": ["formats", "foreign", "dataset", "convert", "plan", "reader", "make", "copy", "generation", "out",
                "network", "stream"],
    "ensemble": ["model", "space", "search", "analysis", "samplers", "schedulers", "store", "exchange", "study",
                 "manager"],
    "ensemble/search": ["numbers", "cube", "results", ".", "gaussian_process", "quadratic", "evolution", "tpe",
                        "portfolio"],
    "launcher": ["ranks", "cluster", "trials", "spec", "workflow", "plan", "provenance", "run_folder", "attempt", "notify",
                 "exports", "run", "view", "serve", "watch", "cli", "."],
    "launcher/ranks": ["shim", "supervisor", "monitor", "local", "nodes"],
    "launcher/cluster": [".", "module", "helper"],
    "launcher/run": ["context", "results", "data", "batch", "ending", "trials", ".", "workflow"],
    "launcher/cli": ["doctor", "explain", "remote", "commands", "."],
}

# A library's headers -> the folders or files that may include them.
HOMES = {
    r"mpi\.h": {"runtime", "tests/runtime", "bench", "tests/slurm", "tests/support"},
    r"slurm/.*": {"launcher/cluster/module"},
    r"sqlite3\.h|SQLiteCpp/.*": {"ensemble/store", "ensemble/exchange", "tests/ensemble", "bench/ensemble"},
    r"boost/(asio|beast)/.*": {"launcher/serve/http_server.cpp"},
    r"boost/(?!asio/|beast/).*|LBFGSB?\.h": {"ensemble/search"},
    r"Random123/.*": {"ensemble/model/random.cpp"},
    r"(unsupported/)?Eigen/.*": {"ensemble/search", "staging/make"},
    r"hdf5(_hl)?\.h|H5.*\.h": {"staging/formats", "tests/staging"},
    r"minizip/.*": {"staging/formats/npy.cpp", "staging/formats/zip_writer.cpp"},
    r"archive(_entry)?\.h": {"staging/formats/tar.cpp"},
    r"zlib\.h": {"staging", "tests/staging"},
    r"sodium\.h": {"staging/network", "launcher/view/packed_text.cpp", "launcher/workflow/sha256.cpp"},
    r"turbojpeg\.h": {"staging/reader", "staging/make", "tests/staging"},
    r"protozero/.*": {"staging/formats", "staging/dataset", "tests/staging"},
    r"yaml-cpp/.*": {"launcher/spec", "tests/launcher"},
    r"pcre2\.h": {"launcher/spec", "launcher/ranks/monitor"},
    r"n?curses(w)?(/.*)?\.h|term\.h": {"launcher/watch/terminal.cpp"},
    r"CLI/.*": {"launcher/cli", "bench"},
    r"curl/.*": {"launcher/notify/helper"},
    r"hwloc\.h": {"runtime/group"},
    r"git2\.h": {"launcher/provenance/helper"},
    r"(simgrid|smpi)/.*": {"bench/simulate"},
    r"(torch|ATen|c10)/.*": {"trainers", "tests/trainers"},
    r"spdlog/.*": {"core"},
    r"(gtest|gmock)/.*|rapidcheck.*": {"tests"},
}

# The Python face: a package -> the files or folders that may import it. The standard library is free.
PYTHON_FACES = {"runtime/python", "staging/python", "trainers/python"}
PYTHON_HOMES = {
    "slipway": PYTHON_FACES,
    "numpy": {"staging/python/slipway/data", "runtime/python/slipway/memory.py", "runtime/python/slipway/_arrays.py",
              "runtime/python/slipway/_crc32c.py", "runtime/python/slipway/checkpoint",
              "trainers/python"},
    "torch": {"staging/python/slipway/data", "runtime/python/slipway/memory.py", "runtime/python/slipway/torch.py",
              "runtime/python/slipway/torch_backend", "runtime/python/slipway/torch_training",
              "runtime/python/slipway/checkpoint", "runtime/python/slipway/_skeletons.py",
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
    for kind, header in INCLUDE.findall(source_tree.text_of(root, name)):
        folder = folder_of(name)
        if kind == '"' and folder and not lies_in(header, ARROWS[folder]):
            yield f'{name}: includes "{header}", but {folder}/ may include only {", ".join(sorted(ARROWS[folder]))}'
        if kind == '"' and not (root / header).is_file():
            yield f'{name}: includes "{header}", which is not a path from the root of the repository'
        for pattern, homes in HOMES.items():
            if re.fullmatch(pattern, header) and not lies_in(name, homes):
                yield f"{name}: includes <{header}>, whose home is {', '.join(sorted(homes))}"


def part_of(name, folder):
    """The part of `folder` that holds `name`: a folder in it, or "." for what lies in it. None: it is elsewhere."""
    if folder == ".":
        return name.split("/")[0]
    if not name.startswith(folder + "/"):
        return None
    inside = name[len(folder) + 1:].split("/")
    return inside[0] if len(inside) > 1 else "."


def arrows_between_parts(includes, folder):
    """{part: the parts of `folder` that it includes}; `includes` maps each source to what it includes."""
    arrows = collections.defaultdict(set)
    for name, headers in includes.items():
        part = part_of(name, folder)
        if part:
            arrows[part] |= {other for header in headers if (other := part_of(header, folder)) not in (None, part)}
    return arrows


def folders_of(includes):
    """The root, and every folder that holds sources or folders with sources; tests are no parts of the product."""
    folders = {str(parent) for name in includes for parent in pathlib.PurePosixPath(name).parents}
    return sorted(folder for folder in folders if not lies_in(folder, {"tests"}))


def against_the_layers(arrows, folder):
    """Arrows that point upwards in LAYERS."""
    order = {part: place for place, part in enumerate(LAYERS[folder])}
    for part in sorted(arrows):
        if part not in order:
            yield f"{folder}: {part} has no place in LAYERS"
        for other in sorted(arrows[part]):
            if order.get(other, 0) > order.get(part, len(order)):
                yield f"{folder}: {part} includes {other}, which stands above it"


def wrong_layers(includes):
    for folder in folders_of(includes):
        arrows = arrows_between_parts(includes, folder)
        if folder in LAYERS and folder != ".":  # for the root ARROWS says it
            yield from against_the_layers(arrows, folder)
        try:
            graphlib.TopologicalSorter(arrows).prepare()
        except graphlib.CycleError as error:
            yield f"{folder}: a loop: {' <- '.join(error.args[1])}"


def table(root, includes):
    """A line for each part of the folders in LAYERS: its lines, its files, and what it includes beside it."""
    lines = {name: source_tree.text_of(root, name).count("\n") for name in includes}
    for folder in LAYERS:
        arrows = arrows_between_parts(includes, folder)
        for part in (part for part in LAYERS[folder] if part in arrows):
            names = [name for name in includes if part_of(name, folder) == part]
            title = part if folder == "." else f"{folder}/{part}"
            below = [other for other in LAYERS[folder] if other in arrows[part]]
            yield f"{title:34} {sum(lines[name] for name in names):7} lines {len(names):5} files  -> {' '.join(below)}"


def imported(tree):
    """The packages that a Python file imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def wrong_imports(root, name):
    for package in sorted(set(imported(ast.parse(source_tree.text_of(root, name))))):
        homes = PYTHON_HOMES.get(package, set())
        if package not in sys.stdlib_module_names and not lies_in(name, homes):
            yield f"{name}: imports {package}, whose home is {', '.join(sorted(homes)) or 'nowhere here'}"


def build_files(root, names):
    """Folder and text of each build file, without comments."""
    for name in names:
        if name.name == "CMakeLists.txt" or name.suffix == ".cmake":
            yield name.parent, re.sub(r"#.*", "", source_tree.text_of(root, name))


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


def quoted_includes(root, names):
    """{source: what it includes with "..."}"""
    sources = [str(name) for name in names if name.suffix in SOURCES]
    return {name: [header for kind, header in INCLUDE.findall(source_tree.text_of(root, name)) if kind == '"']
            for name in sources}


def check(root):
    names = source_tree.files_of(root)
    problems = list(wrong_layers(quoted_includes(root, names)))
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
        if name.suffix in {".h", ".hpp"} and guard not in source_tree.text_of(root, name):
            problems.append(f"{name}: has no {guard}")
    return problems


if __name__ == "__main__":
    tree = pathlib.Path(sys.argv[1]).resolve()
    print("\n".join(table(tree, quoted_includes(tree, source_tree.files_of(tree)))))
    source_tree.run(check)
