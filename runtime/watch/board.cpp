#include "runtime/watch/board.h"

#include <fmt/format.h>

namespace slipway::runtime {

const char* NameOf(Activity activity) {
  switch (activity) {
    case Activity::kNothing: return "nothing";
    case Activity::kInit: return "slipway_init";
    case Activity::kAllreduce: return "slipway_allreduce";
    case Activity::kBroadcast: return "slipway_broadcast";
    case Activity::kReduceScatter: return "slipway_reduce_scatter";
    case Activity::kAllgather: return "slipway_allgather";
    case Activity::kAlltoall: return "slipway_alltoall";
    case Activity::kBarrier: return "slipway_barrier";
    case Activity::kRegister: return "slipway_register";
    case Activity::kGradients: return "the exchange of gradients";
    case Activity::kAverage: return "slipway_average";
    case Activity::kCheckMatch: return "slipway_check_match";
    case Activity::kStopRequested: return "slipway_stop_requested";
    case Activity::kCheckpoint: return "a checkpoint call";
    case Activity::kGroup: return "slipway_group_create";
    case Activity::kState: return "slipway_state_save";
    case Activity::kFinalize: return "slipway_finalize";
  }
  return "an unknown call";
}

std::string Describe(const BoardLine& line, std::uint32_t activity) {
  const auto team = activity >> 16;
  const std::string name = NameOf(static_cast<Activity>(activity & 0xffff));
  if (team == 0 || team > BoardLine::kTeams) return name;
  return fmt::format("{} of team '{}'", name, line.teams[team - 1].data());
}

}  // namespace slipway::runtime
