#include "staging/dataset/check_file.h"

#include <fmt/format.h>

#include "core/error.h"
#include "staging/foreign/foreign_hdf5.h"
#include "staging/formats/detect.h"

namespace slipway::staging {

namespace {

void ReadEveryValue(const std::filesystem::path& path, CheckedFile& checked) {
  ForeignHdf5 file(path);
  checked.hdf5 = file.Verify();
  checked.records = CommonRows(file.Datasets());
}

}  // namespace

CheckedFile CheckFile(const DatasetFile& file, const std::function<void(std::uint64_t)>& progress) {
  CheckedFile checked;
  checked.format = DetectFormat(file.path);
  if (checked.format == DataFormat::kRaw) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is neither a TFRecord nor an HDF5 file", file.path.string()),
                "name TFRecord or HDF5 files");
  }
  const auto check = MakeStreamCheck(checked.format, file.path);
  FeedFile(file.path, *check, [&](std::uint64_t count) {
    checked.bytes += count;
    progress(count);
  });
  const auto summary = check->Finish();
  checked.records = summary.records;
  if (checked.format == DataFormat::kHdf5) ReadEveryValue(file.path, checked);
  CheckPromises(file, checked.bytes, checked.records);
  return checked;
}

}  // namespace slipway::staging
