#include "launcher/cluster/module/cluster.h"

#include <fmt/format.h>

#include <utility>

#include "launcher/cluster/module/library.h"
#include "launcher/cluster/module/munge.h"

namespace slipway::launcher {
namespace {

constexpr std::pair<std::uint16_t, PartitionState> kNativePartitionStates[] = {
    {PARTITION_UP, PartitionState::kUp},
    {PARTITION_DOWN, PartitionState::kDown},
    {PARTITION_DRAIN, PartitionState::kDrain},
    {PARTITION_INACTIVE, PartitionState::kInactive}};

constexpr std::pair<std::uint32_t, const char*> kNodeStates[] = {
    {NODE_STATE_UNKNOWN, "UNKNOWN"},     {NODE_STATE_DOWN, "DOWN"},   {NODE_STATE_IDLE, "IDLE"},
    {NODE_STATE_ALLOCATED, "ALLOCATED"}, {NODE_STATE_ERROR, "ERROR"}, {NODE_STATE_MIXED, "MIXED"},
    {NODE_STATE_FUTURE, "FUTURE"},
};

/// The flags that say whether jobs can start there.
constexpr std::pair<std::uint64_t, const char*> kNodeFlags[] = {
    {NODE_STATE_RES, "RESERVED"},
    {NODE_STATE_DRAIN, "DRAIN"},
    {NODE_STATE_COMPLETING, "COMPLETING"},
    {NODE_STATE_NO_RESPOND, "NOT_RESPONDING"},
    {NODE_STATE_POWERED_DOWN, "POWERED_DOWN"},
    {NODE_STATE_POWERING_UP, "POWERING_UP"},
    {NODE_STATE_POWERING_DOWN, "POWERING_DOWN"},
    {NODE_STATE_FAIL, "FAIL"},
    {NODE_STATE_MAINT, "MAINT"},
    {NODE_STATE_REBOOT_REQUESTED, "REBOOT_REQUESTED"},
    {NODE_STATE_PLANNED, "PLANNED"},
    {NODE_STATE_INVALID_REG, "INVALID_REGISTRATION"},
};

/// Slurm's two ways to say that there is no number.
std::optional<int> Limit(std::uint32_t value) {
  return value >= NO_VAL ? std::nullopt : std::optional(static_cast<int>(value));
}

PartitionState StateOf(std::uint16_t state_up) {
  for (const auto& [number, state] : kNativePartitionStates) {
    if (state_up == number) return state;
  }
  return PartitionState::kInactive;
}

SlurmPartition PartitionFrom(const partition_info_t& info) {
  SlurmPartition partition;
  partition.name = TextOf(info.name);
  partition.is_default = (info.flags & PART_FLAG_DEFAULT) != 0;
  partition.state = StateOf(info.state_up);
  partition.max_time_minutes = Limit(info.max_time);
  partition.default_time_minutes = Limit(info.default_time);
  partition.max_nodes = Limit(info.max_nodes);
  partition.min_nodes = static_cast<int>(info.min_nodes);
  partition.total_nodes = static_cast<int>(info.total_nodes);
  partition.total_cpus = static_cast<int>(info.total_cpus);
  partition.max_cpus_per_node = Limit(info.max_cpus_per_node);
  partition.nodes = TextOf(info.nodes);
  partition.allow_accounts = TextOf(info.allow_accounts);
  partition.deny_accounts = TextOf(info.deny_accounts);
  partition.allow_qos = TextOf(info.allow_qos);
  partition.deny_qos = TextOf(info.deny_qos);
  partition.allow_groups = TextOf(info.allow_groups);
  partition.needs_reservation = (info.flags & PART_FLAG_REQ_RESV) != 0;
  partition.root_only = (info.flags & PART_FLAG_ROOT_ONLY) != 0;
  return partition;
}

std::string BaseStateOf(std::uint32_t node_state) {
  for (const auto& [number, name] : kNodeStates) {
    if ((node_state & NODE_STATE_BASE) == number) return name;
  }
  return std::to_string(node_state & NODE_STATE_BASE);
}

SlurmNode NodeFrom(const node_info_t& info) {
  SlurmNode node;
  node.name = TextOf(info.name);
  node.state = BaseStateOf(info.node_state);
  for (const auto& [bit, name] : kNodeFlags) {
    if ((info.node_state & bit) != 0) node.flags.emplace_back(name);
  }
  node.reason = TextOf(info.reason);
  node.cpus = info.cpus;
  node.cores = info.sockets * info.cores;
  node.memory_mib = static_cast<std::int64_t>(info.real_memory);
  node.features = TextOf(info.features_act != nullptr ? info.features_act : info.features);
  node.gres = TextOf(info.gres);
  node.address = TextOf(info.node_addr);
  return node;
}

std::string LibraryVersion() {
  return fmt::format("{}.{:02}.{}", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                     SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
}

}  // namespace

void Connect() {
  slurm_init(nullptr);
  const auto* const conf = LoadedConfiguration();
  if (conf != nullptr) CheckMunge(TextOf(conf->authtype), TextOf(conf->authinfo));
  const int controllers = conf != nullptr ? static_cast<int>(conf->control_cnt) : 1;
  int code = SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR;
  for (int i = 0; i < controllers; ++i) {
    errno = 0;
    const int result = slurm_ping(i);
    if (result == SLURM_SUCCESS) return;
    code = result > 0 ? result : errno;
  }
  CheckSlurm(code, "");
}

SlurmCluster LoadCluster() {
  const auto conf = LoadFromSlurm<slurm_conf_t, slurm_free_ctl_conf>(
      "asking for the configuration", [](slurm_conf_t** out) { return slurm_load_ctl_conf(0, out); });
  SlurmCluster cluster;
  cluster.name = TextOf(conf->cluster_name);
  cluster.controller_version = TextOf(conf->version);
  cluster.library_version = LibraryVersion();
  cluster.burst_buffer = TextOf(conf->bb_type);
  cluster.scheduler_parameters = TextOf(conf->sched_params);
  cluster.accounting = TextOf(conf->accounting_storage_type);
  cluster.mpi_default = TextOf(conf->mpi_default);
  cluster.preemption = TextOf(conf->preempt_type);
  cluster.min_job_age_s = static_cast<int>(conf->min_job_age);
  cluster.message_timeout_s = conf->msg_timeout;
  cluster.kill_wait_s = conf->kill_wait;
  cluster.max_array_size = conf->max_array_sz;
  cluster.max_jobs = conf->max_job_cnt;
  cluster.requeue_by_default = conf->job_requeue != 0;
  cluster.enforces_partition_limits = conf->enforce_part_limits != PARTITION_ENFORCE_NONE;
  cluster.enforces_accounts = conf->accounting_storage_enforce != 0;
  return cluster;
}

std::vector<SlurmPartition> LoadPartitions() {
  const auto message = LoadFromSlurm<partition_info_msg_t, slurm_free_partition_info_msg>(
      "asking for the partitions", [](partition_info_msg_t** out) { return slurm_load_partitions(0, out, SHOW_ALL); });
  std::vector<SlurmPartition> partitions;
  for (std::uint32_t i = 0; i < message->record_count; ++i) {
    partitions.push_back(PartitionFrom(message->partition_array[i]));
  }
  return partitions;
}

std::vector<SlurmNode> LoadNodes() {
  const auto message = LoadFromSlurm<node_info_msg_t, slurm_free_node_info_msg>(
      "asking for the nodes", [](node_info_msg_t** out) { return slurm_load_node(0, out, SHOW_ALL | SHOW_MIXED); });
  std::vector<SlurmNode> nodes;
  for (std::uint32_t i = 0; i < message->record_count; ++i) {
    if (message->node_array[i].name != nullptr) nodes.push_back(NodeFrom(message->node_array[i]));
  }
  return nodes;
}

}  // namespace slipway::launcher
