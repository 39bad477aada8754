/// One list of a struct's fields, for writing it as JSON and for reading it.
///
/// ```
///   template <class Visitor, MaybeConst<Finding> Struct>
///   void Visit(Visitor& visit, Struct& finding) {
///     visit("grade", finding.grade);                   // an enum: its word (core/words.h)
///     visit("about", finding.about);
///     visit("rank", finding.rank, Presence::kOptional);  // left out, it stays as it is
///   }
///
///   const Json document = WriteFields(finding);
///   const auto read = ReadFields<Finding>(document, {"a finding", ErrorKind::kInternal});
/// ```
///
/// `Visit` stands in the namespace of the struct. Types of fields:
/// - truth values, numbers, text, paths, sizes, enums with words, structs with fields, JSON as it is
/// - durations (in seconds) and times (whole seconds since 1970)
/// - optionals (null), lists and maps of all these
/// - any other type that has `void WriteValue(Json&, const Type&)` and `void ReadValue(const JsonPlace&, Type&)` in its
///   namespace
///
/// A field may also have a form of its own: `visit("crc32c", Hex{file.crc32c})`. Forms are such other types.
///
/// Members that are no fields are ignored. Cost of compiling: this header does not read the JSON library.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/units.h"
#include "core/words.h"

namespace slipway {

/// For Visit: the struct, const for writing.
template <class Struct, class Plain>
concept MaybeConst = std::same_as<std::remove_const_t<Struct>, Plain>;

enum class Presence { kRequired, kOptional };

/// How messages call a document that is read, and what to do about a damaged one.
struct DocumentName {
  std::string name;  ///< "'/runs/a/outbox.json'", "a finding"
  ErrorKind kind = ErrorKind::kEnvironment;
  std::string hint = {};
};

/// Reading a document failed: its content is not what was expected.
class DocumentError : public Error {
 public:
  using Error::Error;
};

/// The document is sound, but another version of Slipway wrote it. Its next step says so by default.
class OtherVersionError : public DocumentError {
 public:
  OtherVersionError(ErrorKind kind, std::string message, std::string next_step = {})
      : DocumentError(kind, std::move(message),
                      next_step.empty() ? "use the version of Slipway that wrote it" : std::move(next_step)) {}
};

/// A value in a document that is read, with its path there. Must not outlive what it was made from.
class JsonPlace {
 public:
  JsonPlace(const Json& json, const DocumentName& document) : json_(json), document_(document) {}

  const Json& json() const { return json_; }
  /// Nothing when the object has no such member. Errors: as Refuse, when it is no object.
  std::optional<JsonPlace> Member(const std::string& name) const;
  JsonPlace Element(std::size_t index) const;
  /// Errors: as Refuse, when it is no list.
  std::size_t size() const;
  bool is_null() const;

  bool Truth() const;
  double Number() const;
  std::string Text() const;
  std::int64_t Integer(std::int64_t least, std::int64_t most) const;
  std::uint64_t Count(std::uint64_t most) const;
  /// The names of an object's members.
  std::vector<std::string> Names() const;

  /// "DOCUMENT is damaged: 'files[3].bytes' is "x", expected a whole number".
  [[noreturn]] void Refuse(std::string_view expected) const;
  [[noreturn]] void RefuseWithout(const char* name) const;

 private:
  JsonPlace(const Json& json, const JsonPlace& outer, const char* name, std::size_t index)
      : json_(json), document_(outer.document_), outer_(&outer), name_(name), index_(index) {}
  std::string Path() const;
  [[noreturn]] void Throw(const std::string& why) const;

  const Json& json_;
  const DocumentName& document_;
  const JsonPlace* outer_ = nullptr;
  const char* name_ = nullptr;  ///< in the document itself; null: the element `index_` of a list
  std::size_t index_ = 0;
};

namespace json_fields {

void Put(Json& place, bool value);
void Put(Json& place, std::int64_t value);
void Put(Json& place, std::uint64_t value);
void Put(Json& place, double value);
void Put(Json& place, std::string_view value);
void PutNull(Json& place);
void PutList(Json& place);
void PutObject(Json& place);
Json& AddMember(Json& object, std::string_view name);
Json& AddElement(Json& list);
void PutJson(Json& place, const Json& value);
void TakeJson(const Json& place, Json& value);
/// What `write` makes of a new value.
Json Made(const std::function<void(Json& place)>& write);

template <class Type>
inline constexpr bool kIsOptional = false;
template <class Type>
inline constexpr bool kIsOptional<std::optional<Type>> = true;
template <class Type>
inline constexpr bool kIsList = false;
template <class Type>
inline constexpr bool kIsList<std::vector<Type>> = true;
/// Names with values, sorted or in the order of the document.
template <class Type>
inline constexpr bool kIsMap = false;
template <class Type>
inline constexpr bool kIsMap<std::map<std::string, Type>> = true;
template <class Type>
inline constexpr bool kIsMap<std::vector<std::pair<std::string, Type>>> = true;
template <class Type>
inline constexpr bool kIsDuration = false;
template <class Number, class Period>
inline constexpr bool kIsDuration<std::chrono::duration<Number, Period>> = true;

template <class Type>
inline constexpr bool kIsTime = false;
template <class Duration>
inline constexpr bool kIsTime<std::chrono::sys_time<Duration>> = true;

template <class Type>
void Write(Json& place, const Type& value);
template <class Type>
void Read(const JsonPlace& place, Type& value);

}  // namespace json_fields

/// The visitor for writing: an object with a member for each field.
class FieldWriter {
 public:
  explicit FieldWriter(Json& object) : object_(object) { json_fields::PutObject(object); }
  template <class Type>
  void operator()(const char* name, const Type& value, Presence = Presence::kRequired) {
    json_fields::Write(json_fields::AddMember(object_, name), value);
  }

 private:
  Json& object_;
};

/// The visitor for reading.
class FieldReader {
 public:
  explicit FieldReader(const JsonPlace& object) : object_(object) {}
  template <class Type>
  void operator()(const char* name, Type&& value, Presence presence = Presence::kRequired) {
    if (const auto member = object_.Member(name)) return json_fields::Read(*member, value);
    if (presence == Presence::kRequired) object_.RefuseWithout(name);
  }

 private:
  const JsonPlace& object_;
};

namespace json_fields {

template <class Type>
void WriteNumber(Json& place, Type value) {
  if constexpr (std::same_as<Type, bool>) {
    Put(place, value);
  } else if constexpr (std::floating_point<Type>) {
    Put(place, static_cast<double>(value));
  } else if constexpr (std::is_signed_v<Type>) {
    Put(place, std::int64_t{value});
  } else {
    Put(place, std::uint64_t{value});
  }
}

template <class Type>
void WriteMembers(Json& place, const Type& values) {
  PutObject(place);
  for (const auto& [name, value] : values) Write(AddMember(place, name), value);
}

template <class Type>
void WriteElements(Json& place, const Type& values) {
  PutList(place);
  for (const auto& value : values) Write(AddElement(place), value);
}

template <class Type>
void Write(Json& place, const Type& value) {
  if constexpr (requires { WriteValue(place, value); }) {
    WriteValue(place, value);
  } else if constexpr (std::same_as<Type, Json>) {
    PutJson(place, value);
  } else if constexpr (std::is_arithmetic_v<Type>) {
    WriteNumber(place, value);
  } else if constexpr (HasWords<Type>) {
    Put(place, WordOf(value));
  } else if constexpr (std::same_as<Type, Bytes>) {
    Put(place, value.count);
  } else if constexpr (kIsDuration<Type>) {
    Put(place, std::chrono::duration<double>(value).count());
  } else if constexpr (kIsTime<Type>) {
    Put(place, std::int64_t{std::chrono::floor<std::chrono::seconds>(value).time_since_epoch().count()});
  } else if constexpr (std::same_as<Type, std::filesystem::path>) {
    Put(place, std::string_view(value.native()));
  } else if constexpr (std::convertible_to<const Type&, std::string_view>) {
    Put(place, std::string_view(value));
  } else if constexpr (kIsOptional<Type>) {
    value ? Write(place, *value) : PutNull(place);
  } else if constexpr (kIsMap<Type>) {
    WriteMembers(place, value);
  } else if constexpr (kIsList<Type>) {
    WriteElements(place, value);
  } else {
    FieldWriter writer(place);
    Visit(writer, value);
  }
}

template <class Type>
void ReadNumber(const JsonPlace& place, Type& value) {
  if constexpr (std::same_as<Type, bool>) {
    value = place.Truth();
  } else if constexpr (std::floating_point<Type>) {
    value = static_cast<Type>(place.Number());
  } else if constexpr (std::is_signed_v<Type>) {
    value = static_cast<Type>(place.Integer(std::numeric_limits<Type>::min(), std::numeric_limits<Type>::max()));
  } else {
    value = static_cast<Type>(place.Count(std::numeric_limits<Type>::max()));
  }
}

template <class Type>
void ReadMembers(const JsonPlace& place, Type& values) {
  values.clear();
  for (const auto& name : place.Names()) {
    typename Type::value_type::second_type value{};
    Read(*place.Member(name), value);
    values.insert(values.end(), {name, std::move(value)});
  }
}

template <class Type>
void ReadElements(const JsonPlace& place, Type& values) {
  values.clear();
  values.reserve(place.size());
  for (std::size_t i = 0; i < place.size(); ++i) Read(place.Element(i), values.emplace_back());
}

/// "one of 'drop', 'repeat'".
std::string DescribeWords(const std::vector<std::string>& words);

template <HasWords Enum>
void ReadWord(const JsonPlace& place, Enum& value) {
  const auto known = FromWord<Enum>(place.Text());
  if (!known) place.Refuse(DescribeWords(AllWords<Enum>()));
  value = *known;
}

template <class Type>
void Read(const JsonPlace& place, Type& value) {
  if constexpr (requires { ReadValue(place, value); }) {
    ReadValue(place, value);
  } else if constexpr (std::same_as<Type, Json>) {
    TakeJson(place.json(), value);
  } else if constexpr (std::is_arithmetic_v<Type>) {
    ReadNumber(place, value);
  } else if constexpr (HasWords<Type>) {
    ReadWord(place, value);
  } else if constexpr (std::same_as<Type, Bytes>) {
    ReadNumber(place, value.count);
  } else if constexpr (kIsDuration<Type>) {
    value = std::chrono::duration_cast<Type>(std::chrono::duration<double>(place.Number()));
  } else if constexpr (kIsTime<Type>) {
    value = Type(std::chrono::seconds(place.Integer(0, std::numeric_limits<std::int32_t>::max() * std::int64_t{1000})));
  } else if constexpr (std::same_as<Type, std::string> || std::same_as<Type, std::filesystem::path>) {
    value = place.Text();
  } else if constexpr (kIsOptional<Type>) {
    place.is_null() ? value.reset() : Read(place, value.emplace());
  } else if constexpr (kIsMap<Type>) {
    ReadMembers(place, value);
  } else if constexpr (kIsList<Type>) {
    ReadElements(place, value);
  } else {
    FieldReader reader(place);
    Visit(reader, value);
  }
}

}  // namespace json_fields

/// A number of 32 bits, or a list of them, each as 8 hexadecimal digits.
template <class Number>
struct Hex {
  Number& value;
};
template <class Number>
Hex(Number&) -> Hex<Number>;

namespace json_fields {
std::string HexText(std::uint32_t value);
std::uint32_t HexFrom(const JsonPlace& place);
}  // namespace json_fields

template <class Number>
void WriteValue(Json& place, const Hex<Number>& hex) {
  if constexpr (json_fields::kIsList<std::remove_const_t<Number>>) {
    json_fields::PutList(place);
    for (const auto value : hex.value) WriteValue(json_fields::AddElement(place), Hex{value});
  } else {
    json_fields::Put(place, std::string_view(json_fields::HexText(hex.value)));
  }
}

template <class Number>
void ReadValue(const JsonPlace& place, Hex<Number>& hex) {
  if constexpr (json_fields::kIsList<Number>) {
    hex.value.clear();
    for (std::size_t i = 0; i < place.size(); ++i) hex.value.push_back(json_fields::HexFrom(place.Element(i)));
  } else {
    hex.value = json_fields::HexFrom(place);
  }
}

/// JSON: an object with the fields of `thing`; of a list a list.
template <class Type>
auto WriteFields(const Type& thing) {
  return json_fields::Made([&](Json& place) { json_fields::Write(place, thing); });
}
/// As it stands in a file: with the member `schema` before the fields.
template <class Type>
auto WriteFields(std::string_view schema, const Type& thing) {
  return json_fields::Made([&](Json& place) {
    FieldWriter writer(place);
    writer("schema", schema);
    Visit(writer, thing);
  });
}

/// Errors: DocumentError of `document.kind` that names the document, the field and what is expected there.
template <class Type>
void ReadFields(const Json& json, Type& thing, const DocumentName& document) {
  json_fields::Read(JsonPlace(json, document), thing);
}
template <class Type>
Type ReadFields(const Json& json, const DocumentName& document) {
  Type thing{};
  ReadFields(json, thing, document);
  return thing;
}

/// Errors: as ReadFields; also for text that is no JSON, and for another schema. OtherVersionError when only its number
/// differs.
Json ParseDocument(std::string_view text, std::string_view schema, const DocumentName& document);

/// Errors: OtherVersionError when the document has this schema with another number. `name`: of the document.
void RequireVersion(const Json& document, std::string_view schema, std::string_view name);

/// An error for the other end of a socket, with its context. Errors of the way back: DocumentError.
Json ErrorToJson(const Error& error);
Error ErrorFromJson(const Json& json);

}  // namespace slipway
