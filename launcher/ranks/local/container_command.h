/// The command lines with which container runtimes start a rank. Pure.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.h"

namespace slipway::launcher {

enum class ContainerRuntime { kApptainer, kSingularity, kPodmanHpc, kPodman, kCharliecloud, kShifter };

WordTable<ContainerRuntime> WordsOf(ContainerRuntime);

/// A directory of the machine, and its path in the container.
struct Mount {
  std::string from;
  std::string to;

  bool operator==(const Mount&) const = default;
};

struct ContainedStart {
  ContainerRuntime runtime = ContainerRuntime::kApptainer;
  std::string image;
  std::vector<Mount> mounts;
  std::filesystem::path working_directory;
  std::vector<std::string> options;    ///< the user's
  std::vector<std::string> variables;  ///< names to pass to the program, for runtimes that pass none by default
  int ranks_on_node = 1;               ///< that share memory
  std::string group;                   ///< name of these ranks, unique on the machine
  bool as_root = false;
};

/// The program to find on the PATH: "ch-run".
std::string_view ProgramOf(ContainerRuntime runtime);

/// The command that runs `program` in the container, without a shell.
std::vector<std::string> InContainer(const ContainedStart& start, const std::vector<std::string>& program);

}  // namespace slipway::launcher
