/// A user's working directory for one test: specs, data, runs and tiers in one temporary place, and the real program.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/process.h"
#include "tests/support/temp_directory.h"

namespace slipway::test {

class Workplace {
 public:
  Workplace();
  /// Fails the test when a process of this workplace still runs.
  ~Workplace();

  std::filesystem::path operator/(const std::filesystem::path& name) const { return directory_.path() / name; }

  void Write(const std::string& name, const std::string& content) const;
  /// A spec that starts `command` (YAML list) on `ranks` ranks, which work here; `more` is appended.
  void WriteSpec(const std::string& name, const std::string& command, int ranks = 1,
                 const std::string& more = "") const;

  /// Runs `slipway ARGUMENTS` here, to its end.
  Captured Slipway(std::vector<std::string> arguments) const;
  /// Runs a line of the shell here, to its end. "$0" is `slipway`.
  Captured Shell(const std::string& line) const;
  /// As Slipway(), with a file of this place as its standard input.
  Captured SlipwayReading(const std::string& input, std::vector<std::string> arguments) const;
  /// Starts it, for tests that send signals. `input` is its standard input; -1: nothing.
  ChildProcess Start(std::vector<std::string> arguments, int input = -1) const;
  /// For all later calls.
  void SetVariable(const std::string& name, const std::string& value) { environment_.Set(name, value); }

  /// `slipway status last --json`, parsed.
  Json Status() const;
  /// The folder of the only run.
  std::filesystem::path RunFolder() const;
  /// Waits until a file exists; fails the test after a minute.
  void WaitForFile(const std::filesystem::path& path) const;
  /// Waits until what was started has said `text`; fails the test after a minute.
  void WaitForWords(const std::string& text) const;
  /// Names of all files, links and outboxes below the tiers, for "nothing is left behind".
  std::vector<std::string> StagedFiles() const;

 private:
  SpawnOptions OptionsFor(std::vector<std::string> arguments) const;

  TempDirectory directory_;
  Environment environment_;
};

/// Processes whose environment or command line names `directory`, except this one.
std::vector<pid_t> ProcessesOf(const std::filesystem::path& directory);

}  // namespace slipway::test
