#include "launcher/attempt/rank_binding.h"

#include <fmt/format.h>

#include "core/text.h"

namespace slipway::launcher {
namespace {

std::string WhyNot(Bind asked, const RankHost& host) {
  if (static_cast<int>(host.cores.size()) < host.ranks) {
    return fmt::format("{} ranks share the {} of {}", host.ranks, Counted(host.cores.size(), "core"), host.name);
  }
  if (asked == Bind::kAuto && !host.own) {
    return fmt::format(
        "other jobs may run on {}, and Slurm does not keep them apart; launch.slurm.exclusive: true or "
        "launch.bind: cores changes that",
        host.name);
  }
  return {};
}

}  // namespace

RankBinding BindRanks(Bind asked, bool under_slurm, const std::vector<RankHost>& hosts) {
  RankBinding binding;
  if (asked == Bind::kNone || (asked == Bind::kAuto && !under_slurm)) return binding;
  int left_out = 0;
  for (const auto& host : hosts) {
    const auto reason = WhyNot(asked, host);
    if (reason.empty()) {
      binding.cores_of[host.node] = host.cores;
    } else if (left_out++ == 0) {
      binding.why_not = "ranks are not bound to cores: " + reason;
    }
  }
  if (left_out > 1) binding.why_not += fmt::format(" (and so on {} of {} nodes)", left_out, hosts.size());
  return binding;
}

}  // namespace slipway::launcher
