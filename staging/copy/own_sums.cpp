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
  auto found = WithContext(fmt::format("in the copy of '{}', which has the bytes of its source", source.path.string()),
                           [&] { return ForeignHdf5(copy, on_wait).Verify(); });
  for (auto& unread : found.unread) unread.name = fmt::format("{}: {}", source.name.string(), unread.name);
  return found;
}

std::string DescribeUnread(const Hdf5Unread& unread) {
  return fmt::format("the checksums of '{}' were not compared: it {}{}{}", unread.name, unread.why,
                     unread.next_step.empty() ? "" : "; ", unread.next_step);
}

}  // namespace slipway::staging
