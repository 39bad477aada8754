#include "launcher/ranks/local/container_command.h"

#include <algorithm>
#include <array>

namespace slipway::launcher {
namespace {

using Words = std::vector<std::string>;

void Append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

std::string Joined(const Mount& mount) { return mount.from + ":" + mount.to; }

Words ByApptainer(const ContainedStart& start) {
  Words words{"exec"};
  for (const auto& mount : start.mounts) Append(words, {"--bind", Joined(mount)});
  Append(words, {"--pwd", start.working_directory});
  Append(words, start.options);
  words.push_back(start.image);
  return words;
}

/// Ranks share memory in one namespace of users: the kernel lets no process look into another's of a second one.
Words ByCharliecloud(const ContainedStart& start) {
  Words words;
  if (start.ranks_on_node > 1) {
    Append(words, {"--join-ct=" + std::to_string(start.ranks_on_node), "--join-tag=" + start.group});
  }
  for (const auto& mount : start.mounts) Append(words, {"--bind", Joined(mount)});
  Append(words, {"--cd", start.working_directory});
  Append(words, start.options);
  Append(words, {start.image, "--"});
  return words;
}

/// Network, shared memory, processes and /tmp are the machine's: MPI meets the other ranks there.
Words ByPodman(const ContainedStart& start) {
  Words words{"run", "--rm", "--network=host", "--ipc=host", "--pid=host", "--security-opt=label=disable"};
  if (!start.as_root) words.push_back("--userns=keep-id");
  const bool has_tmp = std::ranges::find(start.mounts, "/tmp", &Mount::to) != start.mounts.end();
  if (!has_tmp) Append(words, {"--volume", "/tmp:/tmp"});
  for (const auto& mount : start.mounts) Append(words, {"--volume", Joined(mount)});
  Append(words, {"--workdir", start.working_directory});
  for (const auto& variable : start.variables) Append(words, {"--env", variable});
  Append(words, start.options);
  words.push_back(start.image);
  return words;
}

Words ByShifter(const ContainedStart& start) {
  Words words{"--image=" + start.image};
  for (const auto& mount : start.mounts) words.push_back("--volume=" + Joined(mount));
  words.push_back("--workdir=" + start.working_directory.string());
  Append(words, start.options);
  return words;
}

Words OpeningWords(const ContainedStart& start) {
  switch (start.runtime) {
    case ContainerRuntime::kApptainer:
    case ContainerRuntime::kSingularity: return ByApptainer(start);
    case ContainerRuntime::kPodmanHpc:
    case ContainerRuntime::kPodman: return ByPodman(start);
    case ContainerRuntime::kCharliecloud: return ByCharliecloud(start);
    case ContainerRuntime::kShifter: return ByShifter(start);
  }
  return {};
}

}  // namespace

WordTable<ContainerRuntime> WordsOf(ContainerRuntime) {
  static constexpr Word<ContainerRuntime> kWords[] = {
      {ContainerRuntime::kApptainer, "apptainer"},       {ContainerRuntime::kSingularity, "singularity"},
      {ContainerRuntime::kPodmanHpc, "podman-hpc"},      {ContainerRuntime::kPodman, "podman"},
      {ContainerRuntime::kCharliecloud, "charliecloud"}, {ContainerRuntime::kShifter, "shifter"}};
  return kWords;
}

std::string_view ProgramOf(ContainerRuntime runtime) {
  return runtime == ContainerRuntime::kCharliecloud ? "ch-run" : WordOf(runtime);
}

Words InContainer(const ContainedStart& start, const Words& program) {
  Words words{std::string(ProgramOf(start.runtime))};
  Append(words, OpeningWords(start));
  Append(words, program);
  return words;
}

}  // namespace slipway::launcher
