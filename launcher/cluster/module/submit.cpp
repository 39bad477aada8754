#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "launcher/cluster/module/jobs.h"
#include "launcher/cluster/module/library.h"

// slurm.h names it and does not declare it.
extern "C" void slurm_free_will_run_response_msg(will_run_response_msg_t* message);

namespace slipway::launcher {
namespace {

/// How Slurm spells a resource that is not built in; the colon became a slash in 23.02.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
constexpr std::string_view kGpu = "gres/gpu:";
#else
constexpr std::string_view kGpu = "gres:gpu:";
#endif

/// Slurm's descriptors hold char*, and take null for "not given".
char* OrNull(std::string& text) { return text.empty() ? nullptr : text.data(); }

std::string LocalHost() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, HOST_NAME_MAX);
  return name;
}

std::string Umask() {
  const auto mask = ::umask(0);
  ::umask(mask);
  return fmt::format("{:04o}", mask);
}

/// What sbatch adds to the environment of a job; srun in the job reads some of it.
void AddSbatchVariables(SubmitRequest& request) {
  auto set = [&](std::string_view name, const auto& value) {
    request.environment.push_back(fmt::format("{}={}", name, value));
  };
  set("SLURM_SUBMIT_DIR", request.work_dir);
  set("SLURM_SUBMIT_HOST", LocalHost());
  set("SLURM_JOB_NAME", request.name);
  set("SLURM_UMASK", Umask());
  if (request.tasks > 0) {
    set("SLURM_NTASKS", request.tasks);
    set("SLURM_NPROCS", request.tasks);
  }
  if (request.tasks_per_node > 0) set("SLURM_NTASKS_PER_NODE", request.tasks_per_node);
  if (request.cpus_per_task > 0) set("SLURM_CPUS_PER_TASK", request.cpus_per_task);
  if (request.threads_per_core > 0) set("SLURM_THREADS_PER_CORE", request.threads_per_core);
}

/// A job_desc_msg_t and what its pointers point to.
class JobDescription {
 public:
  explicit JobDescription(SubmitRequest request) : request_(std::move(request)) {
    slurm_init_job_desc_msg(&message_);
    AddSbatchVariables(request_);
    DescribeScript();
    DescribeSize();
    DescribeDevicesAndMemory();
    DescribePlace();
    DescribeLife();
  }
  JobDescription(const JobDescription&) = delete;
  JobDescription& operator=(const JobDescription&) = delete;

  job_desc_msg_t* get() { return &message_; }

 private:
  void DescribeScript() {
    for (auto& entry : request_.environment) environment_.push_back(entry.data());
    environment_.push_back(nullptr);
    arguments_[0] = request_.script_path.empty() ? request_.name.data() : request_.script_path.data();
    message_.name = OrNull(request_.name);
    message_.script = OrNull(request_.script);
    message_.argc = 1;
    message_.argv = arguments_;
    message_.environment = environment_.data();
    message_.env_size = static_cast<std::uint32_t>(request_.environment.size());
    message_.work_dir = OrNull(request_.work_dir);
    message_.std_out = OrNull(request_.output);
    message_.open_mode = OPEN_MODE_APPEND;
    message_.user_id = request_.user.value_or(::geteuid());
    message_.group_id = request_.group.value_or(::getegid());
    message_.comment = OrNull(request_.comment);
  }

  void DescribeSize() {
    message_.min_nodes = static_cast<std::uint32_t>(request_.nodes);
    message_.max_nodes = message_.min_nodes;
    if (request_.tasks > 0) {
      message_.num_tasks = static_cast<std::uint32_t>(request_.tasks);
      message_.bitflags |= JOB_NTASKS_SET;
    }
    if (request_.tasks_per_node > 0) message_.ntasks_per_node = static_cast<std::uint16_t>(request_.tasks_per_node);
    if (request_.cpus_per_task > 0) {
      message_.cpus_per_task = static_cast<std::uint16_t>(request_.cpus_per_task);
      message_.min_cpus = static_cast<std::uint32_t>(request_.cpus_per_task * std::max(request_.tasks, 1));
      message_.bitflags |= JOB_CPUS_SET;
    } else if (request_.tasks > 0) {
      message_.min_cpus = message_.num_tasks;
    }
    if (request_.threads_per_core > 0)
      message_.threads_per_core = static_cast<std::uint16_t>(request_.threads_per_core);
    message_.array_inx = OrNull(request_.array);
    if (request_.exclusive) message_.shared = JOB_SHARED_NONE;
  }

  void DescribeDevicesAndMemory() {
    if (!request_.gpus_per_node.empty()) request_.gpus_per_node.insert(0, kGpu);
    if (!request_.gpus_per_task.empty()) request_.gpus_per_task.insert(0, kGpu);
    message_.tres_per_node = OrNull(request_.gpus_per_node);
    message_.tres_per_task = OrNull(request_.gpus_per_task);
    if (request_.memory_per_node_mib) {
      message_.pn_min_memory = static_cast<std::uint64_t>(*request_.memory_per_node_mib);
    }
    if (request_.memory_per_cpu_mib > 0) {
      message_.pn_min_memory = static_cast<std::uint64_t>(request_.memory_per_cpu_mib) | MEM_PER_CPU;
    }
    message_.burst_buffer = OrNull(request_.burst_buffer);
    message_.licenses = OrNull(request_.licenses);
  }

  void DescribePlace() {
    message_.partition = OrNull(request_.partition);
    message_.account = OrNull(request_.account);
    message_.qos = OrNull(request_.qos);
    message_.features = OrNull(request_.constraint);
    message_.reservation = OrNull(request_.reservation);
    message_.exc_nodes = OrNull(request_.exclude_nodes);
  }

  void DescribeLife() {
    if (request_.time_limit_minutes > 0) message_.time_limit = static_cast<std::uint32_t>(request_.time_limit_minutes);
    message_.dependency = OrNull(request_.dependency);
    if (request_.cancel_on_impossible_dependency) message_.bitflags |= KILL_INV_DEP;
    message_.requeue = request_.requeue ? 1 : 0;
    message_.kill_on_node_fail = request_.no_kill ? 0 : 1;
    if (request_.hold) message_.priority = 0;
    if (request_.warn_signal > 0) {
      message_.warn_flags = KILL_JOB_BATCH;
      message_.warn_signal = static_cast<std::uint16_t>(request_.warn_signal);
      message_.warn_time = static_cast<std::uint16_t>(request_.warn_seconds);
    }
  }

  SubmitRequest request_;
  job_desc_msg_t message_{};
  std::vector<char*> environment_;
  char* arguments_[1] = {};
};

}  // namespace

StartEstimate EstimateStart(SubmitRequest request) {
  JobDescription description(std::move(request));
  will_run_response_msg_t* message = nullptr;
  errno = 0;
  const int result = slurm_job_will_run2(description.get(), &message);
  const SlurmMessage<will_run_response_msg_t, slurm_free_will_run_response_msg> response(message);
  const int code = result > 0 ? result : errno;
  if (result != SLURM_SUCCESS && MeansWaiting(code)) return {{}, "", "", TextOf(slurm_strerror(code))};
  CheckSlurm(result, "");
  if (response == nullptr) throw SlurmError({SlurmTrouble::kHelper, 0, "the controller named no start", ""});
  return {TimeOf(response->start_time), TextOf(response->node_list), TextOf(response->part_name), ""};
}

Submission Submit(SubmitRequest request) {
  const auto during = fmt::format("submitting job '{}'", request.name);
  JobDescription description(std::move(request));
  const auto response = LoadFromSlurm<submit_response_msg_t, slurm_free_submit_response_response_msg>(
      during, [&](submit_response_msg_t** out) { return slurm_submit_batch_job(description.get(), out); });
  Submission submission;
  submission.job = response->job_id;
  submission.message = TextOf(response->job_submit_user_msg);
  if (response->error_code != 0) submission.warning = TextOf(slurm_strerror(static_cast<int>(response->error_code)));
  return submission;
}

}  // namespace slipway::launcher
