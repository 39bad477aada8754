/// tf.train.Example: named features of one record, read in place and written.
///
/// Wire form:
/// - Example.1 = Features
/// - Features.1 = map entry {1: key, 2: Feature}
/// - Feature.1 = bytes list, .2 = float list, .3 = int64 list
///
/// Each list has its values in field 1, floats and ints packed or not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/words.h"

namespace slipway::staging {

enum class FeatureKind { kNone, kBytes, kFloat, kInt64 };

/// "none", "bytes", "float", "int64".
WordTable<FeatureKind> WordsOf(FeatureKind);

/// One feature of a parsed Example. Points into the record: valid as long as its bytes are.
/// The feature was checked as a whole when the Example was parsed, so nothing here can fail on broken bytes.
class FeatureView {
 public:
  /// `encoded` is the Feature message. Errors: those of ParseExample.
  FeatureView(std::string_view name, std::string_view encoded);

  std::string_view name() const { return name_; }
  FeatureKind kind() const { return kind_; }
  /// Number of values in the list.
  std::size_t count() const { return count_; }

  /// The first value of a bytes list, empty when there is none. Not copied.
  std::string_view FirstBytes() const;
  /// All values of a bytes list. Not copied; empty for another kind.
  std::vector<std::string_view> AllBytes() const;
  /// Copies the values in order until the list or `values` ends; returns how many. 0 for another kind.
  std::size_t CopyFloats(std::span<float> values) const;
  std::size_t CopyInts(std::span<std::int64_t> values) const;

 private:
  std::string_view name_;
  std::string_view encoded_;
  FeatureKind kind_ = FeatureKind::kNone;
  std::size_t count_ = 0;
};

/// What was found instead of the values, for messages: "no such feature", "one value of 7 bytes", "3 int64 values".
std::string FoundValues(const std::optional<FeatureView>& feature);

/// The features of one record in the order of the bytes; of several with one name the last counts.
class ExampleView {
 public:
  explicit ExampleView(std::vector<FeatureView> features) : features_(std::move(features)) {}
  const std::vector<FeatureView>& features() const& { return features_; }
  /// So that `for (... : ParseExample(record).features())` does not refer to what is gone.
  std::vector<FeatureView> features() && { return std::move(features_); }
  /// Null when the record has no such feature.
  const FeatureView* Find(std::string_view name) const;

 private:
  std::vector<FeatureView> features_;
};

/// The kinds of messages in TFRecord files. Their bytes do not say the kind: read as an Example, the two others lose
/// fields or get names that are not text.
enum class RecordKind {
  kExample,
  kSequenceExample,        ///< {Features context = 1; FeatureLists feature_lists = 2}
  kExampleListWithContext  ///< "ELWC": {repeated Example examples = 1; Example context = 2}
};

WordTable<RecordKind> WordsOf(RecordKind);

/// Decides by the form of the message; kExample for any other message. Cost: a look at its first fields.
RecordKind KindOfRecord(std::span<const std::byte> record);

/// A part of a record that is not an Example, in words for people: "context/label" is int64 1, "frames" is bytes 12.
struct RecordPart {
  std::string name;  ///< "context/NAME"; of lists "lists/NAME", of examples "examples/NAME" as the first one has it
  FeatureKind kind = FeatureKind::kNone;
  std::uint64_t count = 0;  ///< values; of a list its steps, of bytes as in FieldInfo
};
/// Of kSequenceExample and kExampleListWithContext, sorted by name. Errors: those of ParseExample.
std::vector<RecordPart> PartsOfRecord(std::span<const std::byte> record, RecordKind kind);

/// Reads `record`; unknown fields are skipped. The result points into `record`.
/// Cost:   one pass over the fields; bytes values are not touched.
/// Errors: Error(kEnvironment) when the bytes are not an Example; it names another kind of record.
ExampleView ParseExample(std::span<const std::byte> record);

/// Only the feature `name` of `record`, the others are skipped: cheaper than ParseExample, and without allocation.
/// Nothing when the record has no such feature. Errors: those of ParseExample.
std::optional<FeatureView> FindFeature(std::span<const std::byte> record, std::string_view name);

/// Builds the bytes of one Example. Numbers are packed; features stand in the order they were added.
class ExampleBuilder {
 public:
  ExampleBuilder& AddBytes(std::string_view name, std::string_view value);
  ExampleBuilder& AddBytesList(std::string_view name, std::span<const std::string_view> values);
  ExampleBuilder& AddFloats(std::string_view name, std::span<const float> values);
  ExampleBuilder& AddInts(std::string_view name, std::span<const std::int64_t> values);
  ExampleBuilder& AddInt(std::string_view name, std::int64_t value);

  /// The record; the builder is empty afterwards.
  std::string Finish();

 private:
  void AddEntry(std::string_view name, std::string_view feature);

  std::string features_;
};

}  // namespace slipway::staging
