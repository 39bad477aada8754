#include "staging/reader/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "staging/dataset/dataset_files.h"
#include "staging/reader/file_supply.h"
#include "staging/reader/record_source.h"

namespace slipway::staging {

namespace {

std::unique_ptr<RecordSource> OpenSource(const DatasetFiles& dataset) {
  switch (dataset.format) {
    case DataFormat::kTfrecord: return OpenTfrecordSource(dataset);
    case DataFormat::kHdf5: return OpenHdf5Source(dataset);
    case DataFormat::kWebdataset:
    case DataFormat::kNumpy:
    case DataFormat::kImages: return OpenTableSource(dataset);
    case DataFormat::kRaw: break;
  }
  ThrowNoData(dataset.files[0].path);
}

void CheckRecords(std::span<const std::uint64_t> records, std::uint64_t record_count) {
  for (const auto record : records) {
    if (record < record_count) continue;
    throw Error(ErrorKind::kUsage, fmt::format("there is no record {}: the dataset has {}", record, record_count),
                "count records from 0");
  }
}

template <class Value>
void ReadChecked(RecordSource& source, std::span<const std::uint64_t> records, std::string_view field,
                 std::span<Value> out) {
  CheckRecords(records, source.record_count());
  if (records.empty() ? !out.empty() : out.size() % records.size() != 0) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} values of the field '{}' cannot be shared out to {} records", out.size(), field,
                            records.size()),
                "give the same number of values for each record");
  }
  if (!records.empty()) source.Read(records, field, out);
}

std::vector<std::string> NamesOf(const std::vector<FieldInfo>& fields) {
  std::vector<std::string> names;
  for (const auto& field : fields) names.push_back(field.name);
  return names;
}

}  // namespace

Dataset::Dataset(const DatasetFiles& files) : source_(OpenSource(files)), leases_(files.leases) {}
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

Dataset Dataset::Open(const std::filesystem::path& path) {
  AwaitPublished(path);
  return Dataset(FindDatasetFiles(path));
}

Dataset Dataset::OpenFiles(std::vector<std::filesystem::path> files) {
  return Dataset(DescribeFiles(std::move(files)));
}

DataFormat Dataset::format() const { return source_->format(); }
std::uint64_t Dataset::record_count() const { return source_->record_count(); }
const std::vector<std::filesystem::path>& Dataset::files() const { return source_->files(); }
const std::vector<FieldInfo>& Dataset::fields() const { return source_->fields(); }

const FieldInfo& Dataset::Field(std::string_view name) const {
  const auto found = std::ranges::find(fields(), name, &FieldInfo::name);
  if (found != fields().end()) return *found;
  throw Error(ErrorKind::kUsage,
              fmt::format("the dataset has no field '{}'; it has: {}", name, fmt::join(NamesOf(fields()), ", ")),
              "name one of them");
}

void Dataset::ReadBytes(std::span<const std::uint64_t> records, std::string_view field,
                        std::span<std::byte> out) const {
  ReadChecked(*source_, records, field, out);
}
void Dataset::ReadFloats(std::span<const std::uint64_t> records, std::string_view field, std::span<float> out) const {
  ReadChecked(*source_, records, field, out);
}
void Dataset::ReadInts(std::span<const std::uint64_t> records, std::string_view field,
                       std::span<std::int64_t> out) const {
  ReadChecked(*source_, records, field, out);
}

void Dataset::ReadBytes(std::uint64_t record, std::string_view field, std::span<std::byte> out) const {
  ReadBytes({&record, 1}, field, out);
}
void Dataset::ReadFloats(std::uint64_t record, std::string_view field, std::span<float> out) const {
  ReadFloats({&record, 1}, field, out);
}
std::int64_t Dataset::ReadInt(std::uint64_t record, std::string_view field) const {
  std::int64_t value = 0;
  ReadInts({&record, 1}, field, {&value, 1});
  return value;
}

std::span<const std::byte> Dataset::Record(std::uint64_t record) const {
  CheckRecords({&record, 1}, record_count());
  return source_->Record(record);
}

ExampleView Dataset::ReadExample(std::uint64_t record) const { return ParseExample(Record(record)); }

}  // namespace slipway::staging
