#include "launcher/watch/run_list.h"

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "core/parse_utc.h"

namespace slipway::launcher::watch {
namespace {

constexpr int kMostReads = 300;
constexpr int kLooksForEnded = 10;  // one that has ended changes only by `resume`

std::optional<double> TimeIn(const std::string& utc) {
  const auto time = ParseUtc(utc);
  return time ? std::optional(UnixSeconds(*time)) : std::nullopt;
}

RunRow RowOf(const RunFolder& folder) try {
  const auto state = folder.ReadState();
  RunRow row{folder.id(),
             folder.path(),
             std::string(PhaseName(state.phase)),
             HasEnded(state.phase),
             state.ensemble,
             state.attempt,
             TimeIn(state.started.empty() ? state.created : state.started),
             TimeIn(state.ended),
             state.reason};
  return row;
} catch (const Error& error) {
  RunRow row;
  row.id = folder.id();
  row.folder = folder.path();
  row.state = "unreadable";
  row.ended = true;
  row.reason = error.message();
  return row;
}

bool IsSame(const RunRow& left, const RunRow& right) {
  return left.state == right.state && left.reason == right.reason && left.attempt == right.attempt &&
         left.since == right.since && left.until == right.until;
}

}  // namespace

/// Without a readable folder there are no runs.
bool RunList::ListFolders() try {
  const auto stamp = StampOf(directory_);
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
    auto row = RowOf(folder);
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
