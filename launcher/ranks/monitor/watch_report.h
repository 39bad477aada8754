/// watch.json in an attempt's folder: why the runtime's watch ended the job. The ranks write it, so it may hold
/// anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/words.h"

namespace slipway::launcher {

/// A rank that held the others up, or differed from them.
struct WatchedRank {
  std::int64_t rank = 0;
  std::string host;
  std::int64_t pid = 0;
  std::string state;  ///< "dead", "stopped", "running", ...
  std::string last;   ///< the operation that it completed last
  std::optional<std::int64_t> step;
};

/// What the watch found.
enum class WatchKind {
  kDead,       ///< a rank has died
  kLeft,       ///< a rank is in slipway_finalize while others exchange
  kStalled,    ///< a rank does not come
  kMismatch,   ///< values or calls of ranks differ
  kNotFinite,  ///< a gradient holds NaN or infinity
  kStart,      ///< ranks never reached MPI
  kOther,      ///< a word that this version does not know
};
WordTable<WatchKind> WordsOf(WatchKind);

/// Whether ranks wait for one that does not come. Others have failed: their values differ or are not finite.
bool IsHang(WatchKind kind);

/// All texts are one line of printable UTF-8 of a limited length.
struct WatchReport {
  WatchKind kind = WatchKind::kOther;
  std::string message;  ///< names rank, host, last operation and step; never empty
  std::vector<WatchedRank> ranks;
};

/// The finding: a report, or why the file cannot be read as one.
struct WatchFinding {
  std::optional<WatchReport> report;
  std::string problem;
};

/// Reads watch.json in `attempt`; nothing when there is none. Accepts any content without an exception; reads 1 MiB at
/// most.
std::optional<WatchFinding> FindWatchReport(const std::filesystem::path& attempt);

/// Writes `attempt`/watch.json with these members, unless a rank has written one. Ignores errors, because the ranks
/// report for themselves.
void PublishWatchReport(const std::filesystem::path& attempt, const Json& members);

/// The members kind, message and ranks, for events.jsonl.
Json ToJson(const WatchReport& report);

}  // namespace slipway::launcher
