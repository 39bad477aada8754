#include "staging/reader/field_source.h"

#include <fmt/format.h>

#include "core/error.h"

namespace slipway::staging {

std::string FieldSource::Describe(std::uint64_t record) const {
  const auto place = borders_.Find(record);
  return fmt::format("'{}': record {}", files_[place.file].string(), place.record);
}

void FieldSource::AddFile(std::filesystem::path path, std::uint64_t records) {
  borders_.AddFile(path, records);
  files_.push_back(std::move(path));
}

void FieldSource::RequireRecords() const {
  if (record_count() > 0) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("the dataset with '{}' has no records", files_[0].string()),
              "check what wrote it: slipway data info");
}

void ThrowNotWhole(const std::filesystem::path& path, DataFormat format) {
  throw Error(ErrorKind::kUsage,
              fmt::format("'{}' is {}: its records are read field by field", path.string(), WordOf(format)),
              "name the fields, without payloads");
}

bool IsDamage(const Error& error) {
  return error.kind() == ErrorKind::kEnvironment && dynamic_cast<const SystemError*>(&error) == nullptr;
}

namespace {

std::unique_ptr<FieldSource> OpenByFormat(const DatasetFiles& dataset, std::vector<WantedField> fields,
                                          AccessPattern pattern) {
  switch (dataset.format) {
    case DataFormat::kTfrecord: return OpenExampleFields(dataset, std::move(fields), pattern);
    case DataFormat::kHdf5: return OpenHdf5Fields(dataset, std::move(fields));
    case DataFormat::kWebdataset:
    case DataFormat::kNumpy:
    case DataFormat::kImages: return OpenTableFields(dataset, std::move(fields));
    case DataFormat::kRaw: break;
  }
  ThrowNoData(dataset.files[0].path);
}

}  // namespace

std::unique_ptr<FieldSource> OpenFieldSource(const DatasetFiles& dataset, std::vector<WantedField> fields,
                                             AccessPattern pattern) {
  auto source = OpenByFormat(dataset, std::move(fields), pattern);
  source->Hold(dataset.leases);
  return source;
}

}  // namespace slipway::staging
