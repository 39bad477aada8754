/// The checksums that files bring along inside: compared where the user wants everything looked at.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "staging/formats/hdf5.h"
#include "staging/plan/plan.h"

namespace slipway::staging {

/// Only HDF5 has sums that are not compared while the bytes stream past, and only VerifyMode::kFull pays for them.
bool ComparesOwnSums(const DatasetRequest& request);

/// Reads the HDF5 file `copy` of `source` through the library, in a helper process. `on_wait` may throw to stop it.
/// Result: names of datasets follow that of the file: "a.h5: group/x".
/// Errors: those of ForeignHdf5::Verify, naming the source.
Hdf5Verification CompareOwnSums(const SourceFile& source, const std::filesystem::path& copy,
                                const std::function<void()>& on_wait);

/// "the checksums of 'a.h5: x' were not compared: it needs the filter lzf (32000), which is not installed; install ..."
std::string DescribeUnread(const Hdf5Unread& unread);

}  // namespace slipway::staging
