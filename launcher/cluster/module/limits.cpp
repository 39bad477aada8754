#include <pwd.h>
#include <slurm/slurmdb.h>
#include <unistd.h>

#include <algorithm>

#include "launcher/cluster/module/cluster.h"
#include "launcher/cluster/module/library.h"

namespace slipway::launcher {
namespace {

/// Slurm's two ways to say that there is no limit.
std::optional<std::int64_t> JobsFrom(std::uint32_t limit) {
  return limit >= NO_VAL ? std::nullopt : std::optional<std::int64_t>(limit);
}

std::string OwnName() {
  const auto* const own = ::getpwuid(::geteuid());
  return own == nullptr ? std::string() : TextOf(own->pw_name);
}

}  // namespace

SubmitLimits LoadSubmitLimits() {
  auto user = OwnName();
  if (user.empty()) return {};
  const OwnedList users(slurm_list_create(nullptr));
  slurm_list_append(users.get(), user.data());
  assoc_mgr_info_request_msg_t request{};
  request.flags = ASSOC_MGR_INFO_FLAG_ASSOC | ASSOC_MGR_INFO_FLAG_QOS;
  request.user_list = users.get();
  const auto message = LoadFromSlurm<assoc_mgr_info_msg_t, slurm_free_assoc_mgr_info_msg>(
      "asking for the limits on jobs",
      [&](assoc_mgr_info_msg_t** out) { return slurm_load_assoc_mgr_info(&request, out); });
  SubmitLimits limits;
  ForEachIn<slurmdb_assoc_rec_t>(message->assoc_list, [&](const auto& association) {
    if (TextOf(association.user) != user) return;  // the account itself
    limits.accounts.push_back({TextOf(association.acct), JobsFrom(association.max_submit_jobs)});
  });
  ForEachIn<slurmdb_qos_rec_t>(message->qos_list, [&](const auto& qos) {
    const auto most = std::max(JobsFrom(qos.max_submit_jobs_pu), JobsFrom(qos.max_submit_jobs_pa));
    limits.qos.push_back({TextOf(qos.name), most});
  });
  return limits;
}

}  // namespace slipway::launcher
