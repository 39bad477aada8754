/// Optuna itself, as Debian's python3-optuna brings it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/process.h"

namespace slipway::ensemble {

inline bool HasOptuna() {
  SpawnOptions options;
  options.argv = {"/usr/bin/python3", "-c",
                  "import importlib.util, sys; sys.exit(not importlib.util.find_spec('optuna'))"};
  return RunAndCapture(std::move(options)).status.Success();
}

/// Runs a program of this folder with a file; fails the test when it fails. Returns what it printed.
inline std::string RunWithOptuna(const std::string& program, const std::string& file) {
  SpawnOptions options;
  options.argv = {"/usr/bin/python3", SLIPWAY_SOURCE_DIR "/tests/ensemble/exchange/" + program, file};
  const auto captured = RunAndCapture(std::move(options));
  EXPECT_TRUE(captured.status.Success()) << captured.errors;
  return captured.output;
}

}  // namespace slipway::ensemble
