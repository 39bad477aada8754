#include "launcher/plan/container.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "core/fnv1a.h"
#include "core/install.h"
#include "core/process.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/promised_buffer.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

struct Image {
  std::string name;
  ImageKind kind;
};

/// A name without "./" may be a file beside the spec or a name that the runtime knows.
Image LookAt(const std::string& image, const fs::path& spec_directory) {
  if (image.find("://") != std::string::npos) return {image, ImageKind::kAddress};
  const auto path = (spec_directory / image).lexically_normal();
  std::error_code error;
  const auto type = fs::status(path, error).type();
  if (type == fs::file_type::directory) return {path, ImageKind::kDirectory};
  if (type == fs::file_type::regular) {
    return {path, path.extension() == ".sif" ? ImageKind::kSif : ImageKind::kSquash};
  }
  if (image.front() != '/' && image.front() != '.') return {image, ImageKind::kName};
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

/// "/path" or "/path:/path/inside".
Mount MountFrom(const std::string& bind, const fs::path& spec_directory) {
  const auto colon = bind.find(':');
  const auto from = (spec_directory / bind.substr(0, colon)).lexically_normal().string();
  return {from, colon == std::string::npos ? from : bind.substr(colon + 1)};
}

bool IsBelow(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder.back() == '/' ? folder : folder + "/");
}

/// Every runtime shows these as they are.
bool IsShownAnyway(const std::string& path) { return IsBelow(path, "/tmp") || IsBelow(path, "/dev"); }

/// One that lies in another, at the same place, is seen with it.
void Add(std::vector<Mount>& mounts, const fs::path& path) {
  auto text = path.lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  if (text.empty() || IsShownAnyway(text)) return;
  const auto same_place = [](const Mount& mount) { return mount.from == mount.to; };
  for (const auto& mount : mounts) {
    if (same_place(mount) && IsBelow(text, mount.from)) return;
  }
  std::erase_if(mounts, [&](const Mount& mount) { return same_place(mount) && IsBelow(mount.from, text); });
  mounts.push_back({text, text});
}

/// The runs lie in one directory, those of single trials further inside it: an image needs one place for all.
fs::path RootOfRuns(const fs::path& runs) {
  return runs.filename() == "trials" ? runs.parent_path().parent_path() : runs;
}

/// What makes mount points is the kernel's overlay or an image that is written to.
bool MakesMountPoints(const ContainerSpec& spec) {
  return std::ranges::any_of(spec.options, [](const std::string& option) {
    return option == "-w" || option == "--write" || option == "-W" || option.starts_with("--write-fake");
  });
}

std::string UserName() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
}

/// What MPI, its launchers and programs of several ranks are told by variables. Podman knows patterns.
std::vector<std::string> VariablesToPass(const Plan& plan) {
  std::vector<std::string> names{"SLIPWAY_*",
                                 "OMPI_*",
                                 "OPAL_*",
                                 "ORTE_*",
                                 "PMIX_*",
                                 "PMI_*",
                                 "MPI_*",
                                 "MPIR_*",
                                 "HYDI_*",
                                 "UCX_*",
                                 "FI_*",
                                 "SLURM*",
                                 "OMP_*",
                                 "RANK",
                                 "WORLD_SIZE",
                                 "LOCAL_RANK",
                                 "MASTER_ADDR",
                                 "MASTER_PORT",
                                 "CUDA_VISIBLE_DEVICES",
                                 "ROCR_VISIBLE_DEVICES",
                                 "LD_LIBRARY_PATH",
                                 "PYTHONPATH",
                                 "PYTHONUNBUFFERED",
                                 "TMPDIR"};
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

std::vector<Mount> MountsFor(const Plan& plan, const StagedDirectories& data) {
  std::vector<Mount> mounts;
  Add(mounts, RootOfRuns(plan.runs_directory));
  Add(mounts, plan.working_directory);
  Add(mounts, InstallPrefix());
  Add(mounts, plan.checkpoints.root);
  Add(mounts, plan.exchange.tuned.parent_path());
  for (const auto& dataset : plan.data) {
    if (!dataset.root.empty() && !IsPromised(dataset.root)) Add(mounts, dataset.root);
    if (dataset.root.empty()) {
      for (const auto& file : dataset.files) Add(mounts, file.path.parent_path());
    }
  }
  for (const auto& [name, directory] : data) {
    if (!IsPromised(directory)) Add(mounts, directory);
  }
  for (const auto& bind : plan.spec().launch.container->binds)
    mounts.push_back(MountFrom(bind, plan.working_directory));
  return mounts;
}

void RequireMounts(const Plan& plan) {
  if (!plan.container) return;
  const bool checks_image = plan.container->runtime == ContainerRuntime::kCharliecloud &&
                            fs::is_directory(plan.container->image) && !MakesMountPoints(*plan.spec().launch.container);
  std::vector<std::string> missing;
  for (const auto& mount : MountsFor(plan, {})) {
    if (mount.from.find_first_of(":,") != std::string::npos || mount.to.find_first_of(":,") != std::string::npos) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("'{}' cannot be bound into a container: ':' and ',' end a path there", mount.from),
                  "give the directory another name, or run without launch.container");
    }
    std::error_code error;
    if (checks_image && !fs::exists(plan.container->image + mount.to, error))
      missing.push_back(plan.container->image + mount.to);
  }
  if (missing.empty()) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("ch-run cannot bind into directories that the image lacks: {}", fmt::join(missing, ", ")),
              fmt::format("mkdir -p {}", fmt::join(missing, " ")));
}

std::vector<std::string> RankCommand(const Plan& plan, const StagedDirectories& data, const AttemptPlace& place,
                                     const Json& parameters) {
  const auto program = TrainingCommand(plan.spec().train, parameters);
  if (!plan.container) return program;
  ContainedStart start;
  start.runtime = plan.container->runtime;
  start.image = plan.container->image;
  start.mounts = MountsFor(plan, data);
  start.working_directory = plan.working_directory;
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
    more.emplace_back("USER", UserName());
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
  return fmt::format("  container  {}, by {}: {}\n", plan.container->image, NameOf(plan.container->runtime),
                     plan.container->reason);
}

}  // namespace slipway::launcher
