#include "launcher/cluster/slurm_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/files.h"
#include "core/install.h"
#include "core/memory_file.h"
#include "core/process.h"
#include "launcher/cluster/slurm_conf.h"
#include "launcher/cluster/slurm_messages.h"

namespace slipway::launcher {

namespace {

/// slurmdbd may be busy with its database for minutes, and what it tells is good to know, no more.
constexpr std::chrono::milliseconds kDatabasePatience = std::chrono::seconds(5);

std::string Text(const Json& request) {
  try {
    return request.dump();
  } catch (const Json::exception&) {
    throw Error(ErrorKind::kUsage, "the job's script, environment or paths hold bytes that are not UTF-8",
                "find them with: env | iconv -f utf-8 -t utf-8 >/dev/null");
  }
}

std::string SaidByHelper(const Captured& captured) { return EndOfErrors(captured.errors, "slipway-slurm: "); }

void CheckConfiguration(const Environment& environment) {
  const auto conf = environment.Get("SLURM_CONF");
  if (!conf || conf->empty() || Exists(*conf)) return;
  throw SlurmError(
      {SlurmTrouble::kNoConfiguration, 0, fmt::format("SLURM_CONF names '{}', which is not there", *conf), ""});
}

/// Why the helper ended without an answer: libslurm ends its process where there is no configuration, or a wrong one.
[[noreturn]] void ThrowWithoutAnswer(const Captured& captured, const Environment& environment) {
  if (!FindSlurmConf(environment)) throw SlurmError({SlurmTrouble::kNoConfiguration, 0, SaidByHelper(captured), ""});
  throw SlurmError(
      {SlurmTrouble::kHelper, 0, fmt::format("{} ({})", SaidByHelper(captured), captured.status.Describe()), ""});
}

[[noreturn]] void ThrowLate(const Captured& captured, std::chrono::milliseconds deadline) {
  const auto said = SaidByHelper(captured);
  throw SlurmError({SlurmTrouble::kTimeout, 0,
                    fmt::format("no answer in {} s{}{}", static_cast<double>(deadline.count()) / 1000.0,
                                said.empty() ? "" : "; so far: ", said),
                    ""});
}

/// Adds what Slurm or a plugin printed to the error: some reasons appear only there.
[[noreturn]] void ThrowWithWords(const SlurmError& error, const Captured& captured) {
  auto report = error.report();
  if (const auto said = SaidByHelper(captured); !said.empty()) report.text += fmt::format(" ({})", said);
  throw SlurmError(std::move(report));
}

template <class Item>
Item ItemFrom(const Json& document) {
  Item item;
  FromJson(document, item);
  return item;
}

template <class Item>
std::vector<Item> ItemsFrom(const Json& documents) {
  std::vector<Item> items;
  for (const auto& document : documents) items.push_back(ItemFrom<Item>(document));
  return items;
}

/// What is to be done to a job.
Json RequestFor(SlurmAsk ask, const JobIdentity& job) {
  auto request = RequestFor(ask);
  request["job"] = ToJson(job);
  return request;
}

/// The one that is meant.
std::optional<SlurmJob> Meant(const JobIdentity& job, std::vector<SlurmJob> found) {
  for (auto& each : found) {
    if (IsMeant(job, each)) return std::move(each);
  }
  return {};
}

bool MayHaveHappened(SlurmTrouble trouble) {
  return trouble == SlurmTrouble::kTimeout || trouble == SlurmTrouble::kHelper;
}

}  // namespace

SlurmClient::SlurmClient(SlurmClientOptions options) : options_(std::move(options)) {
  if (options_.helper.empty()) options_.helper = HelperProgram("slipway-slurm");
}

Json SlurmClient::Ask(const Json& request, std::chrono::milliseconds deadline) const {
  CheckConfiguration(options_.environment);
  const auto input = FileInMemory(Text(request));
  SpawnOptions spawn;
  spawn.argv = {options_.helper.string()};
  spawn.environment = options_.environment;
  spawn.stdin_fd = input.get();
  const auto captured = RunAndCapture(std::move(spawn), deadline);
  if (captured.timed_out) ThrowLate(captured, deadline);
  if (captured.output.empty()) ThrowWithoutAnswer(captured, options_.environment);
  try {
    auto answer = AnswerIn(captured.output);
    cluster_ = std::move(answer.cluster);
    return std::move(answer.result);
  } catch (const SlurmError& error) {
    ThrowWithWords(error, captured);
  }
}

Json SlurmClient::Ask(const Json& request) const { return Ask(request, options_.deadline); }

void SlurmClient::Ping() const { Ask(RequestFor(SlurmAsk::kPing)); }

std::string SlurmClient::ClusterName() const {
  if (cluster_.empty()) Ping();
  return cluster_;
}

SlurmCluster SlurmClient::Cluster() const { return ItemFrom<SlurmCluster>(Ask(RequestFor(SlurmAsk::kCluster))); }

std::vector<SlurmPartition> SlurmClient::Partitions() const {
  return ItemsFrom<SlurmPartition>(Ask(RequestFor(SlurmAsk::kPartitions)));
}

std::vector<SlurmNode> SlurmClient::Nodes() const { return ItemsFrom<SlurmNode>(Ask(RequestFor(SlurmAsk::kNodes))); }

SubmitLimits SlurmClient::LimitsOnJobs() const { return ItemFrom<SubmitLimits>(Ask(RequestFor(SlurmAsk::kLimits))); }

Submission SlurmClient::Submit(const SubmitRequest& job) const {
  auto request = RequestFor(SlurmAsk::kSubmit);
  request["job"] = ToJson(job);
  try {
    return ItemFrom<Submission>(Ask(request, options_.submit_deadline));
  } catch (SlurmError& error) {
    if (MayHaveHappened(error.trouble())) error.AddContext("the job may have been submitted all the same");
    throw;
  }
}

StartEstimate SlurmClient::EstimateStart(const SubmitRequest& job) const {
  auto request = RequestFor(SlurmAsk::kEstimate);
  request["job"] = ToJson(job);
  return ItemFrom<StartEstimate>(Ask(request));
}

std::vector<SlurmJob> SlurmClient::Jobs(std::span<const JobId> ids, std::optional<std::uint32_t> owner,
                                        OwnerIs known) const {
  if (ids.empty()) return {};
  auto request = RequestFor(SlurmAsk::kJobs);
  request["ids"] = std::vector<JobId>(ids.begin(), ids.end());
  if (owner) request["owner"] = *owner;
  if (known == OwnerIs::kInDoubt) request["owner_in_doubt"] = true;
  return ItemsFrom<SlurmJob>(Ask(request));
}

std::optional<SlurmJob> SlurmClient::Job(const JobIdentity& job) const {
  auto found = Jobs(std::span(&job.id, 1));
  RequireCluster(job, cluster_);
  return Meant(job, std::move(found));
}

std::vector<SlurmJob> SlurmClient::PastJobs(std::span<const JobId> ids) const {
  if (ids.empty()) return {};
  auto request = RequestFor(SlurmAsk::kPast);
  request["ids"] = std::vector<JobId>(ids.begin(), ids.end());
  return ItemsFrom<SlurmJob>(Ask(request, std::min(options_.deadline, kDatabasePatience)));
}

std::optional<SlurmJob> SlurmClient::PastJob(const JobIdentity& job) const {
  return Meant(job, PastJobs(std::span(&job.id, 1)));
}

std::vector<SlurmJob> SlurmClient::FindJobs(std::string_view comment, std::optional<std::uint32_t> owner) const {
  auto request = RequestFor(SlurmAsk::kFind);
  request["comment"] = comment;
  if (owner) request["owner"] = *owner;
  return ItemsFrom<SlurmJob>(Ask(request));
}

void SlurmClient::Cancel(const JobIdentity& job, StageOut stage_out) const {
  auto request = RequestFor(SlurmAsk::kCancel, job);
  request["skip_stage_out"] = stage_out == StageOut::kSkip;
  Ask(request);
}

void SlurmClient::Signal(const JobIdentity& job, int signal, SignalTarget target) const {
  auto request = RequestFor(SlurmAsk::kSignal, job);
  request["signal"] = signal;
  request["to"] = WordOf(target);
  Ask(request);
}

void SlurmClient::Requeue(const JobIdentity& job) const { Ask(RequestFor(SlurmAsk::kRequeue, job)); }

}  // namespace slipway::launcher
