/// The messages between the launcher and its helper slipway-slurm, as JSON, one document on one line each way.
///
/// Both sides are built from this file, so one list of fields serves writing and reading.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/words.h"
#include "launcher/cluster/job_identity.h"
#include "launcher/cluster/slurm_trouble.h"
#include "launcher/cluster/slurm_types.h"

namespace slipway::launcher {

inline constexpr std::string_view kSlurmRequestSchema = "slipway.slurm-request/1";
inline constexpr std::string_view kSlurmAnswerSchema = "slipway.slurm-answer/1";

/// The requests that the helper understands.
enum class SlurmAsk {
  kPing,
  kCluster,
  kSubmit,
  kEstimate,
  kJobs,
  kPast,
  kFind,
  kCancel,
  kSignal,
  kRequeue,
  kPartitions,
  kLimits,
  kNodes
};
WordTable<SlurmAsk> WordsOf(SlurmAsk);

Json ToJson(const SubmitRequest& request);
Json ToJson(const Submission& submission);
Json ToJson(const StartEstimate& estimate);
Json ToJson(const SlurmJob& job);
Json ToJson(const JobIdentity& job);
Json ToJson(const SlurmPartition& partition);
Json ToJson(const SubmitLimits& limits);
Json ToJson(const SlurmNode& node);
Json ToJson(const SlurmCluster& cluster);
Json ToJson(const TroubleReport& report);

/// Errors: Error(kInternal) naming a field that is missing or of another type.
void FromJson(const Json& document, SubmitRequest& request);
void FromJson(const Json& document, Submission& submission);
void FromJson(const Json& document, StartEstimate& estimate);
void FromJson(const Json& document, SlurmJob& job);
void FromJson(const Json& document, JobIdentity& job);
void FromJson(const Json& document, SlurmPartition& partition);
void FromJson(const Json& document, SubmitLimits& limits);
void FromJson(const Json& document, SlurmNode& node);
void FromJson(const Json& document, SlurmCluster& cluster);
void FromJson(const Json& document, TroubleReport& report);

/// {"schema":.., "ask":..}; the caller adds the arguments.
Json RequestFor(SlurmAsk ask);
/// Both return one line of valid UTF-8, whatever the texts hold. `cluster`: the cluster that answers.
std::string AnswerLine(Json result, std::string_view cluster = {});
std::string AnswerLine(const TroubleReport& report);
struct SlurmAnswer {
  Json result;
  std::string cluster;  ///< empty: not known
};
/// The answer in the last line of `output`; earlier lines are ignored. Errors: SlurmError: the one in the answer, or
/// kHelper when there is no answer.
SlurmAnswer AnswerIn(std::string_view output);

}  // namespace slipway::launcher
