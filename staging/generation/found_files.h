/// Moves files that a batch system has put into the tier into the private directory of a staging.
///
/// A batch system's directive copies without a checksum, and may have copied an older state of a source. So a found
/// file is only a guess: the copier compares all of it and overwrites what differs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "staging/copy/copier.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// A file that was damaged or missing and has been copied from its source, completely or in part.
struct MendedFile {
  std::string name;    ///< in the dataset
  std::string reason;  ///< "it is not there"
};

/// Pure. `noted`: a manifest beside the source has the CRCs of its blocks.
FoundBasis BasisFor(const DatasetRequest& request, bool of_these_sources, bool noted);

/// What the files found take already of the space that the plan's files need.
Bytes SizeOfFound(const StagingPlan& plan, const FoundFiles& found);

/// Moves usable files into `directory`, where the plan's directories exist already. Fills `kept` with what each file is
/// compared with. Files that an interrupted run left there are not touched.
///
/// Result: for each file why it was not taken; empty when it was, or did not need to be. No list at all when nothing
///         was found.
/// Refused: a file of another size, on another file system, or that is not a regular file, such as a link. Also a file
///          that another user could change: as its owner, or by another name of it.
/// Cost:   a rename and two stats for each file.
std::vector<std::string> TakeOver(const StagingPlan& plan, const FoundFiles& found,
                                  const std::filesystem::path& directory, std::vector<KeptFile>& kept);

/// Those that had to be copied. `refused`: of TakeOver.
std::vector<MendedFile> MendedFiles(const StagingPlan& plan, const std::vector<std::string>& refused,
                                    const std::vector<CopiedFile>& copied);

}  // namespace slipway::staging
