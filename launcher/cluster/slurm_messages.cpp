#include "launcher/cluster/slurm_messages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_fields.h"
#include "core/json_text.h"
#include "core/text.h"

namespace slipway::launcher {

WordTable<SlurmAsk> WordsOf(SlurmAsk) {
  static constexpr Word<SlurmAsk> kWords[] = {{SlurmAsk::kPing, "ping"},
                                              {SlurmAsk::kCluster, "cluster"},
                                              {SlurmAsk::kSubmit, "submit"},
                                              {SlurmAsk::kEstimate, "estimate"},
                                              {SlurmAsk::kJobs, "jobs"},
                                              {SlurmAsk::kPast, "past"},
                                              {SlurmAsk::kFind, "find"},
                                              {SlurmAsk::kCancel, "cancel"},
                                              {SlurmAsk::kSignal, "signal"},
                                              {SlurmAsk::kRequeue, "requeue"},
                                              {SlurmAsk::kPartitions, "partitions"},
                                              {SlurmAsk::kLimits, "limits"},
                                              {SlurmAsk::kNodes, "nodes"}};
  return kWords;
}

WordTable<SignalTarget> WordsOf(SignalTarget) {
  static constexpr Word<SignalTarget> kWords[] = {
      {SignalTarget::kScript, "script"}, {SignalTarget::kSteps, "steps"}, {SignalTarget::kAll, "all"}};
  return kWords;
}

WordTable<PartitionState> WordsOf(PartitionState) {
  static constexpr Word<PartitionState> kWords[] = {{PartitionState::kUp, "UP"},
                                                    {PartitionState::kDown, "DOWN"},
                                                    {PartitionState::kDrain, "DRAIN"},
                                                    {PartitionState::kInactive, "INACTIVE"}};
  return kWords;
}

template <class Visitor, MaybeConst<SubmitRequest> Struct>
void Visit(Visitor& visit, Struct& request) {
  visit("name", request.name);
  visit("script", request.script);
  visit("script_path", request.script_path);
  visit("environment", request.environment);
  visit("work_dir", request.work_dir);
  visit("output", request.output);
  visit("user", request.user);
  visit("group", request.group);
  visit("nodes", request.nodes);
  visit("tasks", request.tasks);
  visit("tasks_per_node", request.tasks_per_node);
  visit("cpus_per_task", request.cpus_per_task);
  visit("threads_per_core", request.threads_per_core);
  visit("gpus_per_node", request.gpus_per_node);
  visit("gpus_per_task", request.gpus_per_task);
  visit("memory_per_node_mib", request.memory_per_node_mib);
  visit("memory_per_cpu_mib", request.memory_per_cpu_mib);
  visit("time_limit_minutes", request.time_limit_minutes);
  visit("partition", request.partition);
  visit("account", request.account);
  visit("qos", request.qos);
  visit("constraint", request.constraint);
  visit("reservation", request.reservation);
  visit("licenses", request.licenses);
  visit("dependency", request.dependency);
  visit("burst_buffer", request.burst_buffer);
  visit("comment", request.comment);
  visit("array", request.array);
  visit("exclude_nodes", request.exclude_nodes);
  visit("warn_signal", request.warn_signal);
  visit("warn_seconds", request.warn_seconds);
  visit("requeue", request.requeue);
  visit("exclusive", request.exclusive);
  visit("no_kill", request.no_kill);
  visit("hold", request.hold);
  visit("cancel_on_impossible_dependency", request.cancel_on_impossible_dependency);
}

template <class Visitor, MaybeConst<Submission> Struct>
void Visit(Visitor& visit, Struct& submission) {
  visit("job", submission.job);
  visit("message", submission.message);
  visit("warning", submission.warning);
}

template <class Visitor, MaybeConst<StartEstimate> Struct>
void Visit(Visitor& visit, Struct& estimate) {
  visit("start", estimate.start);
  visit("nodes", estimate.nodes);
  visit("partition", estimate.partition);
  visit("held_by", estimate.held_by);
}

template <class Visitor, MaybeConst<SlurmJob> Struct>
void Visit(Visitor& visit, Struct& job) {
  visit("id", job.id);
  visit("cluster", job.cluster);
  visit("array_job", job.array_job);
  visit("array_tasks", job.array_tasks);
  visit("name", job.name);
  visit("user", job.user);
  visit("partition", job.partition);
  visit("account", job.account);
  visit("qos", job.qos);
  visit("state", job.state);
  visit("flags", job.flags);
  visit("reason", job.reason);
  visit("reason_text", job.reason_text);
  visit("exit_code", job.exit_code);
  visit("signal", job.signal);
  visit("nodes", job.nodes);
  visit("batch_host", job.batch_host);
  visit("restarts", job.restarts);
  visit("priority", job.priority);
  visit("time_limit_minutes", job.time_limit_minutes);
  visit("submitted", job.submitted);
  visit("start", job.start);
  visit("end", job.end);
  visit("requeue", job.requeue);
  visit("preempted", job.preempted);
  visit("comment", job.comment);
  visit("system_comment", job.system_comment);
  visit("admin_comment", job.admin_comment);
  visit("work_dir", job.work_dir);
  visit("output", job.output);
  visit("dependency", job.dependency);
  visit("burst_buffer", job.burst_buffer);
  visit("burst_buffer_state", job.burst_buffer_state);
}

template <class Visitor, MaybeConst<JobIdentity> Struct>
void Visit(Visitor& visit, Struct& job) {
  visit("id", job.id);
  visit("cluster", job.cluster);
  visit("comment", job.comment);
  visit("work_dir", job.work_dir);
  visit("owner", job.owner);
  visit("task", job.task);
}

template <class Visitor, MaybeConst<SlurmPartition> Struct>
void Visit(Visitor& visit, Struct& partition) {
  visit("name", partition.name);
  visit("is_default", partition.is_default);
  visit("state", partition.state);
  visit("max_time_minutes", partition.max_time_minutes);
  visit("default_time_minutes", partition.default_time_minutes);
  visit("max_nodes", partition.max_nodes);
  visit("min_nodes", partition.min_nodes);
  visit("total_nodes", partition.total_nodes);
  visit("total_cpus", partition.total_cpus);
  visit("max_cpus_per_node", partition.max_cpus_per_node);
  visit("nodes", partition.nodes);
  visit("allow_accounts", partition.allow_accounts);
  visit("deny_accounts", partition.deny_accounts);
  visit("allow_qos", partition.allow_qos);
  visit("deny_qos", partition.deny_qos);
  visit("allow_groups", partition.allow_groups);
  visit("needs_reservation", partition.needs_reservation);
  visit("root_only", partition.root_only);
}

template <class Visitor, MaybeConst<SubmitLimit> Struct>
void Visit(Visitor& visit, Struct& limit) {
  visit("name", limit.name);
  visit("most", limit.most);
}

template <class Visitor, MaybeConst<SubmitLimits> Struct>
void Visit(Visitor& visit, Struct& limits) {
  visit("accounts", limits.accounts);
  visit("qos", limits.qos);
}

template <class Visitor, MaybeConst<SlurmNode> Struct>
void Visit(Visitor& visit, Struct& node) {
  visit("name", node.name);
  visit("state", node.state);
  visit("flags", node.flags);
  visit("reason", node.reason);
  visit("cpus", node.cpus);
  visit("cores", node.cores);
  visit("memory_mib", node.memory_mib);
  visit("features", node.features);
  visit("gres", node.gres);
  visit("address", node.address);
}

template <class Visitor, MaybeConst<SlurmCluster> Struct>
void Visit(Visitor& visit, Struct& cluster) {
  visit("name", cluster.name);
  visit("controller_version", cluster.controller_version);
  visit("library_version", cluster.library_version);
  visit("burst_buffer", cluster.burst_buffer);
  visit("scheduler_parameters", cluster.scheduler_parameters);
  visit("accounting", cluster.accounting);
  visit("mpi_default", cluster.mpi_default);
  visit("preemption", cluster.preemption);
  visit("min_job_age_s", cluster.min_job_age_s);
  visit("message_timeout_s", cluster.message_timeout_s);
  visit("kill_wait_s", cluster.kill_wait_s);
  visit("max_array_size", cluster.max_array_size);
  visit("max_jobs", cluster.max_jobs);
  visit("requeue_by_default", cluster.requeue_by_default);
  visit("enforces_partition_limits", cluster.enforces_partition_limits);
  visit("enforces_accounts", cluster.enforces_accounts);
}

template <class Visitor, MaybeConst<TroubleReport> Struct>
void Visit(Visitor& visit, Struct& report) {
  visit("trouble", report.trouble);
  visit("code", report.code);
  visit("text", report.text);
  visit("during", report.during);
}

namespace {

const DocumentName kMessage{"a message about Slurm", ErrorKind::kInternal};

}  // namespace

Json ToJson(const SubmitRequest& request) { return WriteFields(request); }
Json ToJson(const Submission& submission) { return WriteFields(submission); }
Json ToJson(const StartEstimate& estimate) { return WriteFields(estimate); }
Json ToJson(const SlurmJob& job) { return WriteFields(job); }
Json ToJson(const JobIdentity& job) { return WriteFields(job); }
Json ToJson(const SlurmPartition& partition) { return WriteFields(partition); }
Json ToJson(const SubmitLimits& limits) { return WriteFields(limits); }
Json ToJson(const SlurmNode& node) { return WriteFields(node); }
Json ToJson(const SlurmCluster& cluster) { return WriteFields(cluster); }
Json ToJson(const TroubleReport& report) { return WriteFields(report); }

void FromJson(const Json& document, SubmitRequest& request) { ReadFields(document, request, kMessage); }
void FromJson(const Json& document, Submission& submission) { ReadFields(document, submission, kMessage); }
void FromJson(const Json& document, StartEstimate& estimate) { ReadFields(document, estimate, kMessage); }
void FromJson(const Json& document, SlurmJob& job) { ReadFields(document, job, kMessage); }
void FromJson(const Json& document, JobIdentity& job) { ReadFields(document, job, kMessage); }
void FromJson(const Json& document, SlurmPartition& partition) { ReadFields(document, partition, kMessage); }
void FromJson(const Json& document, SubmitLimits& limits) { ReadFields(document, limits, kMessage); }
void FromJson(const Json& document, SlurmNode& node) { ReadFields(document, node, kMessage); }
void FromJson(const Json& document, SlurmCluster& cluster) { ReadFields(document, cluster, kMessage); }
void FromJson(const Json& document, TroubleReport& report) { ReadFields(document, report, kMessage); }

Json RequestFor(SlurmAsk ask) { return {{"schema", kSlurmRequestSchema}, {"ask", WordOf(ask)}}; }

std::string AnswerLine(Json result, std::string_view cluster) {
  return JsonText({{"schema", kSlurmAnswerSchema}, {"cluster", cluster}, {"result", std::move(result)}});
}

std::string AnswerLine(const TroubleReport& report) {
  return JsonText({{"schema", kSlurmAnswerSchema}, {"error", ToJson(report)}});
}

SlurmAnswer AnswerIn(std::string_view output) {
  const auto document = Json::parse(LastLine(output), nullptr, false);
  const bool is_answer = document.is_object() && document.value("schema", Json()) == kSlurmAnswerSchema;
  if (is_answer && document.contains("result")) {
    return {document.at("result"), document.value("cluster", std::string())};
  }
  if (!is_answer || !document.contains("error")) throw SlurmError({SlurmTrouble::kHelper, 0, "no answer", ""});
  TroubleReport report;
  FromJson(document.at("error"), report);
  throw SlurmError(std::move(report));
}

}  // namespace slipway::launcher
