#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/hdf5.h"
#include "staging/reader/record_source.h"

namespace slipway::staging {

FeatureKind KindOf(NumberType type) {
  switch (type) {
    case NumberType::kInt8:
    case NumberType::kUint8: return FeatureKind::kBytes;
    case NumberType::kFloat32:
    case NumberType::kFloat64: return FeatureKind::kFloat;
    default: return FeatureKind::kInt64;
  }
}

namespace {

bool IsInteger(NumberType type) { return KindOf(type) != FeatureKind::kFloat; }

/// The number of rows that all datasets of the file share.
std::uint64_t RowsOf(const Hdf5File& file, const std::filesystem::path& path) {
  const auto& datasets = file.Datasets();
  if (datasets.empty()) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no datasets of numbers", path.string()),
                "name a file with datasets of numbers");
  }
  for (const auto& dataset : datasets) {
    if (dataset.shape[0] == datasets[0].shape[0]) continue;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}': '{}' has {} rows, '{}' has {}: every dataset must have one "
                            "row for each record",
                            path.string(), datasets[0].name, datasets[0].shape[0], dataset.name, dataset.shape[0]),
                "write the file again with one row for each record");
  }
  return datasets[0].shape[0];
}

bool SameFields(const std::vector<Hdf5Dataset>& left, const std::vector<Hdf5Dataset>& right) {
  return std::ranges::equal(left, right, [](const Hdf5Dataset& a, const Hdf5Dataset& b) {
    return a.name == b.name && a.type == b.type &&
           std::equal(a.shape.begin() + 1, a.shape.end(), b.shape.begin() + 1, b.shape.end());
  });
}

class Hdf5Source final : public RecordSource {
 public:
  explicit Hdf5Source(const DatasetFiles& dataset) {
    for (const auto& file : dataset.files) Add(file);
    if (borders_.count() == 0) {
      throw Error(ErrorKind::kEnvironment, fmt::format("the dataset with '{}' has no records", files_[0].string()),
                  "check what wrote it: slipway data info");
    }
    for (const auto& field : opened_[0]->Datasets()) fields_.push_back(FieldOf(field));
  }

  std::uint64_t record_count() const override { return borders_.count(); }
  DataFormat format() const override { return DataFormat::kHdf5; }

  void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<std::byte> out) override {
    const auto& dataset = FindField(field);
    Require(dataset, KindOf(dataset.type) == FeatureKind::kBytes, out.size() / records.size(), "bytes");
    ReadRuns(records, dataset, dataset.type, out);
  }
  void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<float> out) override {
    const auto& dataset = FindField(field);
    Require(dataset, KindOf(dataset.type) == FeatureKind::kFloat, out.size() / records.size(), "floats");
    ReadRuns(records, dataset, NumberType::kFloat32, std::as_writable_bytes(out));
  }
  void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<std::int64_t> out) override {
    const auto& dataset = FindField(field);
    Require(dataset, IsInteger(dataset.type), out.size() / records.size(), "integers");
    ReadRuns(records, dataset, NumberType::kInt64, std::as_writable_bytes(out));
  }

  std::span<const std::byte> Record(std::uint64_t) override {
    throw Error(ErrorKind::kUsage, fmt::format("'{}' is HDF5: its records are read field by field", files_[0].string()),
                "read its fields by name");
  }

 private:
  void Add(const DatasetFile& file) {
    const auto& opened = opened_.emplace_back(OpenHdf5(file.path));
    const auto rows = RowsOf(*opened, file.path);
    CheckPromises(file, FileBytes(file.path), rows);
    if (!SameFields(opened->Datasets(), opened_[0]->Datasets())) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' and '{}' have different datasets", files_[0].string(), file.path.string()),
                  "read the files as separate datasets");
    }
    borders_.AddFile(file.path, rows);
    files_.push_back(file.path);
  }

  const Hdf5Dataset& FindField(std::string_view field) const {
    const auto& datasets = opened_[0]->Datasets();
    const auto found = std::ranges::find(datasets, field, &Hdf5Dataset::name);
    if (found != datasets.end()) return *found;
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no dataset '{}'", files_[0].string(), field),
                "name one of the datasets that slipway data info lists");
  }

  void Require(const Hdf5Dataset& dataset, bool right_kind, std::uint64_t count, std::string_view kind) const {
    if (right_kind && ValuesPerRow(dataset) == count) return;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}': field '{}': expected {} {} for each record, found {} {}", files_[0].string(),
                            dataset.name, count, kind, ValuesPerRow(dataset), WordOf(dataset.type)),
                "read the type that slipway data info lists");
  }

  /// One read for each run of consecutive records in one file.
  void ReadRuns(std::span<const std::uint64_t> records, const Hdf5Dataset& dataset, NumberType as,
                std::span<std::byte> out) {
    const auto row_bytes = out.size() / records.size();
    while (!records.empty()) {
      const auto place = borders_.Find(records[0]);
      const auto run = RunLength(records, borders_.Left(place));
      opened_[place.file]->ReadRows(dataset.name, place.record, place.record + run, as, out.first(run * row_bytes));
      records = records.subspan(run);
      out = out.subspan(run * row_bytes);
    }
  }

  static std::size_t RunLength(std::span<const std::uint64_t> records, std::uint64_t left) {
    std::size_t run = 1;
    while (run < records.size() && run < left && records[run] == records[0] + run) ++run;
    return run;
  }

  std::vector<std::unique_ptr<Hdf5File>> opened_;
  RecordBorders borders_;
};

}  // namespace

FieldInfo FieldOf(const Hdf5Dataset& dataset) {
  return {dataset.name, KindOf(dataset.type), ValuesPerRow(dataset), {dataset.shape.begin() + 1, dataset.shape.end()}};
}

std::unique_ptr<RecordSource> OpenHdf5Source(const DatasetFiles& files) { return std::make_unique<Hdf5Source>(files); }

}  // namespace slipway::staging
