#include "launcher/run/workflow/result_gc.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"
#include "core/filesystem_errors.h"
#include "launcher/run/workflow/result_lease.h"
#include "launcher/run/workflow/step_journal.h"
#include "launcher/run/workflow/workflow_folder.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPart = "step ";

double ChangedAt(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<double>(info.st_mtim.tv_sec) : 0;
}

/// Errors: SystemError.
Bytes BytesBelow(const fs::path& folder) {
  Bytes bytes;
  WithSystemErrors([&] {
    for (const auto& entry : EntriesBelow(folder)) {
      if (!entry.is_symlink() && entry.is_regular_file()) bytes.count += entry.file_size();
    }
  });
  return bytes;
}

std::vector<std::string> MadeFrom(const StepResult& result) {
  std::vector<std::string> ids;
  for (const auto& [part, value] : result.parts) {
    if (part.starts_with(kStepPart)) ids.push_back(value);
  }
  return ids;
}

class Collector {
 public:
  Collector(const fs::path& runs_directory, const GcRules& rules, bool dry_run)
      : runs_(runs_directory), rules_(rules), dry_run_(dry_run), store_(runs_directory) {}

  GcReport Collect() {
    if (!Exists(store_.folder())) return {};
    const auto alone = OnlyCollector();
    if (!dry_run_) RemoveTree(removed());  // what a killed one has left
    for (const auto& id : store_.All()) Gather(id);
    GcReport report;
    TakeAway(report);
    for (auto& result : report.removed) {
      const auto folder = (dry_run_ ? store_.folder() : removed()) / result.id;
      result.bytes = BytesBelow(folder);
      if (!dry_run_) RemoveTree(folder);
    }
    return report;
  }

 private:
  fs::path removed() const { return store_.folder() / ".removed"; }

  FileLock OnlyCollector() const {
    auto lock = FileLock::TryAcquire(store_.folder() / ".gc.lock", LockMode::kExclusive);
    if (lock) return std::move(*lock);
    throw Error(ErrorKind::kBusy, fmt::format("another process removes results of '{}'", runs_.string()),
                "wait until it has ended, then try again");
  }

  void Gather(const std::string& id) {
    auto& use = uses_[id];
    use.last_used_s = ChangedAt(store_.folder() / id);
    try {
      const auto& result = store_.Read(id);
      use.made_from = MadeFrom(result);
      names_[id] = {id, result.workflow, result.step, {}};
    } catch (const Error&) {  // damaged: it may be removed as well
      names_[id] = {id, {}, {}, {}};
    }
  }

  /// No lease grows while the rest is judged and renamed.
  void TakeAway(GcReport& report) {
    const auto lock = LockResults(store_.folder());
    for (const auto& run : ListRuns(runs_)) {
      if (IsWorkflowRun(run)) NoteUse(run);
    }
    const auto now = UnixSeconds(SystemClock().Now());
    if (!dry_run_) MakeDirectories(removed());
    for (const auto& [id, kept_by] : JudgeResults(uses_, HeldResults(store_.folder()), rules_, now)) {
      if (kept_by != KeptBy::kNothing) {
        ++report.kept[kept_by];
        continue;
      }
      if (!dry_run_) fs::rename(store_.folder() / id, removed() / id);
      report.removed.push_back(names_.at(id));
    }
  }

  void NoteUse(const RunFolder& run) {
    const bool is_live = IsLive(run);
    const auto at = ChangedAt(run.path() / "workflow.jsonl");
    for (const auto& [step, id] : LastResultsIn(run.path())) {
      const auto use = uses_.find(id);
      if (use == uses_.end()) continue;
      use->second.of_run = true;
      use->second.of_live_run = use->second.of_live_run || is_live;
      use->second.last_used_s = std::max(use->second.last_used_s, at);
    }
  }

  static bool IsLive(const RunFolder& run) try { return !HasEnded(run.ReadState().phase); } catch (const Error&) {
    return true;  // a state that cannot be read says nothing: what it refers to stays
  }

  fs::path runs_;
  const GcRules& rules_;
  bool dry_run_;
  ResultStore store_;
  std::map<std::string, ResultUse> uses_;
  std::map<std::string, RemovedResult> names_;
};

KeptBy WhyKept(const ResultUse& use, bool is_held, const GcRules& rules, double now_s) {
  if (is_held) return KeptBy::kLease;
  if (rules.runs == RunsThatKeep::kAll ? use.of_run : use.of_live_run) return KeptBy::kRun;
  if (rules.older_than && now_s - use.last_used_s < rules.older_than->count()) return KeptBy::kAge;
  return KeptBy::kNothing;
}

}  // namespace

std::map<std::string, KeptBy> JudgeResults(const std::map<std::string, ResultUse>& results,
                                           const std::set<std::string>& held, const GcRules& rules, double now_s) {
  std::map<std::string, KeptBy> verdicts;
  std::vector<std::string> kept;
  for (const auto& [id, use] : results) {
    const auto verdict = WhyKept(use, held.contains(id), rules, now_s);
    verdicts.emplace(id, verdict);
    if (verdict != KeptBy::kNothing) kept.push_back(id);
  }
  while (!kept.empty()) {
    const auto id = std::move(kept.back());
    kept.pop_back();
    for (const auto& source : results.at(id).made_from) {
      const auto verdict = verdicts.find(source);
      if (verdict == verdicts.end() || verdict->second != KeptBy::kNothing) continue;
      verdict->second = KeptBy::kResult;
      kept.push_back(source);
    }
  }
  return verdicts;
}

GcReport RemoveUnusedResults(const fs::path& runs_directory, const GcRules& rules, bool dry_run) {
  return Collector(runs_directory, rules, dry_run).Collect();
}

}  // namespace slipway::launcher
