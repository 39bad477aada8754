#include "launcher/cluster/module/answer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "launcher/cluster/module/cluster.h"
#include "launcher/cluster/module/jobs.h"
#include "launcher/cluster/module/library.h"
#include "launcher/cluster/slurm_messages.h"

namespace slipway::launcher {
namespace {

template <class Item>
Json List(const std::vector<Item>& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(ToJson(item));
  return list;
}

Json AnswerSubmit(const Json& request) {
  SubmitRequest job;
  FromJson(request.at("job"), job);
  return ToJson(Submit(std::move(job)));
}

Json AnswerEstimate(const Json& request) {
  SubmitRequest job;
  FromJson(request.at("job"), job);
  return ToJson(EstimateStart(std::move(job)));
}

std::uint32_t OwnerIn(const Json& request) { return request.value("owner", static_cast<std::uint32_t>(::geteuid())); }

std::vector<JobId> IdsIn(const Json& request) { return request.at("ids").get<std::vector<JobId>>(); }

/// Whether a job, or the array it belongs to, has one of these numbers.
auto HasOneOf(const std::set<JobId>& ids) {
  return [&ids](const slurm_job_info_t& info) {
    return ids.contains(info.job_id) || (info.array_job_id != 0 && ids.contains(info.array_job_id));
  };
}

/// A controller may let a user ask only a few times a second, and the whole answer has one deadline.
constexpr std::size_t kMostAskedOneByOne = 4;

std::vector<SlurmJob> JobsOfAnyone(const std::set<JobId>& ids) {
  if (ids.size() > kMostAskedOneByOne) return AllJobs(HasOneOf(ids));
  std::vector<SlurmJob> jobs;
  for (const auto id : ids) std::ranges::move(JobsOfNumber(id), std::back_inserter(jobs));
  return jobs;
}

/// Several are looked for among all of their owner's, which is one RPC as well.
Json AnswerJobs(const Json& request) {
  const auto asked = IdsIn(request);
  std::set<JobId> ids(asked.begin(), asked.end());
  if (ids.size() == 1) return List(JobsOfNumber(*ids.begin()));
  auto jobs = JobsOfUser(OwnerIn(request), HasOneOf(ids));
  if (!request.value("owner_in_doubt", false)) return List(jobs);
  for (const auto& job : jobs) {
    ids.erase(job.id);
    ids.erase(job.array_job);
  }
  std::ranges::move(JobsOfAnyone(ids), std::back_inserter(jobs));
  return List(jobs);
}

Json AnswerFind(const Json& request) {
  const auto comment = request.at("comment").get<std::string>();
  return List(JobsOfUser(OwnerIn(request), [&](const auto& info) { return TextOf(info.comment) == comment; }));
}

/// The number of the job that is to be acted on, if it is the one that is meant.
std::string CheckedJob(const Json& request) {
  JobIdentity meant;
  FromJson(request.at("job"), meant);
  RequireCluster(meant, ClusterName());
  const auto jobs = JobsOfNumber(meant.id);
  const auto is_meant = [&](const SlurmJob& job) { return IsMeant(meant, job); };
  if (!jobs.empty() && std::none_of(jobs.begin(), jobs.end(), is_meant)) RequireMeant(meant, jobs.front());
  return NumberOf(meant);
}

void Kill(const std::string& job, int signal, int flags, const std::string& during) {
  errno = 0;
  CheckSlurm(
      slurm_kill_job2(job.c_str(), static_cast<std::uint16_t>(signal), static_cast<std::uint16_t>(flags), nullptr),
      during);
}

Json AnswerCancel(const Json& request) {
  const auto job = CheckedJob(request);
  const auto flags = request.at("skip_stage_out").get<bool>() ? KILL_HURRY : 0;
  Kill(job, SIGKILL, flags, fmt::format("cancelling job {}", job));
  return Json::object();
}

/// A request about tasks of an array is answered for each of them.
template <class Ask>
void RequireAll(const std::string& during, Ask ask) {
  job_array_resp_msg_t* answers = nullptr;
  errno = 0;
  const int code = ask(&answers);
  const SlurmMessage<job_array_resp_msg_t, slurm_free_job_array_resp> owned(answers);
  CheckSlurm(code, during);
  for (std::uint32_t i = 0; answers != nullptr && i < answers->job_array_count; ++i) {
    CheckSlurm(static_cast<int>(answers->error_code[i]), during);
  }
}

std::uint16_t KillFlags(SignalTarget target) {
  switch (target) {
    case SignalTarget::kScript: return KILL_JOB_BATCH;
    case SignalTarget::kSteps: return KILL_STEPS_ONLY;
    case SignalTarget::kAll: break;
  }
  return KILL_FULL_JOB;
}

Json AnswerSignal(const Json& request) {
  const auto job = CheckedJob(request);
  const auto target = FromWord<SignalTarget>(request.at("to").get<std::string>());
  if (!target) throw Error(ErrorKind::kInternal, "a signal for whom?");
  Kill(job, request.at("signal").get<int>(), KillFlags(*target), fmt::format("sending a signal to job {}", job));
  return Json::object();
}

Json AnswerRequeue(const Json& request) {
  auto job = CheckedJob(request);
  RequireAll(fmt::format("putting job {} back into the queue", job),
             [&](job_array_resp_msg_t** answers) { return slurm_requeue2(job.data(), 0, answers); });
  return Json::object();
}

Json Answer(SlurmAsk ask, const Json& request) {
  switch (ask) {
    case SlurmAsk::kPing: return Json::object();
    case SlurmAsk::kCluster: return ToJson(LoadCluster());
    case SlurmAsk::kSubmit: return AnswerSubmit(request);
    case SlurmAsk::kEstimate: return AnswerEstimate(request);
    case SlurmAsk::kJobs: return AnswerJobs(request);
    case SlurmAsk::kPast: return List(PastJobsOf(IdsIn(request)));
    case SlurmAsk::kFind: return AnswerFind(request);
    case SlurmAsk::kCancel: return AnswerCancel(request);
    case SlurmAsk::kSignal: return AnswerSignal(request);
    case SlurmAsk::kRequeue: return AnswerRequeue(request);
    case SlurmAsk::kPartitions: return List(LoadPartitions());
    case SlurmAsk::kLimits: return ToJson(LoadSubmitLimits());
    case SlurmAsk::kNodes: break;
  }
  return List(LoadNodes());
}

std::string Answer(const char* text) {
  const auto request = Json::parse(text);
  const auto ask = FromWord<SlurmAsk>(request.at("ask").get<std::string>());
  if (!ask) throw Error(ErrorKind::kInternal, "an unknown request");
  Connect();
  auto result = Answer(*ask, request);
  return AnswerLine(std::move(result), ClusterName());
}

std::string AnswerOrError(const char* text) {
  try {
    return Answer(text);
  } catch (const SlurmError& error) {
    return AnswerLine(error.report());
  } catch (const std::exception& error) {
    return AnswerLine(TroubleReport{SlurmTrouble::kHelper, 0, error.what(), ""});
  }
}

}  // namespace
}  // namespace slipway::launcher

char* slipway_slurm_answer(const char* request) { return ::strdup(slipway::launcher::AnswerOrError(request).c_str()); }
