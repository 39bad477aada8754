#include "launcher/cluster/wait_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"

namespace slipway::launcher {
namespace {

/// Takes `part` off the front of `text`.
bool Take(std::string_view& text, std::string_view part) {
  if (!text.starts_with(part)) return false;
  text.remove_prefix(part.size());
  return true;
}

template <class Value, std::size_t size>
std::optional<Value> TakeOneOf(std::string_view& text, const std::pair<std::string_view, Value> (&table)[size]) {
  for (const auto& [word, value] : table) {
    if (Take(text, word)) return value;
  }
  return {};
}

/// "MaxCpuPerAccount" is a limit of the QOS too.
constexpr std::pair<std::string_view, LimitOwner> kOwners[] = {
    {"Assoc", LimitOwner::kAssociation}, {"QOS", LimitOwner::kQos}, {"", LimitOwner::kQos}};
constexpr std::pair<std::string_view, LimitKind> kKinds[] = {
    {"Grp", LimitKind::kTotal}, {"Max", LimitKind::kMost}, {"Min", LimitKind::kLeast}};
/// A word comes before those that it begins with.
constexpr std::pair<std::string_view, std::string_view> kResources[] = {
    {"Cpu", "CPUs"},
    {"CPU", "CPUs"},
    {"Memory", "memory"},
    {"Mem", "memory"},
    {"Node", "nodes"},
    {"GRES", "GPUs and other devices"},
    {"License", "licenses"},
    {"Energy", "energy"},
    {"Billing", "billing units"},
    {"BB", "burst buffer"},
    {"Unknown", "a resource that Slurm does not name"},
    {"SubmitJobs", "jobs in the queue"},
    {"SubmitJob", "jobs in the queue"},
    {"Jobs", "running jobs"},
    {"WallDuration", "run time"},
    {"Wall", "run time"},
};
constexpr std::pair<std::string_view, LimitTime> kTimes[] = {
    {"RunMinutes", LimitTime::kMinutesOfRunning}, {"Minutes", LimitTime::kMinutes}, {"", LimitTime::kAtOnce}};
constexpr std::pair<std::string_view, LimitScope> kLimitScopes[] = {{"PerJob", LimitScope::kPerJob},
                                                                    {"PerNode", LimitScope::kPerNode},
                                                                    {"PerUser", LimitScope::kPerUser},
                                                                    {"PerAccount", LimitScope::kPerAccount},
                                                                    {"", LimitScope::kAll}};

std::string_view OwnerWords(LimitOwner owner) { return owner == LimitOwner::kQos ? "its QOS" : "its account"; }

std::string ResourceWords(const LimitReason& limit) {
  if (limit.time == LimitTime::kAtOnce) return std::string(limit.resource);
  return fmt::format("{} times minutes{}", limit.resource,
                     limit.time == LimitTime::kMinutesOfRunning ? " of the jobs that run" : "");
}

std::string_view ScopeWords(LimitScope scope) {
  switch (scope) {
    case LimitScope::kPerJob: return " for one job";
    case LimitScope::kPerNode: return " on one node";
    case LimitScope::kPerUser: return " for one user";
    case LimitScope::kPerAccount: return " for one account";
    case LimitScope::kAll: break;
  }
  return "";
}

/// Whether other jobs count against the limit too, so that it may be kept by waiting.
bool IsShared(const LimitReason& limit) {
  return limit.kind != LimitKind::kLeast && limit.scope != LimitScope::kPerJob && limit.scope != LimitScope::kPerNode;
}

std::string NextStep(const LimitReason& limit) {
  const std::string_view list =
      limit.owner == LimitOwner::kQos ? "sacctmgr show qos" : "sacctmgr show associations user=$USER";
  if (!IsShared(limit))
    return fmt::format("change what is asked for, or name another account or QOS; {} lists the limits", list);
  if (limit.time == LimitTime::kMinutes)
    return fmt::format("ask for a larger budget, or name another account; {} lists the limits", list);
  return fmt::format("wait for those jobs to end; {} lists the limits", list);
}

}  // namespace

std::optional<LimitReason> LimitOf(std::string_view reason) {
  LimitReason limit;
  limit.owner = *TakeOneOf(reason, kOwners);
  const auto kind = TakeOneOf(reason, kKinds);
  const auto resource = TakeOneOf(reason, kResources);
  if (!kind || !resource) return {};
  limit.kind = *kind;
  limit.resource = *resource;
  limit.time = *TakeOneOf(reason, kTimes);
  limit.scope = *TakeOneOf(reason, kLimitScopes);
  if (!Take(reason, "Limit")) Take(reason, "NotSatisfied");
  return reason.empty() ? std::optional(limit) : std::nullopt;
}

ReasonInWords Explain(const LimitReason& limit) {
  const auto owner = OwnerWords(limit.owner);
  const auto resource = ResourceWords(limit);
  const auto scope = ScopeWords(limit.scope);
  if (limit.kind == LimitKind::kLeast) {
    return {fmt::format("it asks for less {} than {} wants of each job", resource, owner), NextStep(limit)};
  }
  if (!IsShared(limit)) {
    return {fmt::format("it asks for more {} than {} allows{}", resource, owner, scope), NextStep(limit)};
  }
  return {fmt::format("{} already has as much as it allows{}: {}", owner, scope, resource), NextStep(limit)};
}

namespace {

struct ReasonRow {
  std::string_view name;
  std::string_view sentence;
  std::string_view next_step;
};

/// Stands for the job's number in what a reason advises.
constexpr std::string_view kNumber = "{job}";
constexpr std::string_view kSmaller = "ask for less, or name another partition: slipway plan shows what is asked for";
constexpr std::string_view kAskSite = "ask the site's support";

constexpr ReasonRow kReasons[] = {
    {"None", "Slurm has not looked at it yet", ""},
    {"Priority", "jobs with a higher priority are ahead of it in the queue",
     "wait; a shorter time limit may let it run in a gap"},
    {"Resources", "it is the next one, and waits until enough nodes are free",
     "wait; fewer nodes or a shorter time limit start sooner"},
    {"Dependency", "it waits for another job to end", ""},
    {"DependencyNeverSatisfied", "the job that it waits for has ended in a way that will never let it start",
     "cancel it, and submit it without that dependency"},
    {"PartitionNodeLimit", "it asks for more nodes than the partition allows, or than are up there", kSmaller},
    {"PartitionTimeLimit", "its time limit is longer than the partition allows",
     "lower launch.time_limit, or name a partition that allows as much"},
    {"PartitionDown", "its partition is down: jobs are taken, but none starts", "wait, or name another partition"},
    {"PartitionInactive", "its partition is inactive", "name another partition"},
    {"PartitionConfig", "it asks for what its partition does not offer", kSmaller},
    {"JobHeldAdmin", "it is held by the system, or by an administrator",
     "ask the site's support, or look at its comment: "
     "a burst buffer that could not be filled holds its job so"},
    {"JobHeldUser", "it is held by its owner", "scontrol release {job} lets it go"},
    {"JobHoldMaxRequeue", "it was put back into the queue too often and is held",
     "look into the logs of its attempts, then "
     "scontrol release {job}"},
    {"BeginTime", "its begin time has not come; a job that was put back into the queue waits about two minutes", ""},
    {"Licenses", "the licenses that it asks for are in use", "wait"},
    {"Reservation", "its reservation has not begun, or has no free nodes",
     "wait, or submit without launch.slurm.reservation"},
    {"ReservationDeleted", "its reservation was deleted", "submit again without launch.slurm.reservation"},
    {"ReqNodeNotAvail", "a node that it needs is down, drained or reserved, often for an announced maintenance",
     "a time limit that ends before the maintenance may let it run; sinfo --reservation shows when that is"},
    {"FrontEndDown", "no front-end node is up", kAskSite},
    {"SchedDefer", "Slurm looks at it later: many jobs were submitted at once", ""},
    {"NodeDown", "one of its nodes is down", "wait: Slurm looks for others when it is requeued"},
    {"BadConstraints", "no node can satisfy what it asks for",
     "check nodes, cores, GPUs, memory and constraint against what sinfo -o '%P %D %c %m %G %f' shows"},
    {"SystemFailure", "Slurm itself failed", kAskSite},
    {"JobLaunchFailure", "Slurm could not start it on its nodes, often because of the file system or the prolog",
     kAskSite},
    {"NonZeroExitCode", "its script ended with another exit status than 0", "slipway logs shows why"},
    {"TimeLimit", "it reached its time limit", "raise launch.time_limit, or let it requeue and resume"},
    {"InactiveLimit", "it reached the site's limit for inactive jobs", kAskSite},
    {"InvalidAccount", "its account is not known, or may not be used there",
     "set launch.slurm.account to one that sacctmgr show associations user=$USER lists"},
    {"AccountNotAllowed", "its account may not use this partition", "name another account or partition"},
    {"InvalidQOS", "its QOS is not known",
     "set launch.slurm.qos to one that sacctmgr show associations user=$USER lists"},
    {"QOSNotAllowed", "its QOS may not be used with this partition or account", "name another QOS or partition"},
    {"QOSUsageThreshold", "its QOS needs more fair-share than its account has left", "wait, or name another QOS"},
    {"AssociationJobLimit", "its user or account already has as many jobs as allowed", "wait"},
    {"AssociationResourceLimit", "its user or account already uses as much as allowed", "wait, or ask for less"},
    {"AssociationTimeLimit", "its user or account has used up its time", "ask for less time, or for a larger budget"},
    {"QOSJobLimit", "its QOS already has as many jobs as allowed", "wait"},
    {"QOSResourceLimit", "its QOS already uses as much as allowed", "wait, or ask for less"},
    {"QOSTimeLimit", "its QOS has used up its time", "ask for less time, or name another QOS"},
    {"AccountingPolicy", "a limit of its account or QOS holds it",
     "sacctmgr show associations user=$USER lists the limits"},
    {"MaxMemPerLimit", "it asks for more memory on each node than the partition allows",
     "lower launch.memory_per_rank"},
    {"Cleaning", "its last attempt is still being cleaned up", ""},
    {"Prolog", "the site's prolog prepares its nodes", ""},
    {"JobArrayTaskLimit", "as many tasks of its array run as may run at once", ""},
    {"BurstBufferResources", "it waits until the burst buffer has free space", "wait, or ask for less capacity"},
    {"BurstBufferStageIn", "its data is being copied into the burst buffer", ""},
    {"BurstBufferOperation", "an operation on the burst buffer failed",
     "read the reason in slipway status; ask an operator to release the job, or cancel and submit again"},
    {"PowerNotAvail", "there is not enough electrical power for it now", ""},
    {"PowerReserved", "the electrical power that it needs is reserved for others", ""},
    {"DeadLine", "its deadline has come", "submit it with a later deadline"},
    {"OutOfMemory", "it used more memory than it asked for", "raise launch.memory_per_rank"},
    {"FedJobLock", "the clusters of the federation are deciding who runs it", ""},
};

ReasonInWords ExplainReason(std::string_view reason) {
  const auto* const row = std::find_if(std::begin(kReasons), std::end(kReasons),
                                       [&](const ReasonRow& candidate) { return candidate.name == reason; });
  if (row != std::end(kReasons)) return {std::string(row->sentence), std::string(row->next_step)};
  if (const auto limit = LimitOf(reason)) return Explain(*limit);
  return {fmt::format("Slurm's reason is '{}'", reason), "see 'JOB REASON CODES' in the manual page of squeue"};
}

std::string WithNumber(std::string text, JobId job) {
  const auto at = text.find(kNumber);
  return at == std::string::npos ? text : text.replace(at, kNumber.size(), std::to_string(job));
}

}  // namespace

ReasonInWords ExplainWait(const SlurmJob& job) {
  auto words = ExplainReason(job.reason);
  words.next_step = WithNumber(std::move(words.next_step), job.id);
  return words;
}

std::string DescribeWait(const SlurmJob& job, std::string_view number, const ReasonInWords& why) {
  auto text = fmt::format("job {} waits: {}", number, why.sentence);
  if (!why.next_step.empty()) text += "; " + why.next_step;
  if (job.start && !job.IsHeld()) text += fmt::format(" (expected to start {})", FormatUtc(*job.start));
  return text;
}

std::string DescribeSuspended(std::string_view number) {
  return fmt::format("job {} is suspended by Slurm: it keeps its nodes", number);
}

}  // namespace slipway::launcher
