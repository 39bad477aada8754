#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/hdf5.h"
#include "staging/reader/field_source.h"
#include "staging/reader/field_types.h"
#include "staging/reader/hdf5_rows.h"

namespace slipway::staging {

namespace {

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

class Hdf5Fields final : public FieldSource {
 public:
  Hdf5Fields(const DatasetFiles& dataset, std::vector<WantedField> fields) : wanted_(std::move(fields)) {
    if (wanted_.empty()) ThrowNotWhole(dataset.files[0].path, DataFormat::kHdf5);
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
    ThrowNotWhole(files()[0], DataFormat::kHdf5);
  }
  void RequireWholeRecords() const override { ThrowNotWhole(files()[0], DataFormat::kHdf5); }

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
      types.push_back(TypeOfNumbers(wanted, dataset.type, {dataset.shape.begin() + 1, dataset.shape.end()}));
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

std::unique_ptr<FieldSource> OpenHdf5Fields(const DatasetFiles& dataset, std::vector<WantedField> fields) {
  return std::make_unique<Hdf5Fields>(dataset, std::move(fields));
}

}  // namespace slipway::staging
