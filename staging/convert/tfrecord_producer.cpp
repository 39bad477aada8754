#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "staging/convert/files_in_turn.h"
#include "staging/convert/record_producer.h"
#include "staging/formats/example.h"
#include "staging/formats/tfrecord.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

NumberType TypeOf(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kFloat: return NumberType::kFloat32;
    case FeatureKind::kInt64: return NumberType::kInt64;
    default: return NumberType::kUint8;
  }
}

FeatureKind KindOf(const ProducedField& field) {
  if (field.any_length) return FeatureKind::kBytes;
  return field.type == NumberType::kFloat32 ? FeatureKind::kFloat : FeatureKind::kInt64;
}

class TfrecordProducer final : public RecordProducer {
 public:
  explicit TfrecordProducer(const std::vector<fs::path>& files)
      : files_(files, [files](std::size_t number) { return TfrecordFile(files[number]); }) {}

  std::uint64_t record_count() const override { return files_.record_count(); }

  /// Looked up when asked for: records that are only copied need not be Examples.
  const std::vector<ProducedField>& fields() const override {
    if (fields_.empty()) fields_ = FieldsOfFirst();
    return fields_;
  }

  std::optional<std::span<const std::byte>> Payload(std::uint64_t record) override {
    const auto [file, number] = files_.Find(record);
    parsed_ = kNone;  // the Example may lie in a file that is closed now
    return files_.At(file).Record(number);
  }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t index) override {
    const auto& field = fields()[index];
    if (record != parsed_) {
      example_ = WithContext("in " + NameOf(record), [&] { return ParseExample(*Payload(record)); });
      RefuseMore(record);
      parsed_ = record;
    }
    const auto* feature = example_.Find(field.name);
    if (feature == nullptr || feature->kind() != KindOf(field)) ThrowOther(record, field);
    return field.any_length ? BytesOf(record, field, *feature) : NumbersOf(record, field, *feature);
  }

 private:
  static constexpr std::uint64_t kNone = ~0ULL;

  /// "'FILE': record 3"
  std::string NameOf(std::uint64_t record) const {
    const auto place = files_.Find(record);
    return fmt::format("'{}': record {}", files_.path(place.number).string(), place.record);
  }

  /// What the first record does not have would be lost without a word.
  void RefuseMore(std::uint64_t record) {
    for (const auto& feature : example_.features()) {
      if (feature.kind() == FeatureKind::kNone) continue;
      if (std::ranges::find(fields_, feature.name(), &ProducedField::name) != fields_.end()) continue;
      throw Error(
          ErrorKind::kEnvironment,
          fmt::format("{} has a feature '{}', which the first record does not have", NameOf(record), feature.name()),
          "all records of a dataset must have the same features");
    }
  }

  std::vector<ProducedField> FieldsOfFirst() const {
    std::vector<ProducedField> fields;
    const auto example = WithContext("in " + NameOf(0), [&] {
      const auto [file, number] = files_.Find(0);
      return ParseExample(files_.At(file).Record(number));
    });
    for (const auto& feature : example.features()) {
      if (feature.kind() == FeatureKind::kNone) continue;
      ProducedField field{std::string(feature.name()), TypeOf(feature.kind()), {}, false};
      field.any_length = feature.kind() == FeatureKind::kBytes;
      if (!field.any_length && feature.count() != 1) field.shape = {feature.count()};
      fields.push_back(std::move(field));
    }
    std::ranges::sort(fields, {}, &ProducedField::name);
    if (fields.empty()) {
      throw Error(ErrorKind::kEnvironment, fmt::format("{} has no features", NameOf(0)),
                  "name TFRecord files of tf.train.Example with features");
    }
    return fields;
  }

  std::span<const std::byte> BytesOf(std::uint64_t record, const ProducedField& field, const FeatureView& feature) {
    if (feature.count() != 1) ThrowOther(record, field);
    return std::as_bytes(std::span(feature.FirstBytes()));
  }

  std::span<const std::byte> NumbersOf(std::uint64_t record, const ProducedField& field, const FeatureView& feature) {
    if (feature.count() != (field.shape.empty() ? 1 : field.shape[0])) ThrowOther(record, field);
    if (feature.kind() == FeatureKind::kFloat) {
      floats_.resize(feature.count());
      feature.CopyFloats(floats_);
      return std::as_bytes(std::span(floats_));
    }
    ints_.resize(feature.count());
    feature.CopyInts(ints_);
    return std::as_bytes(std::span(ints_));
  }

  [[noreturn]] void ThrowOther(std::uint64_t record, const ProducedField& field) const {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("{}: the feature '{}' is not as in the first record: one {} of the same number of values",
                            NameOf(record), field.name, WordOf(KindOf(field))),
                "records with different features cannot become arrays");
  }

  mutable FilesInTurn<TfrecordFile> files_;
  mutable std::vector<ProducedField> fields_;
  std::uint64_t parsed_ = kNone;
  ExampleView example_{{}};
  std::vector<float> floats_;
  std::vector<std::int64_t> ints_;
};

}  // namespace

std::unique_ptr<RecordProducer> ProduceFromTfrecords(const std::vector<fs::path>& files) {
  return std::make_unique<TfrecordProducer>(files);
}

}  // namespace slipway::staging
