#include "launcher/provenance/git_helper.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/install.h"
#include "core/lines.h"
#include "core/process.h"
#include "core/text.h"

namespace slipway::launcher {
namespace {

constexpr auto kGitLimit = std::chrono::seconds(10);

/// The answer comes in lines, of which some may be missing.
Json MembersOf(const Captured& answer) {
  Json members = Json::object();
  LineWords lines(answer.output);
  while (!lines.rest().empty()) {
    const auto line = Json::parse(lines.Word('\n'), nullptr, false);
    if (line.is_object()) members.update(line);
  }
  if (members.value("complete", false) || members.contains("not_recorded")) return members;
  members["not_recorded"] = answer.timed_out ? fmt::format("git took longer than {} s", kGitLimit.count())
                                             : fmt::format("slipway-git failed: {}", FirstLine(answer.errors));
  return members;
}

}  // namespace

Json AskGit(std::vector<std::string> words) {
  const auto helper = HelperProgram("slipway-git");
  if (!Exists(helper)) {
    return {{"not_recorded", fmt::format("'{}' is not installed: Slipway was built without libgit2", helper.string())}};
  }
  SpawnOptions options;
  options.argv = std::move(words);
  options.argv.insert(options.argv.begin(), helper.string());
  return MembersOf(RunAndCapture(std::move(options), kGitLimit));
}

}  // namespace slipway::launcher
