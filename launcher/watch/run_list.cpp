#include "launcher/watch/run_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/parse_utc.h"
#include "launcher/run/batch/batch_observation.h"
#include "launcher/run/workflow/workflow_folder.h"

namespace slipway::launcher::watch {
namespace {

constexpr int kMostReads = 300;
constexpr int kLooksForEnded = 10;  // one that has ended changes only by `resume`

RunLine LineOf(const RunFolder& folder) try {
  const auto state = folder.ReadState();
  const auto gone = AboutGoneManager(state);  // only a submitted run does not read as lost then
  return {folder.id(),
          folder.path(),
          std::string(PhaseName(state.phase)),
          HasEnded(state.phase),
          state.ensemble,
          state.attempt,
          UnixSecondsIn(state.started.empty() ? state.created : state.started),
          UnixSecondsIn(state.ended),
          gone.empty() ? state.reason
                       : fmt::format("{}; slipway status {} asks Slurm about its job", gone, folder.selector()),
          IsWorkflowRun(folder)};
} catch (const Error& error) {
  RunLine row;
  row.id = folder.id();
  row.folder = folder.path();
  row.state = kUnreadable;
  row.ended = true;
  row.reason = error.message();
  return row;
}

bool IsSame(const RunLine& left, const RunLine& right) {
  return left.state == right.state && left.reason == right.reason && left.attempt == right.attempt &&
         left.since == right.since && left.until == right.until;
}

}  // namespace

/// Without a readable folder there are no runs.
bool RunList::ListFolders() try {
  const auto stamp = StampOf(directory_.path);
  if (listed_ && stamp == stamp_) return false;
  listed_ = true;
  stamp_ = stamp;
  folders_ = ListRuns(directory_);
  std::ranges::reverse(folders_);
  return true;
} catch (const Error&) {
  folders_.clear();
  return true;
}

bool RunList::Refresh() {
  bool changed = ListFolders();
  const bool looks_at_ended = looks_++ % kLooksForEnded == 0;
  int reads = 0;
  complete_ = true;
  for (const auto& folder : folders_) {
    const auto known = known_.find(folder.path());
    if (known != known_.end() && known->second.row.ended && !looks_at_ended) continue;
    const auto stamp = StampOf(folder.path() / "state.json");
    if (known != known_.end() && known->second.stamp == stamp && known->second.row.ended) continue;
    if (known == known_.end() && reads++ == kMostReads) {
      complete_ = false;
      break;
    }
    auto row = LineOf(folder);
    if (known != known_.end() && known->second.stamp == stamp && IsSame(known->second.row, row)) continue;
    known_.insert_or_assign(folder.path(), Known{stamp, std::move(row)});
    changed = true;
  }
  if (!changed) return false;
  rows_.clear();
  for (const auto& folder : folders_) {
    if (const auto known = known_.find(folder.path()); known != known_.end()) rows_.push_back(known->second.row);
  }
  return true;
}

}  // namespace slipway::launcher::watch
