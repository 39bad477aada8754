#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/convert_numbers.h"
#include "staging/formats/table_file.h"
#include "staging/reader/record_source.h"

namespace slipway::staging {

namespace {

FeatureKind KindOf(const TableField& field) { return field.any_length ? FeatureKind::kBytes : KindOf(field.type); }

class TableSource final : public RecordSource {
 public:
  explicit TableSource(const DatasetFiles& dataset) : format_(dataset.format) {
    for (const auto& file : dataset.files) files_.push_back(file.path);
    opened_ = OpenTableFiles(format_, TableInputsOf(dataset));
    for (std::size_t i = 0; i < opened_.size(); ++i) {
      CheckPromises(dataset.files[i], FileBytes(files_[i]), opened_[i]->record_count());
      borders_.AddFile(files_[i], opened_[i]->record_count());
    }
    if (borders_.count() == 0) {
      throw Error(ErrorKind::kEnvironment, fmt::format("the dataset with '{}' has no records", files_[0].string()),
                  "check what wrote it: slipway data info");
    }
    LearnFields();
  }

  std::uint64_t record_count() const override { return borders_.count(); }
  DataFormat format() const override { return format_; }

  void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<std::byte> out) override {
    ReadValues(records, field, FeatureKind::kBytes, out);
  }
  void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<float> out) override {
    ReadValues(records, field, FeatureKind::kFloat, out);
  }
  void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<std::int64_t> out) override {
    ReadValues(records, field, FeatureKind::kInt64, out);
  }

  std::span<const std::byte> Record(std::uint64_t) override {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' is {}: its records are read field by field", files_[0].string(), WordOf(format_)),
                "read its fields by name");
  }

 private:
  void LearnFields() {
    const auto first = borders_.Find(0);
    std::vector<std::byte> buffer;
    table_fields_ = opened_[first.file]->fields();
    for (std::size_t i = 0; i < table_fields_.size(); ++i) {
      const auto& field = table_fields_[i];
      const auto size = field.any_length ? opened_[first.file]->Value(0, i, buffer).size() : BytesPerValue(field);
      fields_.push_back({field.name, KindOf(field), size / SizeOf(field.type), field.shape});
    }
    std::ranges::sort(fields_, {}, &FieldInfo::name);
  }

  template <class Value>
  void ReadValues(std::span<const std::uint64_t> records, std::string_view name, FeatureKind kind,
                  std::span<Value> out) {
    const auto field = PlaceOf(name);
    const auto& form = table_fields_[field];
    const bool is_right = kind == KindOf(form) || (kind == FeatureKind::kInt64 && KindOf(form) != FeatureKind::kFloat);
    const auto each = out.size() / records.size();
    std::vector<std::byte> buffer;
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto place = borders_.Find(records[i]);
      const auto bytes = opened_[place.file]->Value(place.record, field, buffer);
      if (!is_right || bytes.size() != each * SizeOf(form.type)) ThrowForm(records[i], form, kind, each, bytes.size());
      const auto to = out.subspan(i * each, each);
      if constexpr (std::is_same_v<Value, std::byte>) {
        std::ranges::copy(bytes, to.begin());
      } else {
        ConvertNumbers(form.type, bytes, to);
      }
    }
  }

  std::size_t PlaceOf(std::string_view name) const {
    const auto found = std::ranges::find(table_fields_, name, &TableField::name);
    if (found != table_fields_.end()) return static_cast<std::size_t>(found - table_fields_.begin());
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no field '{}'", files_[0].string(), name),
                "name one of the fields that slipway data info lists");
  }

  [[noreturn]] void ThrowForm(std::uint64_t record, const TableField& form, FeatureKind kind, std::uint64_t count,
                              std::uint64_t bytes) const {
    const auto place = borders_.Find(record);
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}': record {}: field '{}': expected {} {} values, found {} bytes of {}",
                            files_[place.file].string(), place.record, form.name, count, WordOf(kind), bytes,
                            WordOf(form.type)),
                "read the type that slipway data info lists");
  }

  DataFormat format_;
  std::vector<std::unique_ptr<TableFile>> opened_;
  std::vector<TableField> table_fields_;
  RecordBorders borders_;
};

}  // namespace

std::unique_ptr<RecordSource> OpenTableSource(const DatasetFiles& files) {
  return std::make_unique<TableSource>(files);
}

}  // namespace slipway::staging
