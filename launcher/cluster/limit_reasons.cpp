#include "launcher/cluster/limit_reasons.h"

#include <fmt/format.h>

#include <string>
#include <utility>

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

}  // namespace slipway::launcher
