#include "staging/formats/example.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "core/error.h"

namespace slipway::staging {

namespace {

using protozero::data_view;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

// Example.features, Features.feature (a map), and the list's values.
constexpr protozero::pbf_tag_type kFirstField = 1;
constexpr protozero::pbf_tag_type kMapKey = 1;
constexpr protozero::pbf_tag_type kMapValue = 2;

/// Lengths of protobuf messages are 31-bit numbers.
constexpr std::size_t kLargestMessage = 0x7fffffff;

data_view AsView(std::string_view text) { return {text.data(), text.size()}; }
std::string_view AsText(data_view view) { return {view.data(), view.size()}; }

FeatureKind KindOfField(protozero::pbf_tag_type tag) {
  switch (tag) {
    case 1: return FeatureKind::kBytes;
    case 2: return FeatureKind::kFloat;
    case 3: return FeatureKind::kInt64;
    default: return FeatureKind::kNone;
  }
}

protozero::pbf_tag_type FieldOfKind(FeatureKind kind) { return static_cast<protozero::pbf_tag_type>(kind); }

float LoadFloat(const char* bytes) {
  std::uint32_t bits = 0;
  for (int i = 3; i >= 0; --i) bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Each of these calls `visit(value)` for the values of one list until it returns false; then they return false.

template <class Visit>
bool VisitBytes(pbf_reader list, Visit&& visit) {
  while (list.next(kFirstField, pbf_wire_type::length_delimited)) {
    if (!visit(AsText(list.get_view()))) return false;
  }
  return true;
}

template <class Visit>
bool VisitPackedFloats(std::string_view packed, Visit&& visit) {
  if (packed.size() % sizeof(float) != 0) throw protozero::invalid_length_exception();
  for (; !packed.empty(); packed.remove_prefix(sizeof(float))) {
    if (!visit(LoadFloat(packed.data()))) return false;
  }
  return true;
}

template <class Visit>
bool VisitFloats(pbf_reader list, Visit&& visit) {
  while (list.next(kFirstField)) {
    if (list.has_wire_type(pbf_wire_type::length_delimited)) {
      if (!VisitPackedFloats(AsText(list.get_view()), visit)) return false;
    } else if (list.has_wire_type(pbf_wire_type::fixed32)) {
      if (!visit(list.get_float())) return false;
    } else {
      list.skip();
    }
  }
  return true;
}

template <class Visit>
bool VisitPackedInts(std::string_view packed, Visit&& visit) {
  const char* at = packed.data();
  const char* const end = at + packed.size();
  while (at != end) {
    if (!visit(static_cast<std::int64_t>(protozero::decode_varint(&at, end)))) return false;
  }
  return true;
}

template <class Visit>
bool VisitInts(pbf_reader list, Visit&& visit) {
  while (list.next(kFirstField)) {
    if (list.has_wire_type(pbf_wire_type::length_delimited)) {
      if (!VisitPackedInts(AsText(list.get_view()), visit)) return false;
    } else if (list.has_wire_type(pbf_wire_type::varint)) {
      if (!visit(list.get_int64())) return false;
    } else {
      list.skip();
    }
  }
  return true;
}

/// Calls `visit(list)` for each list of `kind` in a Feature (protobuf joins the lists of a message that comes twice).
template <class Visit>
void VisitLists(std::string_view feature, FeatureKind kind, Visit&& visit) {
  pbf_reader fields(AsView(feature));
  while (fields.next(FieldOfKind(kind), pbf_wire_type::length_delimited)) {
    if (!visit(pbf_reader(fields.get_view()))) return;
  }
}

/// The kind that was set last, as in a protobuf `oneof`.
FeatureKind KindOf(std::string_view feature) {
  auto kind = FeatureKind::kNone;
  pbf_reader fields(AsView(feature));
  while (fields.next()) {
    const auto found = KindOfField(fields.tag());
    if (found != FeatureKind::kNone && fields.has_wire_type(pbf_wire_type::length_delimited)) kind = found;
    fields.skip();
  }
  return kind;
}

std::size_t CountValues(std::string_view feature, FeatureKind kind) {
  std::size_t count = 0;
  const auto tick = [&count](const auto&) { return ++count != 0; };
  VisitLists(feature, kind, [&](const pbf_reader& list) {
    if (kind == FeatureKind::kBytes) return VisitBytes(list, tick);
    if (kind == FeatureKind::kFloat) return VisitFloats(list, tick);
    return VisitInts(list, tick);
  });
  return count;
}

struct FeatureEntry {
  std::string_view name;
  std::string_view encoded;
};

FeatureEntry ReadEntry(pbf_reader entry) {
  FeatureEntry result;
  while (entry.next()) {
    if (!entry.has_wire_type(pbf_wire_type::length_delimited)) {
      entry.skip();
      continue;
    }
    const auto tag = entry.tag();
    const auto value = AsText(entry.get_view());
    if (tag == kMapKey) result.name = value;
    if (tag == kMapValue) result.encoded = value;
  }
  return result;
}

template <class Visit>
void VisitEntries(std::span<const std::byte> record, Visit&& visit) {
  pbf_reader example(reinterpret_cast<const char*>(record.data()), record.size());
  while (example.next(kFirstField, pbf_wire_type::length_delimited)) {
    pbf_reader features(example.get_view());
    while (features.next(kFirstField, pbf_wire_type::length_delimited)) visit(ReadEntry(features.get_message()));
  }
}

/// protozero's exceptions become ours here, at the border of this file. `describe()` is asked only then.
template <class Describe, class Action>
auto WithProtobufErrors(const Describe& describe, Action&& action) -> decltype(action()) {
  try {
    return action();
  } catch (const protozero::exception& error) {
    throw Error(ErrorKind::kEnvironment, fmt::format("{} is not a tf.train.Example: {}", describe(), error.what()),
                "write its files again as tf.train.Example records");
  }
}

constexpr auto kTheRecord = [] { return "the record"; };

data_view ViewOf(std::span<const std::byte> record) {
  return {reinterpret_cast<const char*>(record.data()), record.size()};
}

/// What stands in the fields 1 and 2 of a message, as far as they are messages or texts themselves.
struct FirstFields {
  std::vector<data_view> first;
  std::vector<data_view> second;
  bool others = false;
};

FirstFields FieldsIn(data_view message) {
  FirstFields found;
  pbf_reader fields(message);
  while (fields.next()) {
    const bool known =
        fields.has_wire_type(pbf_wire_type::length_delimited) && (fields.tag() == kMapKey || fields.tag() == kMapValue);
    if (!known) {
      found.others = true;
      fields.skip();
    } else {
      (fields.tag() == kMapKey ? found.first : found.second).push_back(fields.get_view());
    }
  }
  return found;
}

/// {string key = 1; message value = 2}, as protobuf writes an entry of a map.
bool IsMapEntry(data_view message) try {
  const auto fields = FieldsIn(message);
  return !fields.others && fields.first.size() == 1 && fields.second.size() == 1;
} catch (const protozero::exception&) {
  return false;
}

/// A message of map entries alone: Features, FeatureLists.
bool IsMap(data_view message) try {
  const auto fields = FieldsIn(message);
  return !fields.others && fields.second.empty() && !fields.first.empty() &&
         std::ranges::all_of(fields.first, IsMapEntry);
} catch (const protozero::exception&) {
  return false;
}

/// {Features features = 1}.
bool IsExample(data_view message) try {
  const auto fields = FieldsIn(message);
  return !fields.others && fields.second.empty() && fields.first.size() == 1 && IsMap(fields.first[0]);
} catch (const protozero::exception&) {
  return false;
}

RecordKind KindOf(const FirstFields& record) {
  const auto& [first, second, others] = record;
  const bool examples = !first.empty() && IsExample(first[0]);
  if (second.empty()) return examples ? RecordKind::kExampleListWithContext : RecordKind::kExample;
  if (IsMap(second[0])) return RecordKind::kSequenceExample;
  return examples || IsExample(second[0]) ? RecordKind::kExampleListWithContext : RecordKind::kSequenceExample;
}

void RequireExample(std::span<const std::byte> record) {
  const auto kind = KindOfRecord(record);
  if (kind == RecordKind::kExample) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("the record is not a tf.train.Example: it is {} {}",
                          kind == RecordKind::kSequenceExample ? "a" : "an", WordOf(kind)),
              "write its values as tf.train.Example; staging, checks and reads of whole records take it as it is");
}

RecordPart PartOf(std::string_view place, const FeatureView& feature) {
  const auto count = feature.kind() == FeatureKind::kBytes ? feature.FirstBytes().size() : feature.count();
  return {fmt::format("{}/{}", place, feature.name()), feature.kind(), count};
}

void AddFeatures(std::string_view place, data_view features, std::vector<RecordPart>& parts) {
  for (const auto& entry : FieldsIn(features).first) {
    const auto named = ReadEntry(pbf_reader(entry));
    parts.push_back(PartOf(place, FeatureView(named.name, named.encoded)));
  }
}

void AddExample(std::string_view place, data_view example, std::vector<RecordPart>& parts) {
  for (const auto& features : FieldsIn(example).first) AddFeatures(place, features, parts);
}

/// The kind is that of the first step.
void AddLists(data_view lists, std::vector<RecordPart>& parts) {
  for (const auto& entry : FieldsIn(lists).first) {
    const auto named = ReadEntry(pbf_reader(entry));
    const auto steps = FieldsIn(AsView(named.encoded)).first;
    const auto kind = steps.empty() ? FeatureKind::kNone : KindOf(AsText(steps[0]));
    parts.push_back({fmt::format("lists/{}", named.name), kind, steps.size()});
  }
}

std::vector<RecordPart> PartsOf(const FirstFields& record, RecordKind kind) {
  std::vector<RecordPart> parts;
  const bool is_sequence = kind == RecordKind::kSequenceExample;
  for (const auto& context : is_sequence ? record.first : record.second) {
    if (is_sequence) AddFeatures("context", context, parts);
    if (!is_sequence) AddExample("context", context, parts);
  }
  if (is_sequence) {
    for (const auto& lists : record.second) AddLists(lists, parts);
  } else if (!record.first.empty()) {
    AddExample("examples", record.first[0], parts);
  }
  return parts;
}

}  // namespace

WordTable<RecordKind> WordsOf(RecordKind) {
  static constexpr Word<RecordKind> kWords[] = {{RecordKind::kExample, "Example"},
                                                {RecordKind::kSequenceExample, "SequenceExample"},
                                                {RecordKind::kExampleListWithContext, "ExampleListWithContext"}};
  return kWords;
}

RecordKind KindOfRecord(std::span<const std::byte> record) try {
  return KindOf(FieldsIn(ViewOf(record)));
} catch (const protozero::exception&) {
  return RecordKind::kExample;  // the parser says what is wrong
}

std::vector<RecordPart> PartsOfRecord(std::span<const std::byte> record, RecordKind kind) {
  auto parts = WithProtobufErrors(kTheRecord, [&] { return PartsOf(FieldsIn(ViewOf(record)), kind); });
  std::ranges::sort(parts, {}, &RecordPart::name);
  return parts;
}

WordTable<FeatureKind> WordsOf(FeatureKind) {
  static constexpr Word<FeatureKind> kWords[] = {{FeatureKind::kNone, "none"},
                                                 {FeatureKind::kBytes, "bytes"},
                                                 {FeatureKind::kFloat, "float"},
                                                 {FeatureKind::kInt64, "int64"}};
  return kWords;
}

FeatureView::FeatureView(std::string_view name, std::string_view encoded) : name_(name), encoded_(encoded) {
  const auto describe = [name] { return fmt::format("the feature '{}'", name.substr(0, 100)); };
  WithProtobufErrors(describe, [this] {
    kind_ = KindOf(encoded_);
    if (kind_ != FeatureKind::kNone) count_ = CountValues(encoded_, kind_);
  });
}

std::string_view FeatureView::FirstBytes() const {
  std::string_view first;
  if (kind_ != FeatureKind::kBytes) return first;
  VisitLists(encoded_, kind_, [&](const pbf_reader& list) {
    return VisitBytes(list, [&](std::string_view value) {
      first = value;
      return false;
    });
  });
  return first;
}

std::vector<std::string_view> FeatureView::AllBytes() const {
  std::vector<std::string_view> values;
  if (kind_ != FeatureKind::kBytes) return values;
  VisitLists(encoded_, kind_, [&](const pbf_reader& list) {
    return VisitBytes(list, [&](std::string_view value) {
      values.push_back(value);
      return true;
    });
  });
  return values;
}

std::size_t FeatureView::CopyFloats(std::span<float> values) const {
  if (kind_ != FeatureKind::kFloat || values.empty()) return 0;
  std::size_t count = 0;
  const auto copy = [&](float value) {
    values[count++] = value;
    return count < values.size();
  };
  VisitLists(encoded_, kind_, [&](const pbf_reader& list) { return VisitFloats(list, copy); });
  return count;
}

std::size_t FeatureView::CopyInts(std::span<std::int64_t> values) const {
  if (kind_ != FeatureKind::kInt64 || values.empty()) return 0;
  std::size_t count = 0;
  const auto copy = [&](std::int64_t value) {
    values[count++] = value;
    return count < values.size();
  };
  VisitLists(encoded_, kind_, [&](const pbf_reader& list) { return VisitInts(list, copy); });
  return count;
}

std::string FoundValues(const std::optional<FeatureView>& feature) {
  if (!feature) return "no such feature";
  if (feature->kind() == FeatureKind::kBytes && feature->count() == 1) {
    return fmt::format("one value of {} bytes", feature->FirstBytes().size());
  }
  return fmt::format("{} {} values", feature->count(), WordOf(feature->kind()));
}

const FeatureView* ExampleView::Find(std::string_view name) const {
  const auto found = std::find_if(features_.rbegin(), features_.rend(),
                                  [name](const FeatureView& feature) { return feature.name() == name; });
  return found == features_.rend() ? nullptr : &*found;
}

ExampleView ParseExample(std::span<const std::byte> record) {
  RequireExample(record);
  std::vector<FeatureView> features;
  WithProtobufErrors(kTheRecord, [&] {
    VisitEntries(record, [&](const FeatureEntry& entry) { features.emplace_back(entry.name, entry.encoded); });
  });
  return ExampleView(std::move(features));
}

std::optional<FeatureView> FindFeature(std::span<const std::byte> record, std::string_view name) {
  std::optional<FeatureEntry> found;
  WithProtobufErrors(kTheRecord, [&] {
    VisitEntries(record, [&](const FeatureEntry& entry) {
      if (entry.name == name) found = entry;
    });
  });
  if (!found) return {};
  return FeatureView(found->name, found->encoded);
}

namespace {

/// One field of a message around `content`.
std::string Wrap(protozero::pbf_tag_type tag, std::string_view content) {
  std::string message;
  protozero::pbf_writer(message).add_message(tag, AsView(content));
  return message;
}

}  // namespace

ExampleBuilder& ExampleBuilder::AddBytes(std::string_view name, std::string_view value) {
  return AddBytesList(name, {&value, 1});
}

ExampleBuilder& ExampleBuilder::AddBytesList(std::string_view name, std::span<const std::string_view> values) {
  std::string list;
  protozero::pbf_writer writer(list);
  for (const auto value : values) writer.add_bytes(kFirstField, AsView(value));
  AddEntry(name, Wrap(FieldOfKind(FeatureKind::kBytes), list));
  return *this;
}

ExampleBuilder& ExampleBuilder::AddFloats(std::string_view name, std::span<const float> values) {
  std::string list;
  protozero::pbf_writer(list).add_packed_float(kFirstField, values.begin(), values.end());
  AddEntry(name, Wrap(FieldOfKind(FeatureKind::kFloat), list));
  return *this;
}

ExampleBuilder& ExampleBuilder::AddInts(std::string_view name, std::span<const std::int64_t> values) {
  std::string list;
  protozero::pbf_writer(list).add_packed_int64(kFirstField, values.begin(), values.end());
  AddEntry(name, Wrap(FieldOfKind(FeatureKind::kInt64), list));
  return *this;
}

ExampleBuilder& ExampleBuilder::AddInt(std::string_view name, std::int64_t value) { return AddInts(name, {&value, 1}); }

void ExampleBuilder::AddEntry(std::string_view name, std::string_view feature) {
  std::string entry;
  protozero::pbf_writer writer(entry);
  writer.add_string(kMapKey, AsView(name));
  writer.add_message(kMapValue, AsView(feature));
  features_ += Wrap(kFirstField, entry);
  if (features_.size() > kLargestMessage) {
    throw Error(ErrorKind::kUsage,
                fmt::format("the record is too large: with the feature '{}' it has {} bytes, a "
                            "tf.train.Example holds at most {}",
                            name, features_.size(), kLargestMessage),
                "put less into one record");
  }
}

std::string ExampleBuilder::Finish() {
  auto record = Wrap(kFirstField, features_);
  features_.clear();
  return record;
}

}  // namespace slipway::staging
