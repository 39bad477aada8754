#include "launcher/cli/doctor/installation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/files.h"
#include "core/install.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr const char* kHelpers[] = {"slipway-agent", "slipway-gpus",  "slipway-hdf5",
                                    "slipway-rank",  "slipway-slurm", "slipway-supervisor"};

bool CanRun(const fs::path& program) { return ::access(program.c_str(), X_OK) == 0; }

std::vector<std::string> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error) && CanRun(entry.path())) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> LibrariesFound() {
  std::vector<std::string> mpis;
  for (const char* mpi : {"openmpi", "mpich"}) {
    if (Exists(LibraryDirectory() / "slipway" / mpi / "libslipway.so")) mpis.emplace_back(mpi);
  }
  return mpis;
}

Finding JudgeHelpers(const InstallationFacts& facts) {
  if (facts.missing.empty()) return Ok("slipway", fmt::format("{} in {}", facts.version, facts.prefix));
  return Fail("slipway", fmt::format("{} in {} lacks {}", facts.version, facts.prefix, fmt::join(facts.missing, ", ")),
              "install it again, as a whole: cmake --install");
}

Finding JudgeLibraries(const InstallationFacts& facts) {
  if (!facts.mpis.empty()) return Ok("libslipway", fmt::format("for {}", fmt::join(facts.mpis, " and ")));
  return Warn("libslipway", "built without MPI: programs cannot exchange gradients",
              "install an MPI (Debian: apt install libopenmpi-dev) and build Slipway again");
}

Finding JudgeHdf5(const InstallationFacts& facts) {
  if (facts.hdf5) return Ok("HDF5", "its module is there");
  return Warn("HDF5", "HDF5 files cannot be read", "install HDF5 (Debian: apt install libhdf5-dev) and build again");
}

Finding JudgeTrainers(const InstallationFacts& facts) {
  if (!facts.trainers.empty()) return Ok("trainers", fmt::format("{}", fmt::join(facts.trainers, ", ")));
  return Warn("trainers", "none of the bundled ones; train.command runs any program",
              "install libtorch (Debian: apt install libtorch-dev) and build again");
}

}  // namespace

InstallationFacts ProbeInstallation() {
  InstallationFacts facts;
  facts.version = fmt::format("{} ({})", Version(), SourceRevision());
  facts.prefix = InstallPrefix().string();
  for (const char* helper : kHelpers) {
    if (!CanRun(HelperProgram(helper))) facts.missing.emplace_back(helper);
  }
  facts.mpis = LibrariesFound();
  facts.hdf5 = Exists(LibraryDirectory() / "slipway" / "libslipway_hdf5.so");
  facts.trainers = NamesIn(HelperProgram("trainers"));
  return facts;
}

Findings Judge(const InstallationFacts& facts) {
  return {JudgeHelpers(facts), JudgeLibraries(facts), JudgeHdf5(facts), JudgeTrainers(facts)};
}

}  // namespace slipway::launcher
