/// What differs between the provenances of runs. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/provenance/provenance.h"

namespace slipway::launcher {

/// A fact that may change what a run computes.
struct FactDifference {
  std::string fact;                                ///< "commit", "diff.train.py", "versions.python", "cpu"
  std::vector<std::optional<std::string>> values;  ///< one for each provenance; nothing: it is not recorded there
};

/// The patches of a diff by the path of their file.
std::vector<std::pair<std::string, std::string>> PatchesOf(const std::string& diff);

/// The facts that are not the same in all, code first. Times, names of hosts, folders and untracked files are no such
/// facts.
std::vector<FactDifference> DifferencesBetween(std::span<const Provenance> provenances);

/// The name of the variable that a fact is about; empty: another kind of fact.
std::string VariableIn(const std::string& fact);
/// Whether a variable sets the number of threads: it changes the order of sums.
bool SetsThreads(std::string_view variable);

/// Whether commit, diff and the files of the command are known and the same. Without a repository the files count
/// alone.
bool HaveSameCode(const Provenance& left, const Provenance& right);

}  // namespace slipway::launcher
