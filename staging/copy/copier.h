/// How the files of a plan are copied, as one replaceable function, and what its caller may choose.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/units.h"
#include "staging/copy/copy.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

struct StageProgress {
  Bytes done;
  Bytes total;
  std::string current;  ///< the file, or that another run is waited for
};

/// Files that a directive of the batch system has put into the tier before. They are checked before they count.
struct FoundFiles {
  /// The files lie there under their names in the dataset. The directory is removed when the dataset is published.
  /// Empty: none.
  std::filesystem::path directory = {};
  /// The sources have not changed since before those files were copied. Then a format with sums of its own can be
  /// checked by these alone.
  bool of_these_sources = false;
};

struct StageOptions;

/// Copies all files of `plan` into `directory`. The directories of the files exist already. An interrupted run may have
/// left files there; CopyOptions::kept says what of them counts. With an empty `directory` the files are only read and
/// checked.
///
/// Result: one entry for each file, in the plan's order.
/// Duties: reports to CopyOptions::arrivals what is there; asks StageOptions::cancelled and reports progress, one
///         callback at a time; makes nothing durable (the caller syncs the tier).
/// Errors: the first that a file met, once no thread works any more; Error(kInterrupted) when cancelled.
using Copier = std::function<std::vector<CopiedFile>(const StagingPlan& plan, const std::filesystem::path& directory,
                                                     const CopyOptions& copy, const StageOptions& options)>;

/// The callbacks run often and on the copying threads, never two at once.
struct StageOptions {
  std::function<void(const StageProgress&)> progress;
  std::function<bool()> cancelled;
  /// Tier `none`: the directory for the generation of links, like `data` in the run folder. Programs and the reader so
  /// find the files in one place with a manifest, as in any other tier.
  std::filesystem::path link_root = {};
  std::vector<std::size_t> order = {};  ///< indices into plan.files, each once, first ones first; empty: plan's order
  std::size_t files_at_once = 0;        ///< 0: what the copier finds best
  Bytes bandwidth = {};                 ///< bytes a second read from the sources; 0: no limit
  Copier copier = {};                   ///< empty: CopyAll
  FoundFiles found = {};
};

}  // namespace slipway::staging
