/// Copies single files into a directory: complete and confirmed, or absent.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "staging/copy/copier.h"

namespace slipway::staging {

struct FileToCopy {
  std::filesystem::path source;  ///< absolute; links are followed
  std::string name;              ///< in the directory; no path
};

/// Copies all files into `directory`, which is created. Files with the same names there are replaced.
///
/// Way:    into a folder of its own in `directory`, several at a time, read back from the medium and compared (CRC32C),
///         synced; then one rename for each. What a killed process of this machine left there in such a folder goes.
/// Errors: Error(kUsage) for two files of one name. Error(kEnvironment) naming the file: not a regular file, changed
///         while it was copied, differs when read back. SystemError; Error(kInterrupted). After an error only complete
///         files are left.
void CopyFiles(const std::vector<FileToCopy>& files, const std::filesystem::path& directory,
               const StageOptions& options = {});

}  // namespace slipway::staging
