#include "launcher/cli/doctor/containers.h"

#include <fmt/format.h>

#include "core/process.h"

namespace slipway::launcher {
namespace {

constexpr auto kContainerPatience = std::chrono::seconds(5);

/// Some say it on the one stream, some on the other.
std::string VersionOf(ContainerRuntime runtime) {
  SpawnOptions options;
  options.argv = {std::string(ProgramOf(runtime)), "--version"};
  options.environment = Environment::Inherited();
  if (!options.environment->Get("USER")) options.environment->Set("USER", "root");  // ch-run will not speak without it
  const auto said = RunAndCapture(std::move(options), kContainerPatience);
  const auto& text = said.output.empty() ? said.errors : said.output;
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::vector<FoundRuntime> ProbeContainers() {
  std::vector<FoundRuntime> found;
  for (const auto runtime : kContainerRuntimes) {
    if (FindProgram(std::string(ProgramOf(runtime)))) found.push_back({runtime, VersionOf(runtime)});
  }
  return found;
}

Findings Judge(const std::vector<FoundRuntime>& found) {
  if (found.empty()) return {Ok("containers", "nothing that runs them is here; launch.container cannot be used")};
  std::string text;
  for (const auto& each : found) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", NameOf(each.runtime), each.version);
  }
  return {Ok("containers", text)};
}

}  // namespace slipway::launcher
