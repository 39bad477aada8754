#include "runtime/watch/rank_status_table.h"

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
    case Activity::kServerCreate: return "slipway_server_create";
    case Activity::kServerPush: return "slipway_server_push";
    case Activity::kServerPull: return "slipway_server_pull";
    case Activity::kServerFree: return "slipway_server_free";
  }
  return "an unknown call";
}

std::string Describe(const RankStatusRow& row, std::uint32_t activity) {
  const auto team = activity >> 16;
  const auto call = static_cast<Activity>(activity & 0xffff);
  const std::string name = NameOf(call);
  if (team == 0 || team > RankStatusRow::kTeams) return name;
  const bool server = call == Activity::kServerPush || call == Activity::kServerPull;
  return fmt::format("{} of {} '{}'", name, server ? "server" : "team", row.teams[team - 1].data());
}

}  // namespace slipway::runtime
