#include "launcher/run/batch/submit_remarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <chrono>

#include "core/files.h"
#include "core/process.h"
#include "launcher/cluster/batch_script.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

constexpr auto kModulePatience = std::chrono::seconds(20);

/// The first parent that is there: run folders are made later.
fs::path Existing(fs::path path) {
  while (!path.empty() && path != path.root_path() && !Exists(path)) path = path.parent_path();
  return path;
}

/// What the commands of the script say where they fail; nothing: they do not.
std::optional<std::string> TroubleWithModules(const std::vector<std::string>& modules) {
  SpawnOptions spawn;
  spawn.argv = {"bash", "-c", RenderModuleCheck(modules)};
  const auto captured = RunAndCapture(std::move(spawn), kModulePatience);
  if (captured.status.Success() || captured.timed_out) return {};
  auto said = captured.errors.empty() ? captured.output : captured.errors;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

}  // namespace

std::string WhyNodesCannotSee(const fs::path& directory) {
  struct statfs info {};
  if (::statfs(Existing(directory).c_str(), &info) != 0) return {};
  const bool in_memory = info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
  return in_memory ? "it is kept in this host's memory" : "";
}

std::vector<std::string> RemarksOnSubmission(const Plan& plan) {
  std::vector<std::string> remarks;
  if (const auto why = WhyNodesCannotSee(plan.runs_directory); !why.empty()) {
    remarks.push_back(
        fmt::format("other nodes do not see '{}': {}; name a place on a shared file system with --runs-dir",
                    plan.runs_directory.string(), why));
  }
  if (!plan.start_doubt.empty()) remarks.push_back(plan.start_doubt);
  const auto& modules = plan.spec().launch.modules;
  if (modules.empty()) return remarks;
  if (const auto trouble = TroubleWithModules(modules)) {
    remarks.push_back(fmt::format(
        "launch.modules ({}) cannot all be loaded on this host, and a job ends at once where that is so: {}",
        fmt::join(modules, ", "), *trouble));
  }
  return remarks;
}

}  // namespace slipway::launcher
