#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "staging/formats/example.h"
#include "staging/reader/field_source.h"

namespace slipway::staging {

namespace {

/// What compressed files may take in memory; the one in use may take more.
constexpr std::uint64_t kInflatedBytes = std::uint64_t{1} << 30;

/// Records that are looked at for one that shows what fields there are.
constexpr std::uint64_t kMostTried = 100;

/// How the records of the dataset hold one wanted field.
struct StoredField {
  WantedField wanted;
  FeatureKind kind = FeatureKind::kBytes;
  std::uint64_t count = 0;  ///< bytes, or numbers of a list; of any_length not used

  std::string Expected() const {
    if (any_length()) return "one value of bytes";
    if (kind == FeatureKind::kBytes) return fmt::format("one value of {} bytes", count);
    return fmt::format("{} {} values", count, WordOf(kind));
  }
  bool any_length() const { return wanted.any_length; }
};

ElementType TypeOf(const WantedField& wanted, FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kFloat: return ElementType::kFloat32;
    case FeatureKind::kInt64: return ElementType::kInt64;
    default: return wanted.type.value_or(ElementType::kUint8);
  }
}

[[noreturn]] void ThrowForm(const WantedField& wanted, const std::string& why) {
  throw Error(ErrorKind::kUsage, fmt::format("field '{}': {}", wanted.name, why),
              "correct this field in the reader's options");
}

/// Of a field whose first record holds `count` bytes or numbers.
FieldType TypeFor(const WantedField& wanted, FeatureKind kind, std::uint64_t count) {
  const auto type = TypeOf(wanted, kind);
  if (wanted.any_length) {
    if (kind != FeatureKind::kBytes) ThrowForm(wanted, "only bytes can be decoded");
    return {ElementType::kUint8, {0}};
  }
  if (wanted.type && kind != FeatureKind::kBytes && *wanted.type != type) {
    ThrowForm(wanted, fmt::format("its values are {}: use the transform 'cast'", ElementTypeName(type)));
  }
  const auto each = kind == FeatureKind::kBytes ? SizeOf(type) : 1;
  if (wanted.shape ? CountOf(*wanted.shape) != count / each || count % each != 0 : count % each != 0) {
    ThrowForm(wanted, fmt::format("the first record has {} {}, which is no {}{}", count,
                                  kind == FeatureKind::kBytes ? "bytes" : "values", ElementTypeName(type),
                                  wanted.shape ? " " + ShapeText(*wanted.shape) : ""));
  }
  if (wanted.shape) return {type, *wanted.shape};
  // One number is a number, not a list of one: labels.
  const bool scalar = kind != FeatureKind::kBytes && count == 1;
  return {type, scalar ? Shape{} : Shape{count / each}};
}

class ExampleFields final : public FieldSource {
 public:
  ExampleFields(const DatasetFiles& dataset, std::vector<WantedField> fields, AccessPattern pattern) {
    for (const auto& file : dataset.files) {
      const auto& opened = opened_.emplace_back(file, pattern, *inflated_);
      AddFile(file.path, opened.record_count());
    }
    RequireRecords();
    if (fields.empty()) return;
    const auto first = FirstGoodRecord();
    WithContext("in " + Describe(first), [&] { LearnFields(first, std::move(fields)); });
  }

  void Fetch(std::uint64_t record, FetchMemory& memory, std::span<FetchedField> fields) const override {
    const auto bytes = Payload(record, memory.record);
    memory.fields.resize(stored_.size());
    for (std::size_t i = 0; i < stored_.size(); ++i) {
      FetchOne(bytes, i, memory.fields[i], fields[i]);
    }
  }

  std::span<const std::byte> Payload(std::uint64_t record, std::vector<std::byte>& buffer) const override {
    const auto place = borders_.Find(record);
    return opened_[place.file].Record(place.record, buffer);
  }

  void Announce(std::uint64_t record) const override {
    const auto place = borders_.Find(record);
    opened_[place.file].Announce(place.record);
  }

 private:
  /// One that is an Example: what a damaged one means is decided when it is read.
  std::uint64_t FirstGoodRecord() const {
    std::vector<std::byte> buffer;
    for (std::uint64_t record = 0;; ++record) {
      try {
        ParseExample(Payload(record, buffer));
        return record;
      } catch (Error& error) {
        if (record + 1 < std::min(record_count(), kMostTried)) continue;
        error.AddContext("in " + Describe(record));
        throw;
      }
    }
  }

  void LearnFields(std::uint64_t first, std::vector<WantedField> fields) {
    std::vector<std::byte> buffer;
    const auto example = ParseExample(Payload(first, buffer));
    for (auto& wanted : fields) {
      const auto* feature = example.Find(wanted.name);
      if (feature == nullptr) ThrowMissing(wanted.name, example);
      const bool bytes = feature->kind() == FeatureKind::kBytes;
      const auto count = bytes ? feature->FirstBytes().size() : feature->count();
      if (feature->kind() == FeatureKind::kNone || count == 0)
        ThrowForm(wanted, "the first record has no values of it");
      types_.push_back(TypeFor(wanted, feature->kind(), count));
      stored_.push_back({std::move(wanted), feature->kind(), count});
    }
  }

  [[noreturn]] static void ThrowMissing(const std::string& name, const ExampleView& example) {
    std::vector<std::string_view> names;
    for (const auto& feature : example.features()) names.push_back(feature.name());
    throw Error(ErrorKind::kUsage,
                fmt::format("the dataset has no field '{}'; it has: {}", name, fmt::join(names, ", ")),
                "name one of them");
  }

  void FetchOne(std::span<const std::byte> record, std::size_t index, std::vector<std::byte>& buffer,
                FetchedField& out) const {
    const auto& stored = stored_[index];
    const auto feature = FindFeature(record, stored.wanted.name);
    out.values.type = types_[index].type;
    out.values.shape = types_[index].shape;  // into memory that is there
    if (!feature || feature->kind() != stored.kind || !Take(*feature, stored, buffer, out)) {
      throw Error(
          ErrorKind::kEnvironment,
          fmt::format("field '{}': expected {}, found {}", stored.wanted.name, stored.Expected(), FoundValues(feature)),
          "name a field with the same type in every record, or set on_corrupt: skip");
    }
  }

  /// False when the feature has not the expected number of values.
  static bool Take(const FeatureView& feature, const StoredField& stored, std::vector<std::byte>& buffer,
                   FetchedField& out) {
    if (stored.kind == FeatureKind::kBytes) {
      const auto bytes = std::as_bytes(std::span(feature.FirstBytes()));
      if (feature.count() != 1 || (!stored.any_length() && bytes.size() != stored.count)) return false;
      if (stored.any_length()) out.values.shape = {bytes.size()};
      out.values.values = bytes;
      return true;
    }
    if (feature.count() != stored.count) return false;
    const auto memory = MemoryFor(stored.count * SizeOf(out.values.type), buffer, out);
    out.values.values = memory;
    if (stored.kind == FeatureKind::kFloat) {
      return feature.CopyFloats({reinterpret_cast<float*>(memory.data()), stored.count}) == stored.count;
    }
    return feature.CopyInts({reinterpret_cast<std::int64_t*>(memory.data()), stored.count}) == stored.count;
  }

  static std::span<std::byte> MemoryFor(std::uint64_t bytes, std::vector<std::byte>& buffer, FetchedField& out) {
    if (out.target.size() == bytes) return out.target;
    buffer.resize(bytes);
    return buffer;
  }

  std::unique_ptr<InflatedFiles> inflated_ = std::make_unique<InflatedFiles>(kInflatedBytes);
  std::vector<RecordFile> opened_;
  std::vector<StoredField> stored_;
};

}  // namespace

std::unique_ptr<FieldSource> OpenExampleFields(const DatasetFiles& dataset, std::vector<WantedField> fields,
                                               AccessPattern pattern) {
  return std::make_unique<ExampleFields>(dataset, std::move(fields), pattern);
}

}  // namespace slipway::staging
