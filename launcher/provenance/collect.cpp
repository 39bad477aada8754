#include "launcher/provenance/collect.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/fnv1a.h"
#include "core/install.h"
#include "core/lines.h"
#include "core/process.h"
#include "core/text.h"
#include "launcher/provenance/container_facts.h"
#include "launcher/provenance/git_helper.h"
#include "launcher/provenance/python_facts.h"
#include "launcher/ranks/local/gpu_helper.h"

namespace slipway::launcher {
namespace {

namespace fs = std::filesystem;

constexpr auto kMpiLimit = std::chrono::seconds(5);
constexpr std::uint64_t kLargestProgramFile = std::uint64_t{16} << 20;

/// Variables that change what programs compute, or which libraries they load; those with these beginnings, too.
constexpr std::array<std::string_view, 14> kBeginnings = {"SLIPWAY_", "OMP_",      "MKL_",   "OPENBLAS_", "KMP_",
                                                          "GOMP_",    "PYTHON",    "CUDA_",  "CUBLAS_",   "NCCL_",
                                                          "UCX_",     "OMPI_MCA_", "MPICH_", "TORCH_"};
constexpr std::array<std::string_view, 7> kSingleVariables = {
    "CONDA_PREFIX", "VIRTUAL_ENV",         "LD_LIBRARY_PATH",     "LD_PRELOAD",
    "LC_ALL",       "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};

bool ChangesResults(std::string_view name) {
  if (name == "SLIPWAY_RUNS") return false;
  return std::ranges::any_of(kBeginnings, [&](std::string_view each) { return name.starts_with(each); }) ||
         std::ranges::find(kSingleVariables, name) != kSingleVariables.end();
}

std::map<std::string, std::string> ChosenVariables() {
  std::map<std::string, std::string> chosen;
  const auto inherited = Environment::Inherited();
  for (const auto& entry : inherited.entries()) {
    const auto equals = std::min(entry.find('='), entry.size());
    const auto name = entry.substr(0, equals);
    if (ChangesResults(name)) chosen[name] = entry.substr(std::min(equals + 1, entry.size()));
  }
  return chosen;
}

std::vector<std::string> LoadedModules() {
  std::vector<std::string> modules;
  const auto list = Environment::Inherited().Get("LOADEDMODULES").value_or("");
  LineWords words(list);
  while (!words.rest().empty()) modules.emplace_back(words.Word(':'));
  return modules;
}

/// The words of this process, as a shell reads them.
std::string OwnCommand() {
  std::vector<std::string> command;
  const auto text = ReadFile("/proc/self/cmdline");
  LineWords words(text);
  while (!words.rest().empty()) command.emplace_back(words.Word('\0'));
  return QuoteForShell(command);
}

std::string MpiVersion(const Plan& plan) {
  if (plan.mpi.BySrun()) return fmt::format("{}, started by {}", FullNameOf(plan.mpi.mpi), plan.mpi.Way());
  SpawnOptions options;
  options.argv = {plan.mpi.program, "--version"};
  const auto answer = RunAndCapture(std::move(options), kMpiLimit);
  return std::string(FirstLine(answer.output));
}

constexpr const char* kMpiVersion = "mpi";  // in the versions

bool UsesMpi(const Plan& plan) { return plan.spec().launch.ranks() > 1; }

/// "mpirun (Open MPI) 4.1.4", "11.2", ...
std::map<std::string, std::string> VersionsOf(const Plan& plan, std::vector<std::string>& warnings) {
  std::map<std::string, std::string> versions{{"slipway", fmt::format("{} ({})", Version(), SourceRevision())},
                                              {"glibc", ::gnu_get_libc_version()}};
  utsname system{};
  if (::uname(&system) == 0) versions["linux"] = system.release;
  if (!UsesMpi(plan)) return versions;
  try {
    versions[kMpiVersion] = MpiVersion(plan);
  } catch (const Error& error) {
    warnings.push_back("the version of MPI: " + error.message());
  }
  return versions;
}

std::string FingerprintOf(const staging::StagingPlan& data) {
  auto text = data.shared_out;
  for (const auto& file : data.files) {
    text += fmt::format("{}\n{} {}\n", file.name.native(), file.size.count, file.mtime_ns);
  }
  return fmt::format("{:016x}", Fnv1a64(text));
}

std::vector<DataState> DataOf(const Plan& plan) {
  std::vector<DataState> states;
  for (const auto& data : plan.data) {
    states.push_back({data.request.name, FingerprintOf(data), data.files.size(), data.total.count});
  }
  return states;
}

std::vector<ProgramFile> FilesOf(const std::vector<fs::path>& paths, std::vector<std::string>& warnings) {
  std::vector<ProgramFile> files;
  for (const auto& path : paths) {
    try {
      ProgramFile file{path.string(), FileBytes(path), {}};
      if (file.bytes <= kLargestProgramFile) file.crc32c = fmt::format("{:08x}", Crc32c(ReadFile(path)));
      files.push_back(std::move(file));
    } catch (const Error& error) {
      warnings.push_back(error.message());
    }
  }
  return files;
}

/// Empty where it names no file.
fs::path FileNamed(const std::string& word, const fs::path& directory) {
  const auto path = (directory / word).lexically_normal();
  return !word.empty() && IsRegularFile(path) ? path : fs::path();
}

/// A word names a file by itself, or after its '='.
fs::path FileIn(const std::string& word, const fs::path& directory) {
  auto path = FileNamed(word, directory);
  const auto equals = word.find('=');
  if (path.empty() && equals != word.npos) path = FileNamed(word.substr(equals + 1), directory);
  return path;
}

}  // namespace

RepositoryState RepositoryOf(const std::vector<fs::path>& folders, const fs::path& runs, bool with_diff) {
  std::vector<std::string> words{with_diff ? "all" : "names", runs.string()};
  for (const auto& folder : folders) words.push_back(folder.string());
  return RepositoryStateFromJson(AskGit(std::move(words)));
}

ProgramPlaces PlacesOfProgram(const Plan& plan) {
  ProgramPlaces places;
  const auto& directory = plan.document.directory;
  for (const auto& word : TrainingCommand(plan.spec().train, Json::object())) {
    if (auto file = FileIn(word, directory); !file.empty()) places.files.push_back(std::move(file));
  }
  for (const auto& file : places.files) {
    const bool is_ours = LiesWithin(file, InstallPrefix());  // a bundled trainer: the version of Slipway says it
    if (!is_ours) places.folders.push_back(file.parent_path());
  }
  places.folders.push_back(directory);
  return places;
}

void ForgetUnused(const Plan& plan, Provenance& provenance) {
  if (!UsesMpi(plan)) provenance.versions.erase(kMpiVersion);
}

void CollectMachine(const Plan& plan, Provenance& provenance) {
  const auto words = TrainingCommand(plan.spec().train, Json::object());
  provenance.versions = VersionsOf(plan, provenance.warnings);
  provenance.modules = LoadedModules();
  provenance.environment = ChosenVariables();
  provenance.container = plan.container ? std::optional(FactsOf(*plan.container)) : std::nullopt;
  provenance.python = plan.container ? std::nullopt : PythonOf(words, plan.document.directory, provenance.warnings);
  if (provenance.python) provenance.versions["python"] = provenance.python->version;
  auto host = HostFactsOf();
  if (host.gpus.empty()) host.gpus = NamesOfGpus();  // the kernel has no files about them, as in some containers
  std::erase_if(provenance.hosts, [&](const HostFacts& each) { return each.host == host.host; });
  provenance.hosts.push_back(std::move(host));
}

Provenance CollectProvenance(const Plan& plan) {
  Provenance provenance;
  provenance.time = UnixSeconds(SystemClock().Now());
  try {
    provenance.command = OwnCommand();
    provenance.directory = fs::current_path().string();
    const auto places = PlacesOfProgram(plan);
    provenance.files = FilesOf(places.files, provenance.warnings);
    provenance.data = DataOf(plan);
    CollectMachine(plan, provenance);
    provenance.code = RepositoryOf(places.folders, plan.runs_directory, plan.spec().provenance == Recorded::kFull);
  } catch (const std::exception& error) {
    provenance.warnings.emplace_back(error.what());
  }
  return provenance;
}

}  // namespace slipway::launcher
