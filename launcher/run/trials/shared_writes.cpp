#include "launcher/run/trials/shared_writes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/process_identity.h"
#include "core/text.h"
#include "launcher/plan/workdir.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

namespace {

/// Nothing for what is no file.
std::optional<ContentStamp> StampOf(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  constexpr std::int64_t kNanosecondsASecond = 1'000'000'000;
  return ContentStamp{info.st_ino, static_cast<std::uint64_t>(info.st_size),
                      info.st_mtim.tv_sec * kNanosecondsASecond + info.st_mtim.tv_nsec};
}

TrialSet InBoth(const TrialSet& a, const TrialSet& b) {
  TrialSet both;
  std::ranges::set_intersection(a, b, std::inserter(both, both.end()));
  return both;
}

/// "trial 3", "trials 0, 1, 2, ...".
std::string TrialsText(const TrialSet& trials) {
  constexpr std::size_t kMostNamed = 5;
  const std::vector<ensemble::TrialNumber> named(trials.begin(),
                                                 std::next(trials.begin(), std::min(trials.size(), kMostNamed)));
  return fmt::format("trial{} {}{}", trials.size() == 1 ? "" : "s", fmt::join(named, ", "),
                     trials.size() > kMostNamed ? ", ..." : "");
}

constexpr auto kWhatToDo =
    "one may have read what the other wrote; give each trial its own with launch.workdir: own, or a path in "
    "{slipway.workdir}";

std::string Describe(const SharedWrite& write, const fs::path& folder) {
  return fmt::format("'{}' was written while {} ran, and again while {} ran: {}", (folder / write.file).string(),
                     TrialsText(write.first), TrialsText(write.then), kWhatToDo);
}

std::string Describe(const std::string& file, const TrialSet& writers, const LikelyShared& likely,
                     const fs::path& folder) {
  const auto files = likely.files.size();
  return fmt::format("'{}' was written while {} ran, and {} trials have {}: {}", (folder / file).string(),
                     TrialsText(writers), likely.trials, Counted(files, "such file"), kWhatToDo);
}

bool HoldsOpen(pid_t process, const struct stat& file) {
  std::error_code error;
  for (fs::directory_iterator entry(fmt::format("/proc/{}/fd", process), error), end; entry != end;
       entry.increment(error)) {
    struct stat held {};
    const bool is_it =
        ::stat(entry->path().c_str(), &held) == 0 && held.st_dev == file.st_dev && held.st_ino == file.st_ino;
    if (is_it) return true;
  }
  return false;
}

/// What `slipway run > out.log`, or a `tee` behind it, writes is nothing of the trials, which lead groups of their own.
bool IsWrittenBesideTrials(const fs::path& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return false;
  return std::ranges::any_of(ProcessIds(),
                             [&](pid_t pid) { return ::getpgid(pid) == ::getpgrp() && HoldsOpen(pid, file); });
}

/// Where trials have folders of their own, nothing but what their command names.
fs::path FolderOfTrials(const Plan& plan) {
  const auto& workdir = plan.spec().launch.workdir;
  const bool is_shared = workdir.kind == WorkdirKind::kPath && OwnPlaceholders(workdir.path).empty();
  return is_shared ? fs::path(workdir.path) : plan.document.directory;
}

std::vector<fs::path> OnlyThese(const Plan& plan) {
  if (FolderOfTrials(plan) != plan.document.directory) return {};
  auto named = NamedBesideSpec(plan, Json::object());
  for (const auto& link : LinksOf(plan)) named.push_back(link.target);
  return named;
}

bool AllInFolderAreShared(const Plan& plan) {
  const auto kind = plan.spec().launch.workdir.kind;
  return kind == WorkdirKind::kSpec || FolderOfTrials(plan) != plan.document.directory;
}

}  // namespace

void WritersOfFiles::Note(const std::string& file, const TrialSet& running, std::vector<SharedWrite>& found) {
  auto& writers = writers_[file];
  const auto before = writers.alone;
  writers.alone = writers.together.empty() ? running : InBoth(before, running);
  writers.together.insert(running.begin(), running.end());
  if (!writers.alone.empty() || writers.told) return;
  writers.told = true;
  found.push_back({file, before, running});
}

std::vector<SharedWrite> WritersOfFiles::Look(ContentStamps now, const TrialSet& running) {
  std::vector<SharedWrite> found;
  ran_.insert(running.begin(), running.end());
  for (const auto& [file, stamp] : now) {
    const auto before = stamps_.find(file);
    const bool is_written = before == stamps_.end() || before->second != stamp;
    if (is_written && !running.empty()) Note(file, running, found);
  }
  stamps_ = std::move(now);
  return found;
}

LikelyShared WritersOfFiles::Likely() const {
  LikelyShared likely{{}, ran_.size()};
  for (const auto& [file, writers] : writers_) {
    if (!writers.told) likely.files.emplace(file, writers.together);
  }
  if (likely.files.size() >= likely.trials) likely.files.clear();
  return likely;
}

SharedFiles::SharedFiles(const Plan& plan)
    : folder_(FolderOfTrials(plan)), only_(OnlyThese(plan)), writers_(ContentStamps()) {
  if (only_.empty() && !AllInFolderAreShared(plan)) folder_.clear();
  writers_ = WritersOfFiles(Stamps());
}

ContentStamps SharedFiles::Stamps() const {
  ContentStamps stamps;
  const auto add = [&](const fs::path& name) {
    if (const auto stamp = StampOf(folder_ / name)) stamps.emplace(name, *stamp);
  };
  if (folder_.empty()) return stamps;
  std::ranges::for_each(only_, add);
  if (!only_.empty()) return stamps;
  std::error_code error;
  std::size_t seen = 0;
  for (fs::directory_iterator entry(folder_, error), end; entry != end; entry.increment(error)) {
    if (++seen > kMostSharedFiles) return {};
    add(entry->path().filename());
  }
  return stamps;
}

std::vector<std::string> SharedFiles::Look() {
  std::vector<std::string> lines;
  if (folder_.empty()) return lines;
  for (const auto& write : writers_.Look(Stamps(), running_)) {
    if (!IsWrittenBesideTrials(folder_ / write.file)) lines.push_back(Describe(write, folder_));
  }
  return lines;
}

std::vector<std::string> SharedFiles::Began(ensemble::TrialNumber trial) {
  running_.insert(trial);  // it may have written already
  return Look();
}

std::vector<std::string> SharedFiles::Ended(ensemble::TrialNumber trial) {
  auto lines = Look();
  running_.erase(trial);
  return lines;
}

std::vector<std::string> SharedFiles::Finish() const {
  std::vector<std::string> lines;
  auto likely = writers_.Likely();
  std::erase_if(likely.files, [&](const auto& file) { return IsWrittenBesideTrials(folder_ / file.first); });
  for (const auto& [file, writers] : likely.files) lines.push_back(Describe(file, writers, likely, folder_));
  return lines;
}

}  // namespace slipway::launcher
