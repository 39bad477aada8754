#include "launcher/cluster/module/library.h"

#include <algorithm>
#include <cerrno>

// It is in the library, whose plugins need it, but not in its headers.
extern "C" __attribute__((weak)) slurm_conf_t slurm_conf;

namespace slipway::launcher {
namespace {

struct ErrorRow {
  int code;
  SlurmTrouble trouble;
};

constexpr ErrorRow kCodes[] = {
    {ESLURM_IN_STANDBY_MODE, SlurmTrouble::kController},
    {SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT, SlurmTrouble::kController},
    {SLURM_PROTOCOL_VERSION_ERROR, SlurmTrouble::kVersion},
    {SLURM_PROTOCOL_AUTHENTICATION_ERROR, SlurmTrouble::kAuthentication},
    {ESLURM_INVALID_PARTITION_NAME, SlurmTrouble::kPartition},
    {ESLURM_DEFAULT_PARTITION_NOT_SET, SlurmTrouble::kPartition},
    {ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP, SlurmTrouble::kPartition},
    {ESLURM_PARTITION_NOT_AVAIL, SlurmTrouble::kClosed},
    {ESLURM_PARTITION_DOWN, SlurmTrouble::kClosed},
    {ESLURM_INVALID_ACCOUNT, SlurmTrouble::kAccount},
    {ESLURM_INVALID_QOS, SlurmTrouble::kQos},
    {ESLURM_INVALID_TIME_LIMIT, SlurmTrouble::kTime},
    {ESLURM_MISSING_TIME_LIMIT, SlurmTrouble::kTime},
    {ESLURM_INVALID_NODE_COUNT, SlurmTrouble::kNodes},
    {ESLURM_REQUESTED_NODES_NOT_IN_PARTITION, SlurmTrouble::kNodes},
    {ESLURM_TOO_MANY_REQUESTED_CPUS, SlurmTrouble::kNodes},
    {ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, SlurmTrouble::kResources},
    {ESLURM_INVALID_FEATURE, SlurmTrouble::kResources},
    {ESLURM_INVALID_GRES, SlurmTrouble::kResources},
    {ESLURM_INVALID_GRES_TYPE, SlurmTrouble::kResources},
    {ESLURM_INVALID_TRES, SlurmTrouble::kResources},
    {ESLURM_INVALID_TASK_MEMORY, SlurmTrouble::kResources},
    {ESLURM_INVALID_CPU_COUNT, SlurmTrouble::kResources},
    {ESLURM_INVALID_LICENSES, SlurmTrouble::kResources},
    {ESLURM_BAD_TASK_COUNT, SlurmTrouble::kResources},
    {ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE, SlurmTrouble::kLimit},
    {ESLURM_ACCOUNTING_POLICY, SlurmTrouble::kLimit},
    {ESLURM_QOS_THRES, SlurmTrouble::kLimit},
    {ESLURM_INVALID_ARRAY, SlurmTrouble::kLimit},
    {EAGAIN, SlurmTrouble::kFull},
    {ESLURM_INVALID_BURST_BUFFER_REQUEST, SlurmTrouble::kBurstBuffer},
    {ESLURM_INVALID_BURST_BUFFER_CHANGE, SlurmTrouble::kBurstBuffer},
    {ESLURM_BURST_BUFFER_PERMISSION, SlurmTrouble::kBurstBuffer},
    {ESLURM_BURST_BUFFER_LIMIT, SlurmTrouble::kBurstBuffer},
    {ESLURM_DEPENDENCY, SlurmTrouble::kDependency},
    {ESLURM_CIRCULAR_DEPENDENCY, SlurmTrouble::kDependency},
    {ESLURM_RESERVATION_ACCESS, SlurmTrouble::kReservation},
    {ESLURM_RESERVATION_INVALID, SlurmTrouble::kReservation},
    {ESLURM_RESERVATION_NOT_USABLE, SlurmTrouble::kReservation},
    {ESLURM_ACCESS_DENIED, SlurmTrouble::kDenied},
    {ESLURM_USER_ID_MISSING, SlurmTrouble::kDenied},
    {ESLURM_INVALID_JOB_ID, SlurmTrouble::kUnknownJob},
    {ESLURM_ALREADY_DONE, SlurmTrouble::kOver},
    {ESLURM_JOB_FINISHED, SlurmTrouble::kOver},
    {ESLURM_JOB_PENDING, SlurmTrouble::kNotNow},
    {ESLURM_TRANSITION_STATE_NO_UPDATE, SlurmTrouble::kNotNow},
    {ESLURM_JOB_NOT_RUNNING, SlurmTrouble::kNotNow},
    {ESLURM_JOB_SETTING_DB_INX, SlurmTrouble::kNotNow},
};

bool LiesIn(int code, int first, int last) { return code >= first && code <= last; }

}  // namespace

const slurm_conf_t* LoadedConfiguration() { return &slurm_conf; }

std::string ClusterName() {
  const auto* const conf = LoadedConfiguration();
  return conf != nullptr ? TextOf(conf->cluster_name) : std::string();
}

SlurmTrouble TroubleOf(int code) {
  const auto* const row =
      std::find_if(std::begin(kCodes), std::end(kCodes), [&](const ErrorRow& each) { return each.code == code; });
  if (row != std::end(kCodes)) return row->trouble;
  if (LiesIn(code, SLURM_COMMUNICATIONS_CONNECTION_ERROR, SLURM_COMMUNICATIONS_SHUTDOWN_ERROR) ||
      LiesIn(code, SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR, SLURMCTLD_COMMUNICATIONS_SHUTDOWN_ERROR)) {
    return SlurmTrouble::kController;
  }
  if (LiesIn(code, ESLURM_AUTH_CRED_INVALID, ESLURM_AUTH_UNPACK)) return SlurmTrouble::kAuthentication;
  return SlurmTrouble::kRefused;
}

bool MeansWaiting(int code) {
  constexpr int kWaiting[] = {ESLURM_NODES_BUSY, ESLURM_NODE_NOT_AVAIL, ESLURM_RESERVATION_BUSY, ESLURM_JOB_HELD,
                              ESLURM_BURST_BUFFER_WAIT};
  return std::find(std::begin(kWaiting), std::end(kWaiting), code) != std::end(kWaiting);
}

void CheckSlurm(int result, std::string_view during) {
  if (result == SLURM_SUCCESS) return;
  const int code = result > 0 ? result : errno;
  throw SlurmError({TroubleOf(code), code, TextOf(slurm_strerror(code)), std::string(during)});
}

}  // namespace slipway::launcher
