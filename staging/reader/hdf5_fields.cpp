#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/hdf5.h"
#include "staging/reader/field_source.h"
#include "staging/reader/hdf5_rows.h"

namespace slipway::staging {

namespace {

ElementType TypeOf(NumberType type) {
  switch (type) {
    case NumberType::kInt8: return ElementType::kInt8;
    case NumberType::kUint8: return ElementType::kUint8;
    case NumberType::kInt16: return ElementType::kInt16;
    case NumberType::kUint16: return ElementType::kUint16;
    case NumberType::kInt32: return ElementType::kInt32;
    case NumberType::kUint32: return ElementType::kUint32;
    case NumberType::kInt64: return ElementType::kInt64;
    case NumberType::kUint64: return ElementType::kUint64;
    case NumberType::kFloat32: return ElementType::kFloat32;
    case NumberType::kFloat64: return ElementType::kFloat64;
  }
  return ElementType::kUint8;
}

[[noreturn]] void ThrowMissing(const WantedField& wanted, const std::vector<Hdf5Dataset>& datasets) {
  std::vector<std::string> names;
  for (const auto& dataset : datasets) names.push_back(dataset.name);
  throw Error(ErrorKind::kUsage,
              fmt::format("the dataset has no field '{}'; it has: {}", wanted.name, fmt::join(names, ", ")),
              "name one of them");
}

const Hdf5Dataset& FindWanted(const WantedField& wanted, const std::vector<Hdf5Dataset>& datasets) {
  const auto found = std::ranges::find(datasets, wanted.name, &Hdf5Dataset::name);
  if (found == datasets.end()) ThrowMissing(wanted, datasets);
  return *found;
}

/// How many values lie before the end of each dimension, from the last one on.
std::set<std::uint64_t> Strides(const Shape& shape) {
  std::set<std::uint64_t> strides;
  std::uint64_t stride = 1;
  for (const auto length : std::views::reverse(shape)) strides.insert(stride *= length);
  strides.erase(1);
  return strides;
}

/// The same values in the same places: [768] or [3, 256] for [3, 16, 16]. Not [16, 16, 3], whose channels come last.
bool IsOtherWordFor(const Shape& one, const Shape& other) {
  const auto all = Strides(one);
  const auto some = Strides(other);
  return CountOf(one) == CountOf(other) && (std::ranges::includes(all, some) || std::ranges::includes(some, all));
}

/// A shape may be said again, or with dimensions run together or divided.
FieldType TypeFor(const WantedField& wanted, const Hdf5Dataset& dataset) {
  FieldType type{TypeOf(dataset.type), {dataset.shape.begin() + 1, dataset.shape.end()}};
  if (wanted.any_length) {
    if (type != FieldType{ElementType::kUint8, {ValuesPerRow(dataset)}}) {
      throw Error(ErrorKind::kUsage, fmt::format("field '{}': {} is no encoded picture", wanted.name, TypeText(type)),
                  "decode only datasets of encoded bytes");
    }
    return {ElementType::kUint8, {0}};
  }
  const bool same_values = !wanted.shape || IsOtherWordFor(*wanted.shape, type.shape);
  if (!same_values || (wanted.type && *wanted.type != type.type)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("field '{}' has {}, not {}", wanted.name, TypeText(type),
                            TypeText({wanted.type.value_or(type.type), wanted.shape.value_or(type.shape)})),
                "use the transform 'cast' for another type");
  }
  if (wanted.shape) type.shape = *wanted.shape;
  return type;
}

class Hdf5Fields final : public FieldSource {
 public:
  Hdf5Fields(const DatasetFiles& dataset, std::vector<WantedField> fields) : wanted_(std::move(fields)) {
    if (wanted_.empty()) ThrowNotWhole(dataset.files[0].path);
    for (const auto& file : dataset.files) Open(file);
    RequireRecords();
  }

  void Fetch(std::uint64_t record, FetchMemory& memory, std::span<FetchedField> fields) const override {
    const auto place = borders_.Find(record);
    memory.fields.resize(wanted_.size());
    memory.chunks.resize(wanted_.size());
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const auto& rows = *opened_[place.file].fields[i];
      auto out = fields[i].target;
      if (out.size() != rows.row_bytes()) {
        memory.fields[i].resize(rows.row_bytes());
        out = memory.fields[i];
      }
      WithContext(fmt::format("in field '{}'", wanted_[i].name),
                  [&] { rows.Read(place.record, out, memory.chunks[i]); });
      fields[i].values = {types_[i].type, types_[i].shape, out};
      if (wanted_[i].any_length) fields[i].values.shape = {out.size()};
    }
  }

  std::span<const std::byte> Payload(std::uint64_t, std::vector<std::byte>&) const override {
    ThrowNotWhole(files()[0]);
  }
  void RequireWholeRecords() const override { ThrowNotWhole(files()[0]); }

 private:
  struct OpenedFile {
    std::shared_ptr<Hdf5File> file;
    std::vector<std::unique_ptr<Hdf5Rows>> fields;
  };

  void Open(const DatasetFile& file) {
    OpenedFile opened{OpenHdf5(file.path), {}};
    std::optional<std::uint64_t> rows;
    std::vector<FieldType> types;
    for (const auto& wanted : wanted_) {
      const auto& dataset = FindWanted(wanted, opened.file->Datasets());
      if (rows && *rows != dataset.shape[0]) {
        throw Error(ErrorKind::kEnvironment,
                    fmt::format("'{}': '{}' has {} rows, '{}' has {}: every dataset must have one row for each record",
                                file.path.string(), wanted_[0].name, *rows, wanted.name, dataset.shape[0]),
                    "write the file again with one row for each record");
      }
      rows = dataset.shape[0];
      types.push_back(TypeFor(wanted, dataset));
      opened.fields.push_back(OpenHdf5Rows(opened.file, file.path, dataset));
    }
    if (!opened_.empty() && types != types_) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' and '{}' have different datasets", files()[0].string(), file.path.string()),
                  "read the files as separate datasets");
    }
    CheckPromises(file, FileBytes(file.path), rows);
    types_ = std::move(types);
    opened_.push_back(std::move(opened));
    AddFile(file.path, *rows);
  }

  std::vector<WantedField> wanted_;
  std::vector<OpenedFile> opened_;
};

}  // namespace

void ThrowNotWhole(const std::filesystem::path& path) {
  throw Error(ErrorKind::kUsage, fmt::format("'{}' is HDF5: its records are read field by field", path.string()),
              "name the fields, without payloads");
}

std::unique_ptr<FieldSource> OpenHdf5Fields(const DatasetFiles& dataset, std::vector<WantedField> fields) {
  return std::make_unique<Hdf5Fields>(dataset, std::move(fields));
}

}  // namespace slipway::staging
