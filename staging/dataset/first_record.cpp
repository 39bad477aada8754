#include "staging/dataset/first_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/error.h"
#include "staging/dataset/dataset_files.h"
#include "staging/formats/table_file.h"
#include "staging/formats/tfrecord.h"

namespace slipway::staging {

namespace {

FeatureKind KindOfNumbers(NumberType type) {
  switch (type) {
    case NumberType::kInt8:
    case NumberType::kUint8: return FeatureKind::kBytes;
    case NumberType::kFloat32:
    case NumberType::kFloat64: return FeatureKind::kFloat;
    default: return FeatureKind::kInt64;
  }
}

void RequireRecords(std::uint64_t records, const std::filesystem::path& file) {
  if (records > 0) return;
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no records", file.string()),
              "check the program that wrote it");
}

std::vector<FieldInfo> PartsOfExample(std::span<const std::byte> record) {
  std::vector<FieldInfo> fields;
  for (const auto& feature : ParseExample(record).features()) {
    const auto count = feature.kind() == FeatureKind::kBytes ? feature.FirstBytes().size() : feature.count();
    fields.push_back({std::string(feature.name()), feature.kind(), count, {}});
  }
  return fields;
}

std::vector<FieldInfo> FieldsOfRecord(std::span<const std::byte> record, RecordKind kind) {
  if (kind == RecordKind::kExample) return PartsOfExample(record);
  std::vector<FieldInfo> fields;
  for (auto& part : PartsOfRecord(record, kind)) fields.push_back({std::move(part.name), part.kind, part.count, {}});
  return fields;
}

FirstRecord OfTfrecord(const std::filesystem::path& path) {
  const TfrecordFile file(path);
  RequireRecords(file.record_count(), path);
  const auto record = file.Record(0);
  const auto kind = KindOfRecord(record);
  return WithContext(fmt::format("in '{}': record 0", path.string()), [&] {
    return FirstRecord{DataFormat::kTfrecord, file.record_count(), kind, FieldsOfRecord(record, kind)};
  });
}

FirstRecord OfTable(const DatasetFiles& dataset) {
  const auto opened = OpenTableFiles(dataset.format, TableInputsOf(dataset));
  const auto& table = *opened.at(0);
  RequireRecords(table.record_count(), dataset.files[0].path);
  FirstRecord first{dataset.format, table.record_count()};
  std::vector<std::byte> buffer;
  for (std::size_t i = 0; i < table.fields().size(); ++i) {
    const auto& field = table.fields()[i];
    const auto bytes = field.any_length ? table.Value(0, i, buffer).size() : BytesPerValue(field);
    const auto kind = field.any_length ? FeatureKind::kBytes : KindOfNumbers(field.type);
    first.fields.push_back({field.name, kind, bytes / SizeOf(field.type), field.shape});
  }
  return first;
}

}  // namespace

FieldInfo FieldInfoOf(const Hdf5Dataset& dataset) {
  return {dataset.name,
          KindOfNumbers(dataset.type),
          ValuesPerRow(dataset),
          {dataset.shape.begin() + 1, dataset.shape.end()}};
}

FirstRecord ReadFirstRecord(const std::filesystem::path& file) {
  const auto dataset = DescribeFiles({file});
  const bool is_table = IsTableFormat(dataset.format);
  if (!is_table && dataset.format != DataFormat::kTfrecord) ThrowNoData(file);
  auto first = is_table ? OfTable(dataset) : OfTfrecord(file);
  std::ranges::sort(first.fields, {}, &FieldInfo::name);
  return first;
}

}  // namespace slipway::staging
