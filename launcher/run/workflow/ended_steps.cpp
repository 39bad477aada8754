#include "launcher/run/workflow/ended_steps.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/process_identity.h"
#include "core/write_probe.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;
using enum StepState;

fs::path FolderOfMarks(const RunFolder& folder) { return folder.path() / "ended"; }

fs::path MarkOf(const RunFolder& folder, const std::string& step, StepState state) {
  return FolderOfMarks(folder) / fmt::format("{}-{}", WordOf(state), step);
}

/// No word of a state has a '-'; names of steps may.
std::optional<std::pair<std::string, StepState>> EndOf(const std::string& mark) {
  const auto at = mark.find('-');
  if (at == std::string::npos) return {};
  const auto state = FromWord<StepState>(std::string_view(mark).substr(0, at));
  if (!state) return {};
  return std::pair(mark.substr(at + 1), *state);
}

/// A client of NFS lists a folder from memory for up to a minute, unless it has changed the folder itself. A job that
/// finds its step over, or with a mark from before, has not. False when it cannot.
bool ChangeFolderOfMarks(const RunFolder& folder) try {
  const auto file = FolderOfMarks(folder) / fmt::format(".look-{}-{}", HostName(), ::getpid());
  OpenFile(file, O_WRONLY | O_CREAT);
  std::error_code error;
  return fs::remove(file, error);
} catch (const SystemError&) {
  return false;
}

/// Nothing when the folder is not there, or cannot be listed as it is now.
std::optional<StepEnds> MarkedEnds(const RunFolder& folder) {
  if (!ChangeFolderOfMarks(folder)) return {};
  StepEnds ends;
  std::error_code error;
  fs::directory_iterator entry(FolderOfMarks(folder), error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (auto marked = EndOf(entry->path().filename().string())) ends.push_back(std::move(*marked));
  }
  if (error) return {};
  return ends;
}

bool StopsOthers(StepState state) { return !HasResult(state) && state != kSkipped; }

}  // namespace

void BeginMarks(const RunFolder& folder) { MakeDirectories(FolderOfMarks(folder)); }

bool MarkEnd(const RunFolder& folder, const std::string& step, StepState state) try {
  OpenFile(MarkOf(folder, step, state), O_WRONLY | O_CREAT);
  return true;
} catch (const SystemError& error) {
  if (error.code() == ENOENT) return true;
  if (!MeansDiskFull(error.code())) throw;
  return false;
}

void RemoveMark(const RunFolder& folder, const std::string& step, StepState state) {
  std::error_code error;  // one that stays costs a look at the journals
  fs::remove(MarkOf(folder, step, state), error);
}

bool CoverAll(const StepEnds& ends, const std::vector<StoredStep>& steps) {
  std::map<std::string, std::vector<std::string>> dependants;
  for (const auto& step : steps) {
    for (const auto& need : step.needs) dependants[need].push_back(step.name);
  }
  std::set<std::string> over;
  std::vector<std::string> stopped;
  for (const auto& [step, state] : ends) {
    over.insert(step);
    if (StopsOthers(state)) stopped.push_back(step);
  }
  std::set<std::string> seen(stopped.begin(), stopped.end());
  while (!stopped.empty()) {
    const auto from = std::move(stopped.back());
    stopped.pop_back();
    over.insert(from);
    for (const auto& next : dependants[from]) {
      if (seen.insert(next).second) stopped.push_back(next);
    }
  }
  return std::ranges::all_of(steps, [&](const StoredStep& step) { return over.contains(step.name); });
}

bool MayBeOver(const RunFolder& folder) {
  const auto ends = MarkedEnds(folder);
  return !ends || CoverAll(*ends, ReadStoredWorkflow(folder).steps);
}

}  // namespace slipway::launcher
