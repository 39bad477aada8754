/// Takes files that a batch system has put into the tier over into the private directory of a staging.
///
/// A batch system's directive copies without a checksum, and may have copied yesterday's state of a source. So a found
/// file is only a guess at what the copy will be: the copier compares all of it, and writes what differs anew.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "staging/copy/copier.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// A file that was not as it should be, and has been copied from its source, all of it or in part.
struct MendedFile {
  std::string name;    ///< in the dataset
  std::string reason;  ///< "it is not there"
};

/// Pure. `noted`: a manifest beside the source has the CRCs of its blocks.
FoundBasis BasisFor(const DatasetRequest& request, bool of_these_sources, bool noted);

/// What the files found take already of the space that the plan's files need.
Bytes SizeOfFound(const StagingPlan& plan, const FoundFiles& found);

/// Moves what may be of use into `directory`, where the plan's directories are made, and says in `kept` by what each
/// is judged. Of what an interrupted run has left there nothing is touched.
///
/// Result: for each file why it was not taken; empty when it was, or when there was no need; no list at all when
/// nothing
///         was found. Refused: another size, a link or whatever is no regular file, one that another user owns or has
///         another name for and so could change, one on another file system.
/// Cost:   a rename and two stats for each file.
std::vector<std::string> TakeOver(const StagingPlan& plan, const FoundFiles& found,
                                  const std::filesystem::path& directory, std::vector<KeptFile>& kept);

/// Those that had to be copied. `refused`: of TakeOver.
std::vector<MendedFile> MendedFiles(const StagingPlan& plan, const std::vector<std::string>& refused,
                                    const std::vector<CopiedFile>& copied);

}  // namespace slipway::staging
