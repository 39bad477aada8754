#include "staging/copy/own_sums.h"

#include <fmt/format.h>

#include "core/error.h"
#include "staging/foreign/foreign_hdf5.h"

namespace slipway::staging {

bool ComparesOwnSums(const DatasetRequest& request) {
  return request.format == DataFormat::kHdf5 && request.verify == VerifyMode::kFull;
}

Hdf5Verification CompareOwnSums(const SourceFile& source, const std::filesystem::path& copy,
                                const std::function<void()>& on_wait) {
  return WithContext(fmt::format("in the copy of '{}', which has the bytes of its source", source.path.string()),
                     [&] { return ForeignHdf5(copy, on_wait).Verify(); });
}

}  // namespace slipway::staging
