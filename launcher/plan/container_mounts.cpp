#include "launcher/plan/container_mounts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "core/install.h"
#include "launcher/plan/data_plan.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/promised_buffer.h"
#include "launcher/plan/workdir.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

/// "/path" or "/path:/path/inside".
Mount MountFrom(const std::string& bind, const fs::path& spec_directory) {
  const auto colon = bind.find(':');
  const auto from = (spec_directory / bind.substr(0, colon)).lexically_normal().string();
  return {from, colon == std::string::npos ? from : bind.substr(colon + 1)};
}

/// Every runtime shows these as they are.
bool IsShownAnyway(const std::string& path) { return BeginsWith(path, "/tmp") || BeginsWith(path, "/dev"); }

/// One that lies in another, at the same place, is seen with it.
void Add(std::vector<Mount>& mounts, const fs::path& path) {
  auto text = path.lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  if (text.empty() || IsShownAnyway(text)) return;
  const auto same_place = [](const Mount& mount) { return mount.from == mount.to; };
  for (const auto& mount : mounts) {
    if (same_place(mount) && BeginsWith(text, mount.from)) return;
  }
  std::erase_if(mounts, [&](const Mount& mount) { return same_place(mount) && BeginsWith(mount.from, text); });
  mounts.push_back({text, text});
}

/// What stands before the last directory without a wildcard.
fs::path FolderOf(const std::string& source) {
  return fs::path(source.substr(0, source.find_first_of("*?["))).parent_path();
}

/// One that is only promised is known in the job, which plans again.
void AddTier(std::vector<Mount>& mounts, const fs::path& root) {
  if (!IsPromised(root)) Add(mounts, root);
}

/// The runs lie in one directory, those of single trials further inside it: an image needs one place for all.
fs::path RootOfRuns(const fs::path& runs) {
  return runs.filename() == "trials" ? runs.parent_path().parent_path() : runs;
}

/// Of the run's own, which lie in its folder, none.
fs::path FolderOfWorkdirs(const WorkdirSpec& workdir) {
  const auto placeholder = workdir.path.find('{');
  const fs::path fixed = workdir.path.substr(0, placeholder);
  return placeholder == std::string::npos ? fixed : fixed.parent_path();
}

/// What makes mount points is the kernel's overlay or an image that is written to.
bool MakesMountPoints(const ContainerSpec& spec) {
  return std::ranges::any_of(spec.options, [](const std::string& option) {
    return option == "-w" || option == "--write" || option == "-W" || option.starts_with("--write-fake");
  });
}

void RequireNoSeparator(const std::string& path) {
  if (path.find_first_of(":,") == std::string::npos) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("'{}' cannot be bound into a container: ':' and ',' end a path there", path),
              "give the directory another name, or run without launch.container");
}

}  // namespace

std::vector<Mount> MountsFor(const Plan& plan, const StagedDirectories& data) {
  std::vector<Mount> mounts;
  Add(mounts, RootOfRuns(plan.runs_directory));
  Add(mounts, plan.document.directory);
  Add(mounts, FolderOfWorkdirs(plan.spec().launch.workdir));
  for (const auto& link : LinksOf(plan)) Add(mounts, link.target.parent_path());
  Add(mounts, InstallPrefix());
  Add(mounts, plan.exchange.tuned.parent_path());
  AddTier(mounts, plan.checkpoints.root);
  for (const auto& dataset : plan.data) {
    AddTier(mounts, dataset.root);
    if (!dataset.root.empty()) continue;
    for (const auto& file : dataset.files) Add(mounts, file.path.parent_path());
    if (!IsSharedOut(dataset)) continue;  // else these are the files of one node
    for (const auto& source : dataset.request.sources) Add(mounts, FolderOf(source));
  }
  for (const auto& place : data) {
    AddTier(mounts, place.directory);
    for (const auto& [node, directory] : place.on_node) AddTier(mounts, directory.parent_path());
  }
  for (const auto& bind : plan.spec().launch.container->binds) {
    mounts.push_back(MountFrom(bind, plan.document.directory));
  }
  return mounts;
}

void RequireMounts(const Plan& plan) {
  if (!plan.container) return;
  const bool looks = plan.container->runtime == ContainerRuntime::kCharliecloud &&
                     fs::is_directory(plan.container->image) && !MakesMountPoints(*plan.spec().launch.container);
  std::vector<std::string> missing;
  for (const auto& mount : MountsFor(plan, {})) {
    RequireNoSeparator(mount.from);
    RequireNoSeparator(mount.to);
    const auto place = plan.container->image + mount.to;
    if (looks && !fs::exists(place)) missing.push_back(place);
  }
  if (missing.empty()) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("ch-run cannot bind into directories that the image lacks: {}", fmt::join(missing, ", ")),
              fmt::format("mkdir -p {}", fmt::join(missing, " ")));
}

}  // namespace slipway::launcher
