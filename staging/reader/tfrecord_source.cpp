#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "staging/formats/tfrecord.h"
#include "staging/reader/record_source.h"

namespace slipway::staging {

namespace {

FieldInfo InfoOf(const FeatureView& feature) {
  const auto count = feature.kind() == FeatureKind::kBytes ? feature.FirstBytes().size() : feature.count();
  return {std::string(feature.name()), feature.kind(), count, {}};
}

std::vector<FieldInfo> FieldsOf(std::span<const std::byte> record) {
  std::vector<FieldInfo> fields;
  const auto example = ParseExample(record);
  for (const auto& feature : example.features()) fields.push_back(InfoOf(feature));
  std::ranges::sort(fields, {}, &FieldInfo::name);
  return fields;
}

/// Copies the feature's values; false unless it has this kind and exactly this many.
bool CopyValues(const FeatureView& feature, std::span<std::byte> out) {
  const auto value = feature.FirstBytes();
  if (feature.kind() != FeatureKind::kBytes || feature.count() != 1 || value.size() != out.size()) return false;
  std::ranges::copy(std::as_bytes(std::span(value)), out.begin());
  return true;
}
bool CopyValues(const FeatureView& feature, std::span<float> out) {
  return feature.kind() == FeatureKind::kFloat && feature.count() == out.size() &&
         feature.CopyFloats(out) == out.size();
}
bool CopyValues(const FeatureView& feature, std::span<std::int64_t> out) {
  return feature.kind() == FeatureKind::kInt64 && feature.count() == out.size() && feature.CopyInts(out) == out.size();
}

std::string Wanted(std::span<std::byte> out) { return fmt::format("one value of {} bytes", out.size()); }
std::string Wanted(std::span<float> out) { return fmt::format("{} float values", out.size()); }
std::string Wanted(std::span<std::int64_t> out) { return fmt::format("{} int64 values", out.size()); }

class TfrecordSource final : public RecordSource {
 public:
  explicit TfrecordSource(const DatasetFiles& dataset) {
    for (const auto& file : dataset.files) Add(file);
    if (borders_.count() == 0) {
      throw Error(ErrorKind::kEnvironment, fmt::format("the dataset with '{}' has no records", files_[0].string()),
                  "check what wrote it: slipway data info");
    }
    fields_ = WithContext(Describe(0), [this] { return FieldsOf(Record(0)); });
  }

  std::uint64_t record_count() const override { return borders_.count(); }
  DataFormat format() const override { return DataFormat::kTfrecord; }

  void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<std::byte> out) override {
    ReadValues(records, field, out);
  }
  void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<float> out) override {
    ReadValues(records, field, out);
  }
  void Read(std::span<const std::uint64_t> records, std::string_view field, std::span<std::int64_t> out) override {
    ReadValues(records, field, out);
  }

  std::span<const std::byte> Record(std::uint64_t record) override {
    const auto place = borders_.Find(record);
    return opened_[place.file].Record(place.record);
  }

 private:
  void Add(const DatasetFile& file) {
    const auto& opened = opened_.emplace_back(file.path);
    CheckPromises(file, opened.byte_count(), opened.record_count());
    borders_.AddFile(file.path, opened.record_count());
    files_.push_back(file.path);
  }

  template <class Value>
  void ReadValues(std::span<const std::uint64_t> records, std::string_view field, std::span<Value> out) {
    const auto each = out.size() / records.size();
    for (std::size_t i = 0; i < records.size(); ++i) ReadOne(records[i], field, out.subspan(i * each, each));
  }

  template <class Value>
  void ReadOne(std::uint64_t record, std::string_view field, std::span<Value> out) {
    const auto feature = FindFeatureOf(record, field);
    if (feature && CopyValues(*feature, out)) return;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("{}: field '{}': expected {}, found {}", Describe(record), field, Wanted(out),
                            FoundValues(feature)),
                "read the type that slipway data info lists");
  }

  std::optional<FeatureView> FindFeatureOf(std::uint64_t record, std::string_view field) {
    const auto bytes = Record(record);
    try {
      return FindFeature(bytes, field);
    } catch (Error& error) {
      error.AddContext("in " + Describe(record));
      throw;
    }
  }

  std::string Describe(std::uint64_t record) const {
    const auto place = borders_.Find(record);
    return fmt::format("'{}': record {}", files_[place.file].string(), place.record);
  }

  std::vector<TfrecordFile> opened_;
  RecordBorders borders_;
};

}  // namespace

std::unique_ptr<RecordSource> OpenTfrecordSource(const DatasetFiles& files) {
  return std::make_unique<TfrecordSource>(files);
}

}  // namespace slipway::staging
