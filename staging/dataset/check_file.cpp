#include "staging/dataset/check_file.h"

#include <fmt/format.h>

#include "core/error.h"
#include "staging/formats/detect.h"
#include "staging/formats/hdf5.h"

namespace slipway::staging {

namespace {

/// Returns the number of records: the rows of the first dataset.
std::uint64_t ReadEveryValue(const std::filesystem::path& path) {
  const auto file = OpenHdf5(path);
  file->Verify();
  return file->Datasets().empty() ? 0 : file->Datasets()[0].shape[0];
}

}  // namespace

CheckedFile CheckFile(const DatasetFile& file, const std::function<void(std::uint64_t)>& progress) {
  CheckedFile checked{DetectFormat(file.path), 0, 0};
  if (checked.format == DataFormat::kRaw) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' is neither a TFRecord nor an HDF5 file", file.path.string()));
  }
  const auto check = MakeStreamCheck(checked.format, file.path);
  FeedFile(file.path, *check, [&](std::uint64_t count) {
    checked.bytes += count;
    progress(count);
  });
  const auto summary = check->Finish();
  checked.records = summary.records ? *summary.records : ReadEveryValue(file.path);
  CheckPromises(file, checked.bytes, checked.records);
  return checked;
}

}  // namespace slipway::staging
