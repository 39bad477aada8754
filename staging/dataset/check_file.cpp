#include "staging/dataset/check_file.h"

#include <fmt/format.h>

#include "core/error.h"
#include "staging/foreign/foreign_hdf5.h"
#include "staging/formats/detect.h"
#include "staging/formats/table_file.h"

namespace slipway::staging {

namespace {

void ReadEveryValue(const std::filesystem::path& path, CheckedFile& checked) {
  ForeignHdf5 file(path);
  checked.hdf5 = file.Verify();
  checked.records = CommonRows(file.Datasets());
}

/// Opening checks what the bytes that stream past do not show: members of .npz, arrays in samples. Every value is read.
std::uint64_t ReadTable(const std::filesystem::path& path, DataFormat format) {
  const auto table = std::move(OpenTableFiles(format, {{path}}).front());
  std::vector<std::byte> buffer;
  for (std::uint64_t record = 0; record < table->record_count(); ++record) {
    WithContext(fmt::format("in '{}': record {}", path.string(), record), [&] {
      for (std::size_t field = 0; field < table->fields().size(); ++field) table->Value(record, field, buffer);
    });
  }
  return table->record_count();
}

}  // namespace

CheckedFile CheckFile(const DatasetFile& file, const std::function<void(std::uint64_t)>& progress) {
  CheckedFile checked;
  checked.format = DetectFormat(file.path);
  if (checked.format == DataFormat::kRaw) ThrowNoData(file.path);
  const auto check = MakeStreamCheck(checked.format, file.path);
  FeedFile(file.path, *check, [&](std::uint64_t count) {
    checked.bytes += count;
    progress(count);
  });
  const auto summary = check->Finish();
  checked.records = summary.records;
  if (checked.format == DataFormat::kHdf5) ReadEveryValue(file.path, checked);
  if (IsTableFormat(checked.format)) checked.records = ReadTable(file.path, checked.format);
  CheckPromises(file, checked.bytes, checked.records);
  return checked;
}

}  // namespace slipway::staging
