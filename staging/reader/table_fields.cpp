#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/table_file.h"
#include "staging/reader/field_source.h"
#include "staging/reader/field_types.h"

namespace slipway::staging {

namespace {

std::size_t PlaceOf(const WantedField& wanted, const std::vector<TableField>& fields) {
  const auto found = std::ranges::find(fields, wanted.name, &TableField::name);
  if (found != fields.end()) return static_cast<std::size_t>(found - fields.begin());
  std::vector<std::string> names;
  for (const auto& field : fields) names.push_back(field.name);
  throw Error(ErrorKind::kUsage,
              fmt::format("the dataset has no field '{}'; it has: {}", wanted.name, fmt::join(names, ", ")),
              "name one of them");
}

/// Bytes that are not decoded are numbers of one shape in every record.
FieldType TypeOfBytes(const WantedField& wanted, std::uint64_t first_size) {
  if (wanted.any_length) return {ElementType::kUint8, {0}};
  const FieldType type{wanted.type.value_or(ElementType::kUint8),
                       wanted.shape.value_or(Shape{first_size / SizeOf(wanted.type.value_or(ElementType::kUint8))})};
  if (CountOf(type.shape).value_or(0) * SizeOf(type.type) == first_size) return type;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("field '{}': the first record has {} bytes, which is no {}", wanted.name, first_size, TypeText(type)),
      "correct this field in the reader's options");
}

class TableFields final : public FieldSource {
 public:
  TableFields(const DatasetFiles& dataset, std::vector<WantedField> fields)
      : format_(dataset.format), wanted_(std::move(fields)) {
    opened_ = OpenTableFiles(dataset.format, TableInputsOf(dataset));
    for (std::size_t i = 0; i < opened_.size(); ++i) {
      const auto& file = dataset.files[i];
      CheckPromises(file, FileBytes(file.path), opened_[i]->record_count());
      AddFile(file.path, opened_[i]->record_count());
    }
    RequireRecords();
    LearnFields();
  }

  void Fetch(std::uint64_t record, FetchMemory& memory, std::span<FetchedField> fields) const override {
    const auto place = borders_.Find(record);
    memory.fields.resize(wanted_.size());
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      const auto bytes = opened_[place.file]->Value(place.record, places_[i], memory.fields[i]);
      fields[i].values = {types_[i].type, types_[i].shape, bytes};
      if (wanted_[i].any_length) fields[i].values.shape = {bytes.size()};
      if (bytes.size() == CountOf(fields[i].values.shape).value_or(0) * SizeOf(types_[i].type)) continue;
      throw Error(
          ErrorKind::kEnvironment,
          fmt::format("field '{}': expected {}, found {} bytes", wanted_[i].name, TypeText(types_[i]), bytes.size()),
          "name a field with the same type in every record, or set on_corrupt: skip");
    }
  }

  std::span<const std::byte> Payload(std::uint64_t record, std::vector<std::byte>& buffer) const override {
    const auto place = borders_.Find(record);
    const auto whole = opened_[place.file]->Whole(place.record, buffer);
    if (!whole) ThrowNotWhole(files()[place.file], format_);
    return *whole;
  }
  void RequireWholeRecords() const override {
    std::vector<std::byte> buffer;
    Payload(0, buffer);
  }

 private:
  /// The files agree about the forms of all fields but those of bytes.
  void LearnFields() {
    const auto first = borders_.Find(0);
    const auto& table = *opened_[first.file];
    std::vector<std::byte> buffer;
    for (const auto& wanted : wanted_) {
      const auto place = PlaceOf(wanted, table.fields());
      const auto& field = table.fields()[place];
      types_.push_back(field.any_length ? TypeOfBytes(wanted, table.Value(0, place, buffer).size())
                                        : TypeOfNumbers(wanted, field.type, field.shape));
      places_.push_back(place);
    }
  }

  DataFormat format_;
  std::vector<WantedField> wanted_;
  std::vector<std::size_t> places_;  ///< of the wanted fields in those of a file
  std::vector<std::unique_ptr<TableFile>> opened_;
};

}  // namespace

std::unique_ptr<FieldSource> OpenTableFields(const DatasetFiles& dataset, std::vector<WantedField> fields) {
  return std::make_unique<TableFields>(dataset, std::move(fields));
}

}  // namespace slipway::staging
