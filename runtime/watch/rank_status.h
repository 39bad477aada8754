/// What one rank of the job is doing, as seen by a rank of its node or reported from another node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/words.h"
#include "runtime/watch/rank_status_table.h"

namespace slipway::runtime {

/// Where a rank of the job runs.
struct RankPlace {
  std::string host;
  std::int64_t process = 0;
};

/// kUnknown: its status is not visible here. kAbsent: it has not called slipway_init.
enum class RankState { kRunning, kStopped, kDead, kFinished, kUnknown, kAbsent };
WordTable<RankState> WordsOf(RankState);

/// A value of the table and its name for people; 0 and empty for none.
struct SeenCall {
  std::uint32_t activity = 0;
  std::string name;
};

/// True for a value of the table that is slipway_finalize.
bool IsFinalize(std::uint32_t activity);

struct RankStatus {
  int rank = -1;
  RankPlace place = {};
  RankState state = RankState::kUnknown;
  SeenCall current = {};
  SeenCall last = {};
  SeenCall gave_up = {};
  SeenCall asks = {};
  double waited_s = 0;  ///< in `asks`
  std::int64_t step = 0;
  std::vector<int> missing = {};  ///< the ranks that it waits for in `asks`, as far as known
  bool awaits_gpu = false;        ///< in `current` it waits for its own GPU, and so for no other rank

  /// Only its place is known, not what it does.
  bool Hidden() const { return state == RankState::kUnknown; }
  /// It calls nothing more while others may still wait for it: it has ended, or it is in slipway_finalize. False for a
  /// rank that was in slipway_finalize with all others, and for one that gave up waiting.
  bool HasDeparted() const {
    if (state == RankState::kFinished || gave_up.activity != 0) return false;
    return state == RankState::kDead || IsFinalize(current.activity);
  }
};

/// State of the row's rank. It has left, or the kernel says what its process does; the process must be on this machine.
RankState StateOf(const RankStatusRow& row);

RankStatus RankStatusOf(const RankStatusRow& row, RankPlace place);

Json ToJson(const RankStatus& status);
Json ToJson(const std::vector<RankStatus>& statuses);
/// Accepts any JSON. Errors: DocumentError.
RankStatus RankStatusFromJson(const Json& json);
std::vector<RankStatus> RankStatusesFromJson(const Json& json);

}  // namespace slipway::runtime
