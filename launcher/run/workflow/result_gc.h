/// Removes results that nothing uses.
///
/// A result stays when a running workflow holds it (result_lease.h), when a run refers to it, when it was used lately,
/// or when a result that stays was made from it. What is removed is first renamed into RUNS/.results/.removed: killed
/// at any moment, no half result is left in the store, and the next call removes the rest.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "launcher/run/workflow/result_store.h"

namespace slipway::launcher {

/// Which runs keep the results that they refer to.
enum class RunsThatKeep { kAll, kLive };

struct GcRules {
  std::optional<Seconds> older_than;  ///< unset: the age does not count
  RunsThatKeep runs = RunsThatKeep::kAll;
};

/// What is known of a stored result before it is judged.
struct ResultUse {
  double last_used_s = 0;              ///< since 1970: when it was made, or a run last used it
  std::vector<std::string> made_from;  ///< ids of the results that it needed
  bool of_run = false;                 ///< a run refers to it
  bool of_live_run = false;            ///< one that has not ended
};

/// Why a result stays; kNothing: it does not.
enum class KeptBy { kNothing, kLease, kRun, kAge, kResult };

/// Pure. `held`: ids that leases hold.
std::map<std::string, KeptBy> JudgeResults(const std::map<std::string, ResultUse>& results,
                                           const std::set<std::string>& held, const GcRules& rules, double now_s);

struct RemovedResult {
  std::string id;
  std::string workflow;  ///< and step: empty when its manifest cannot be read
  std::string step;
  Bytes bytes;
};

struct GcReport {
  std::vector<RemovedResult> removed;
  std::map<KeptBy, int> kept;
};

/// Carries the rules out; with `dry_run` it only says what it would remove.
/// Errors: Error(kBusy) while another process does the same; SystemError.
/// Cost: reads the journals of all runs, and the manifests of all results.
GcReport RemoveUnusedResults(const std::filesystem::path& runs_directory, const GcRules& rules, bool dry_run);

}  // namespace slipway::launcher
