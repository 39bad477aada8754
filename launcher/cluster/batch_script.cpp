#include "launcher/cluster/batch_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/environment.h"
#include "core/error.h"
#include "core/shell.h"
#include "core/text.h"
#include "launcher/cluster/directive_text.h"

namespace slipway::launcher {
namespace {

[[noreturn]] void Refuse(const std::string& what, const std::string& reason) {
  throw Error(ErrorKind::kUsage, fmt::format("the batch script cannot hold {}: {}", what, reason),
              "change or remove it in the spec");
}

/// One word of bash, on one line whatever it holds: a line of its own could be taken for a directive.
std::string Quote(const std::string& word) {
  if (word.find('\0') != std::string::npos) Refuse(Shown(word), "it holds a NUL");
  if (std::none_of(word.begin(), word.end(), IsControlCharacter)) {
    return QuoteForShell({"exec", word}).substr(5);  // never the first word of a line
  }
  std::string quoted = "$'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      quoted += {'\\', c};
    } else if (IsControlCharacter(c)) {
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string_view OnOff(bool on, std::string_view yes, std::string_view no) { return on ? yes : no; }

/// The head of the script: one line for each option.
class Head {
 public:
  void Flag(std::string_view option) { text_ += fmt::format("#SBATCH {}\n", option); }

  void Option(std::string_view option, const std::string& value) {
    if (value.empty()) return;
    if (const auto reason = WhyNotInDirective(value); !reason.empty()) {
      Refuse(fmt::format("{}={}", option, Shown(value)), reason);
    }
    text_ += fmt::format("#SBATCH {}={}\n", option, Quote(value));
  }

  void Option(std::string_view option, int value) { Flag(fmt::format("{}={}", option, value)); }

  /// As the user gave it: "--exclude=n1".
  void Extra(const std::string& option) {
    if (const auto reason = WhyNotAnOption(option); !reason.empty()) Refuse(Shown(option), reason);
    const auto equals = option.find('=');
    if (equals == std::string::npos) return Flag(option);
    Option(option.substr(0, equals), option.substr(equals + 1));
  }

  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
};

/// Options of which each says which hardware threads are used.
constexpr std::string_view kThreadOptions[] = {"--hint", "--threads-per-core", "--extra-node-info"};

constexpr std::string_view kLimitOptions[] = {"--propagate"};

/// Whether `extra` has one of the options. sbatch takes any beginning of an option that is long enough to be clear.
bool SaysOneOf(std::span<const std::string_view> options, const BatchJob& job) {
  return std::ranges::any_of(job.extra, [&](std::string_view option) {
    const auto name = option.substr(0, option.find('='));
    return name.size() > 4 && std::ranges::any_of(options, [&](auto each) { return each.starts_with(name); });
  });
}

void AskForNodes(const BatchJob& job, Head& head) {
  head.Option("--nodes", job.nodes);
  head.Option("--ntasks", job.tasks());
  head.Option("--ntasks-per-node", job.ranks_per_node);
  head.Option("--cpus-per-task", job.cpus_per_rank);
  if (const int threads = ThreadsPerCore(job); threads > 0) head.Option("--threads-per-core", threads);
  // For each node and not for each task: the one task that an mpirun starts on a node must see the GPUs of all ranks.
  head.Option("--gpus-per-node", GpusPerNode(job));
  if (job.memory_per_node) {
    constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
    const auto bytes = job.memory_per_node->count;
    const auto mebibytes = bytes / kMiB + (bytes % kMiB != 0 ? 1 : 0);
    head.Flag(mebibytes == 0 ? "--mem=0" : fmt::format("--mem={}M", mebibytes));
  }
  if (job.exclusive) head.Flag("--exclusive");
}

void AskForTime(const BatchJob& job, Head& head) {
  if (job.time_limit_minutes) head.Option("--time", *job.time_limit_minutes);
  if (job.signal_lead_s > 0) head.Flag(fmt::format("--signal=B:USR1@{}", job.signal_lead_s));
  head.Flag(OnOff(job.requeue, "--requeue", "--no-requeue"));
  if (job.no_kill) head.Flag("--no-kill");
}

std::string Options(const BatchJob& job) {
  Head head;
  head.Option("--job-name", job.name);
  head.Option("--comment", job.comment);
  head.Option("--account", job.account);
  head.Option("--partition", job.partition);
  head.Option("--qos", job.qos);
  head.Option("--constraint", job.constraint);
  head.Option("--reservation", job.reservation);
  head.Option("--licenses", job.licenses);
  head.Option("--dependency", job.dependency);
  if (job.cancel_on_impossible_dependency) head.Flag("--kill-on-invalid-dep=yes");
  AskForNodes(job, head);
  AskForTime(job, head);
  head.Option("--chdir", job.directory.string());
  head.Option("--array", job.array);
  head.Option("--output", OutputPattern(job));
  head.Flag("--open-mode=append");  // a requeued job goes on in the same log
  head.Option("--image", job.shifter_image);
  // sbatch alone would pass on the ulimits of the host where it runs; through libslurm they are not passed on.
  if (!SaysOneOf(kLimitOptions, job)) head.Flag("--propagate=NONE");
  for (const auto& option : job.extra) head.Extra(option);
  return std::move(head).Take();
}

std::string Directives(const BurstBuffer& buffer) {
  std::string text;
  for (const auto& line : BurstBufferDirectives(buffer)) text += line + "\n";
  return text;
}

/// A batch shell may not have the function `module`; where it is defined depends on the site.
std::string DefineModule() {
  return "for file in \"${MODULESHOME:-/usr/share/modules}/init/bash\" /etc/profile.d/lmod.sh "
         "/etc/profile.d/modules.sh; do\n"
         "  type module >/dev/null 2>&1 || { [ -r \"$file\" ] && . \"$file\"; }\n"
         "done\n";
}

std::string LoadModules(const std::vector<std::string>& modules) {
  std::string text;
  for (const auto& module : modules) text += fmt::format("module load {} || exit 3\n", Quote(module));
  return text;
}

std::string Modules(const std::vector<std::string>& modules) {
  return modules.empty() ? std::string() : DefineModule() + LoadModules(modules);
}

std::string Variables(const BatchJob& job) {
  std::string text;
  for (const auto& [name, value] : job.environment) {
    if (!IsVariableName(name)) Refuse("the variable " + Shown(name), "this is no name of a variable");
    text += fmt::format("export {}={}\n", name, Quote(value));
  }
  return text;
}

/// What only the job knows: the buffer's directory. A folder that is staged out must be there whatever the run does.
std::string Buffer(const BatchJob& job) {
  const auto variable = BufferVariable(job.burst_buffer);
  if (variable.empty()) return {};
  const auto place = fmt::format("\"${{{}:?the burst buffer of this job is not there}}\"", variable);
  std::string text;
  if (!job.staged_in.empty()) text += fmt::format("export SLIPWAY_STAGED_IN={}/{}\n", place, Quote(job.staged_in));
  for (const auto& transfer : job.burst_buffer.out) {
    text += fmt::format("mkdir -p {}/{} || exit 3\n", place, Quote(transfer.inside));
  }
  return text;
}

std::string Command(const std::vector<std::string>& words) {
  std::string text = "exec";
  for (const auto& word : words) text += " " + Quote(word);
  return text + "\n";
}

}  // namespace

std::filesystem::path OutputOfTask(const std::filesystem::path& output, std::string_view task) {
  return output.parent_path() / fmt::format("{}-{}{}", output.stem().string(), task, output.extension().string());
}

std::string OutputPattern(const BatchJob& job) {
  if (job.array.empty()) return SlurmPattern(job.output);
  return SlurmPattern(job.output.parent_path()) + "/" + OutputOfTask(job.output.filename(), "%a").string();
}

int WholeMinutes(Seconds limit) {
  const auto minutes = std::ceil(limit.count() / 60);
  return static_cast<int>(std::clamp(minutes, 1.0, static_cast<double>(std::numeric_limits<int>::max())));
}

std::string GpusPerNode(const BatchJob& job) {
  if (job.gpus_per_rank == 0) return {};
  return fmt::format("{}{}{}", job.gpu_type, job.gpu_type.empty() ? "" : ":", job.gpus_per_rank * job.ranks_per_node);
}

int ThreadsPerCore(const BatchJob& job) { return SaysOneOf(kThreadOptions, job) ? 0 : 1; }

std::vector<std::string> OptionsOnlyForSbatch(const BatchJob& job) {
  auto options = job.extra;
  if (!job.shifter_image.empty()) options.push_back("--image=" + job.shifter_image);
  return options;
}

std::string RenderModuleCheck(const std::vector<std::string>& modules) {
  return DefineModule() + "type module >/dev/null 2>&1 || exit 0\n" + LoadModules(modules);
}

std::string RenderBatchScript(const BatchJob& job) {
  return "#!/bin/bash\n" + Options(job) + Directives(job.burst_buffer) + Modules(job.modules) + Variables(job) +
         Buffer(job) + Command(job.command);
}

}  // namespace slipway::launcher
