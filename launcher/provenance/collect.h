/// Finds out where the results of a run will come from.
#pragma once

#include <filesystem>
#include <vector>

#include "launcher/plan/plan.h"
#include "launcher/provenance/provenance.h"

namespace slipway::launcher {

/// Everything, on this machine, now. What cannot be found out becomes a warning in the result, never an error.
///
/// Cost: 20 ms in a small repository, 40 ms more with a Python program. Git gets 10 seconds; Python, mpirun and podman
///       get 5 each.
Provenance CollectProvenance(const Plan& plan);

/// Replaces what depends on the machine: versions, Python, modules, variables, container. Adds this host. For a manager
/// on another machine than the command that made the run, or with other modules.
void CollectMachine(const Plan& plan, Provenance& provenance);

/// Takes out what a run of this plan does not use: with one rank, the version of MPI. The plan may have changed since.
void ForgetUnused(const Plan& plan, Provenance& provenance);

/// The state of the repository that holds the first of `folders` that lies in one. `with_diff`: also its diff and the
/// names of untracked files, except those in `runs`.
RepositoryState RepositoryOf(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& runs,
                             bool with_diff);

/// The files that the command names, and the folders where its repository is looked for, the likeliest first.
struct ProgramPlaces {
  std::vector<std::filesystem::path> files;
  std::vector<std::filesystem::path> folders;
};
ProgramPlaces PlacesOfProgram(const Plan& plan);

}  // namespace slipway::launcher
