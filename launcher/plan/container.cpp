#include "launcher/plan/container.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "core/fnv1a.h"
#include "core/ownership.h"
#include "core/process.h"
#include "launcher/plan/container_mounts.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/workdir.h"
#include "launcher/ranks/local/node_devices.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

struct Image {
  std::string name;
  ImageKind kind;
};

/// No registry has such names.
bool IsNamedLikeAFile(const fs::path& image) {
  constexpr std::string_view kEndings[] = {".sif", ".sqsh", ".sqfs", ".squashfs", ".img"};
  return std::ranges::count(kEndings, image.extension().native()) > 0;
}

/// A name without "./" may be a file beside the spec or a name that the runtime knows.
Image LookAt(const std::string& image, const fs::path& spec_directory) {
  if (image.empty()) throw Error(ErrorKind::kUsage, "launch.container.image is empty", "name an image");
  if (image.find("://") != std::string::npos) return {image, ImageKind::kAddress};
  const auto path = (spec_directory / image).lexically_normal();
  std::error_code error;
  const auto type = fs::status(path, error).type();
  if (type == fs::file_type::directory) return {path, ImageKind::kDirectory};
  if (type == fs::file_type::regular) {
    return {path, path.extension() == ".sif" ? ImageKind::kSif : ImageKind::kSquash};
  }
  const bool is_path = image.front() == '/' || image.front() == '.' || IsNamedLikeAFile(image);
  if (!is_path) return {image, ImageKind::kName};
  throw Error(ErrorKind::kEnvironment, fmt::format("there is no image '{}' for launch.container", path.string()),
              "name a file or directory that this machine and all nodes see, or a reference such as docker://...");
}

bool IsHere(ContainerRuntime runtime) { return FindProgram(std::string(ProgramOf(runtime))).has_value(); }

std::vector<std::string_view> ProgramsOf(const std::vector<ContainerRuntime>& runtimes) {
  std::vector<std::string_view> programs;
  for (const auto runtime : runtimes) programs.push_back(ProgramOf(runtime));
  return programs;
}

constexpr auto kLooksAgain = "{} not here; the job looks again";

ContainerPlan WithAsked(ContainerRuntime asked, const Image& image, bool job_looks_again) {
  ContainerPlan plan{asked, image.name, "launch.container.runtime asks for it"};
  if (IsHere(asked)) return plan;
  const auto missing = fmt::format("{} is", ProgramOf(asked));
  if (!job_looks_again) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("{} not on the PATH, and launch.container.runtime asks for it", missing),
                "load the module that brings it with launch.modules, install it, or leave the runtime to auto");
  }
  plan.reason = fmt::format(kLooksAgain, missing);
  return plan;
}

ContainerPlan WithFirstThere(const Image& image, bool job_looks_again) {
  const auto candidates = RuntimesFor(image.kind);
  const auto found = std::ranges::find_if(candidates, IsHere);
  if (found != candidates.end()) {
    return {*found, image.name, fmt::format("{} is there, and can open the image", ProgramOf(*found))};
  }
  const auto missing = fmt::format("{} are", fmt::join(ProgramsOf(candidates), ", "));
  if (!job_looks_again) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("nothing that can open the image '{}' is here: {} not on the PATH", image.name, missing),
                "install one of them, or load the module that brings it with launch.modules");
  }
  return {candidates.front(), image.name, fmt::format(kLooksAgain, missing)};
}

/// Variables for MPI, its launchers, programs of several ranks, and the daemon that shares GPUs. Podman knows patterns.
constexpr std::string_view kToldByVariables =
    "SLIPWAY_* OMPI_* OPAL_* ORTE_* PMIX_* PMI_* MPI_* MPIR_* HYDI_* UCX_* FI_* SLURM* OMP_* CUDA_MPS_* RANK "
    "WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT LD_LIBRARY_PATH PYTHONPATH PYTHONUNBUFFERED TMPDIR";

std::vector<std::string> VariablesToPass(const Plan& plan) {
  std::istringstream words{std::string(kToldByVariables)};
  std::vector<std::string> names;
  for (std::string name; words >> name;) names.push_back(name);
  names.insert(names.end(), kDeviceVariables.begin(), kDeviceVariables.end());
  for (const auto& [name, value] : plan.spec().launch.env) names.push_back(name);
  return names;
}

std::string GroupOf(const AttemptPlace& place) {
  return fmt::format("slipway-{:016x}", Fnv1a64(place.directory.native()));
}

}  // namespace

std::vector<ContainerRuntime> RuntimesFor(ImageKind kind) {
  using enum ContainerRuntime;
  switch (kind) {
    case ImageKind::kDirectory: return {kApptainer, kSingularity, kCharliecloud};
    case ImageKind::kSif: return {kApptainer, kSingularity};
    case ImageKind::kSquash: return {kCharliecloud, kApptainer, kSingularity};
    case ImageKind::kAddress: return {kApptainer, kSingularity, kPodmanHpc, kPodman};
    case ImageKind::kName: return {kPodmanHpc, kPodman, kShifter, kCharliecloud};
  }
  return {};
}

std::optional<ContainerPlan> PlanContainer(const SpecDocument& document, bool job_looks_again) {
  const auto& spec = document.spec.launch.container;
  if (!spec) return {};
  const auto image = LookAt(spec->image, document.directory);
  return spec->runtime ? WithAsked(*spec->runtime, image, job_looks_again) : WithFirstThere(image, job_looks_again);
}

std::vector<std::string> RankCommand(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                                     const Json& parameters, const TrialTerms& terms) {
  const auto program = ProgramCommand(plan, data, place, parameters, terms);
  if (!plan.container) return program;
  ContainedStart start;
  start.runtime = plan.container->runtime;
  start.image = plan.container->image;
  start.mounts = MountsFor(plan, data);
  start.working_directory = WorkdirOf(plan, place, terms);
  start.options = plan.spec().launch.container->options;
  start.variables = VariablesToPass(plan);
  start.ranks_on_node = plan.spec().launch.ranks_per_node;
  start.group = GroupOf(place);
  start.as_root = ::geteuid() == 0;
  return InContainer(start, program);
}

Variables ContainerVariables(const Plan& plan, const Variables& variables) {
  if (!plan.container) return {};
  Variables more;
  const auto runtime = plan.container->runtime;
  // ch-run will not start without it, and a manager may have been started without it.
  if (runtime == ContainerRuntime::kCharliecloud && !Environment::Inherited().Get("USER")) {
    more.emplace_back("USER", UserName(::geteuid()));
  }
  // They set it themselves, but for what these say.
  for (const auto& [name, value] : variables) {
    if (name != "LD_LIBRARY_PATH") continue;
    if (runtime == ContainerRuntime::kApptainer) more.emplace_back("APPTAINERENV_" + name, value);
    if (runtime == ContainerRuntime::kSingularity) more.emplace_back("SINGULARITYENV_" + name, value);
  }
  // Ranks in namespaces of their own may not read each other's memory, which Open MPI finds out too late.
  const bool apart = runtime != ContainerRuntime::kCharliecloud && runtime != ContainerRuntime::kShifter;
  if (apart && plan.spec().launch.ranks_per_node > 1) {
    more.emplace_back("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
  }
  return more;
}

std::string DescribeContainer(const Plan& plan) {
  if (!plan.container) return {};
  return fmt::format("  container  {}, by {}: {}\n", plan.container->image, WordOf(plan.container->runtime),
                     plan.container->reason);
}

}  // namespace slipway::launcher
