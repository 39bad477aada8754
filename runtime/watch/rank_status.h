/// What one rank of the job is seen to do, by a rank of its node or by somebody who was told.
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

/// kUnknown: nobody here sees it. kAbsent: it has not called slipway_init.
enum class RankState { kRunning, kStopped, kDead, kFinished, kUnknown, kAbsent };
WordTable<RankState> WordsOf(RankState);

/// A value of the table, and what it says to people; 0 and empty for none.
struct SeenCall {
  std::uint32_t activity = 0;
  std::string name;
};

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
  std::vector<int> missing = {};  ///< for whom it waits in `asks`, as far as it tells

  /// Nobody knows what it does, but for where it is.
  bool Hidden() const { return state == RankState::kUnknown; }
};

/// Of the line's rank: it has left, or what the kernel says of its process, which must be one of this machine.
RankState StateOf(const RankStatusRow& line);

RankStatus RankStatusOf(const RankStatusRow& line, RankPlace place);

Json ToJson(const std::vector<RankStatus>& statuses);
/// Takes anything. Errors: DocumentError.
std::vector<RankStatus> SightsFromJson(const Json& json);

}  // namespace slipway::runtime
