#include "launcher/plan/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/install.h"
#include "launcher/cluster/directive_text.h"
#include "launcher/plan/promised_buffer.h"
#include "launcher/plan/trial_document.h"
#include "launcher/spec/burst_buffer_spec.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

/// The run's id; for a trial, whose folder is RUN/trials/00007, with that of its run: "RUN-00007".
std::string NameOfRun(const fs::path& folder) {
  const auto parent = folder.parent_path();
  const auto id = folder.filename().string();
  return parent.filename() == "trials" ? parent.parent_path().filename().string() + "-" + id : id;
}

/// The folder of the buffer that directives stage into, with a folder for each dataset. In a buffer that outlives its
/// job each run has its own: two jobs may stage at a time.
std::string StagedInFor(const BurstBufferSpec& buffer, const fs::path& folder) {
  return buffer.persistent.empty() ? "staged" : "staged-" + NameOfRun(folder);
}

/// slurmctld looks at the clock about every half minute.
constexpr int kSlack = 60;

/// Never more than half of the time there is.
int LeadFor(const LaunchSpec& launch) {
  const auto lead = static_cast<int>(std::ceil(launch.slurm.signal_before.count())) + kSlack;
  return launch.time_limit ? std::min(lead, WholeMinutes(*launch.time_limit) * 30) : lead;
}

bool CountsAsMemory(const staging::StagingPlan& dataset) { return dataset.tier == "ram" || dataset.counts_as_memory; }

/// Those that run at a time on one node: of as many trials as the ensemble wants there.
int RanksOnANode(const Spec& spec) {
  const auto& launch = spec.launch;
  if (!spec.ensemble) return launch.ranks_per_node;
  const int shares = spec.ensemble->parallel.value_or(1) * launch.nodes_per_job;
  return launch.ranks_per_node * std::max(1, (shares + launch.nodes - 1) / launch.nodes);
}

/// A single run may go on without a lost node, or with a spare one; an ensemble on several always does.
bool OutlivesANode(const Spec& spec) {
  return spec.resilience.on_node_failure == OnNodeFailure::kExclude || spec.resilience.spare_nodes > 0 ||
         (spec.ensemble && spec.launch.nodes > 1);
}

/// Shares differ: the largest.
Bytes NeedOfANode(const staging::StagingPlan& dataset) {
  if (dataset.layout == staging::Layout::kShard) return dataset.largest_share;
  return staging::PlannedNeedOf(dataset.files, {}).bytes;
}

/// The ranks' and that of what is staged in RAM, which a job's limit of memory covers as well.
std::optional<Bytes> MemoryFor(const Plan& plan) {
  const auto& launch = plan.spec().launch;
  if (launch.slurm.memory_per_node) return launch.slurm.memory_per_node;
  if (!launch.memory_per_rank) return {};
  Bytes memory{launch.memory_per_rank->count * static_cast<std::uint64_t>(RanksOnANode(plan.spec()))};
  for (const auto& dataset : plan.data) {
    if (CountsAsMemory(dataset)) memory.count += NeedOfANode(dataset).count;
  }
  return memory;
}

// ---- burst buffer

bool GoesIntoBuffer(const staging::StagingPlan& dataset) { return IsPromised(dataset.root); }

/// A place that each node has for itself takes what a node holds as often as there are nodes; shares add up likewise.
Bytes NeedOfAllNodes(const staging::StagingPlan& dataset) {
  const auto need = NeedOfANode(dataset).count;
  const bool one_copy = dataset.scope == staging::TierScope::kJob && dataset.layout == staging::Layout::kReplica;
  return Bytes{one_copy ? need : need * static_cast<std::uint64_t>(dataset.nodes)};
}

Bytes CapacityFor(const Plan& plan) {
  const auto& buffer = plan.spec().launch.slurm.burst_buffer;
  if (buffer.capacity) return *buffer.capacity;
  if (IsPromised(plan.checkpoints.root) || !buffer.stage_out.empty()) {
    throw Error(ErrorKind::kUsage, "the size of the burst buffer is unknown: the program writes into it",
                "set launch.slurm.burst_buffer.capacity");
  }
  Bytes need;
  for (const auto& dataset : plan.data) {
    if (GoesIntoBuffer(dataset)) need.count += NeedOfAllNodes(dataset).count;
  }
  return Bytes{static_cast<std::uint64_t>(std::ceil(static_cast<double>(need.count) * (1 + buffer.headroom)))};
}

/// Lists stage files under their own names, one to a line.
bool CanBeListed(const staging::StagingPlan& dataset) {
  return std::all_of(dataset.files.begin(), dataset.files.end(), [](const auto& file) {
    return file.name == file.path.filename() && file.path.native().find('\n') == std::string::npos;
  });
}

/// Directives have no quotes; a list takes any name.
bool NeedsAList(const staging::StagingPlan& dataset) {
  return dataset.files.size() > 1 || !WhyNotInBufferDirective(dataset.files.front().path.native()).empty();
}

fs::path ListFor(const staging::StagingPlan& dataset, const fs::path& folder) {
  return folder / fmt::format("stage-in-{}.list", dataset.request.name);
}

std::vector<BufferTransfer> TransfersOf(const staging::StagingPlan& dataset, const BurstBufferSpec& buffer,
                                        const fs::path& folder) {
  const auto inside = fmt::format("{}/{}", StagedInFor(buffer, folder), dataset.request.name);
  if (buffer.type != BurstBufferKind::kDws && NeedsAList(dataset) && CanBeListed(dataset)) {
    return {{TransferKind::kList, ListFor(dataset, folder), inside}};
  }
  std::vector<BufferTransfer> transfers;
  for (const auto& file : dataset.files) {
    transfers.push_back({TransferKind::kFile, file.path, fmt::format("{}/{}", inside, file.name.native())});
  }
  return transfers;
}

bool WantsBuffer(const Plan& plan) {
  const auto& buffer = plan.spec().launch.slurm.burst_buffer;
  const bool used = std::any_of(plan.data.begin(), plan.data.end(), GoesIntoBuffer);
  return buffer.type != BurstBufferKind::kNone && (used || buffer.capacity || !buffer.persistent.empty() ||
                                                   !buffer.stage_out.empty() || IsPromised(plan.checkpoints.root));
}

void AddBuffer(const Plan& plan, const fs::path& folder, BatchJob& job) {
  if (!WantsBuffer(plan)) return;
  const auto& spec = plan.spec().launch.slurm.burst_buffer;
  const bool exists = !spec.persistent.empty() && spec.action != PersistentAction::kCreate;
  job.burst_buffer = BufferOf(spec, exists ? Bytes{} : CapacityFor(plan));
  for (const auto& dataset : plan.data) {
    if (!IsStagedByDirective(plan, dataset)) continue;
    const auto transfers = TransfersOf(dataset, spec, folder);
    job.burst_buffer.in.insert(job.burst_buffer.in.end(), transfers.begin(), transfers.end());
  }
  if (!job.burst_buffer.in.empty()) job.staged_in = StagedInFor(spec, folder);
}

// ---- the rest

void AddNodes(const Plan& plan, BatchJob& job) {
  const auto& launch = plan.spec().launch;
  job.nodes = plan.spec().nodes_of_job();
  job.ranks_per_node = RanksOnANode(plan.spec());
  job.cpus_per_rank = launch.cpus_per_rank;
  job.gpus_per_rank = launch.gpus_per_rank;
  job.memory_per_node = MemoryFor(plan);
  if (launch.time_limit) job.time_limit_minutes = WholeMinutes(*launch.time_limit);
  job.signal_lead_s = LeadFor(launch);
  job.no_kill = OutlivesANode(plan.spec());
}

void AddSite(const SlurmSpec& slurm, BatchJob& job) {
  job.account = slurm.account;
  job.partition = slurm.partition;
  job.qos = slurm.qos;
  job.constraint = slurm.constraint;
  job.reservation = slurm.reservation;
  job.licenses = slurm.licenses;
  job.gpu_type = slurm.gpu_type;
  job.requeue = slurm.requeue;
  job.exclusive = slurm.exclusive;
  job.extra = slurm.extra;
}

}  // namespace

/// What a directive can bring: all of it, for all nodes, in one place.
bool IsStagedByDirective(const Plan& plan, const staging::StagingPlan& dataset) {
  return plan.spec().launch.slurm.burst_buffer.stage_in && GoesIntoBuffer(dataset) &&
         dataset.scope == staging::TierScope::kJob && dataset.layout == staging::Layout::kReplica;
}

std::string JobComment(const fs::path& folder) { return "slipway:" + NameOfRun(folder); }

BatchJob MakeBatchJob(const Plan& plan, const fs::path& folder) {
  const auto& launch = plan.spec().launch;
  BatchJob job;
  job.name = plan.spec().name;
  job.comment = JobComment(folder);
  AddSite(launch.slurm, job);
  AddNodes(plan, job);
  job.directory = folder;
  job.output = folder / "manager.log";
  if (plan.container && plan.container->runtime == ContainerRuntime::kShifter)
    job.shifter_image = plan.container->image;
  AddBuffer(plan, folder, job);
  job.modules = launch.modules;
  job.environment = launch.env;
  job.command = {(InstallPrefix() / "bin" / "slipway").string(), "manage", folder.string()};
  return job;
}

BatchJob SubmittedJob(const Plan& plan) {
  const auto submitted = PlanSubmitted(plan);
  return MakeBatchJob(submitted.plan, submitted.folder);
}

std::vector<StageList> StageLists(const Plan& plan, const fs::path& folder) {
  const auto job = MakeBatchJob(plan, folder);
  std::vector<StageList> lists;
  for (const auto& dataset : plan.data) {
    const auto path = ListFor(dataset, folder);
    const auto named = std::any_of(job.burst_buffer.in.begin(), job.burst_buffer.in.end(),
                                   [&](const auto& transfer) { return transfer.outside == path; });
    if (!named) continue;
    std::string content;
    for (const auto& file : dataset.files) content += file.path.native() + "\n";
    lists.push_back({path, std::move(content)});
  }
  return lists;
}

}  // namespace slipway::launcher
