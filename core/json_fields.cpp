#include "core/json_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/lines.h"

namespace slipway {
namespace {

constexpr std::size_t kLongestValue = 60;

/// For messages. What holds more is not written out: it may be deeper than the stack.
std::string Describe(const Json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "a list";
  auto text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongestValue) text = text.substr(0, kLongestValue) + "...";
  return text;
}

std::string DescribeRange(std::int64_t least, std::uint64_t most) {
  constexpr std::int64_t kMostDigits = std::numeric_limits<std::int32_t>::min();
  return least <= kMostDigits ? "a whole number" : fmt::format("a whole number from {} to {}", least, most);
}

bool IsCount(const Json& json) {
  return json.is_number_unsigned() || (json.is_number_integer() && json.get<std::int64_t>() >= 0);
}

}  // namespace

std::optional<JsonPlace> JsonPlace::Member(const std::string& name) const {
  if (!json_.is_object()) Refuse("an object");
  const auto found = json_.find(name);
  if (found == json_.end()) return {};
  return JsonPlace(*found, *this, found.key().c_str(), 0);
}

JsonPlace JsonPlace::Element(std::size_t index) const { return {json_[index], *this, nullptr, index}; }

std::size_t JsonPlace::size() const {
  if (!json_.is_array()) Refuse("a list");
  return json_.size();
}

bool JsonPlace::is_null() const { return json_.is_null(); }

bool JsonPlace::Truth() const {
  if (!json_.is_boolean()) Refuse("true or false");
  return json_.get<bool>();
}

double JsonPlace::Number() const {
  if (!json_.is_number()) Refuse("a number");
  return json_.get<double>();
}

std::string JsonPlace::Text() const {
  if (!json_.is_string()) Refuse("text");
  return json_.get<std::string>();
}

std::int64_t JsonPlace::Integer(std::int64_t least, std::int64_t most) const {
  const bool fits = json_.is_number_unsigned() ? json_.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                                               : json_.is_number_integer() && json_.get<std::int64_t>() >= least &&
                                                     json_.get<std::int64_t>() <= most;
  if (!fits) Refuse(DescribeRange(least, static_cast<std::uint64_t>(most)));
  return json_.get<std::int64_t>();
}

std::uint64_t JsonPlace::Count(std::uint64_t most) const {
  if (!IsCount(json_) || json_.get<std::uint64_t>() > most) Refuse(DescribeRange(0, most));
  return json_.get<std::uint64_t>();
}

std::vector<std::string> JsonPlace::Names() const {
  if (!json_.is_object()) Refuse("an object");
  std::vector<std::string> names;
  for (const auto& [name, value] : json_.items()) names.push_back(name);
  return names;
}

std::string JsonPlace::Path() const {
  if (outer_ == nullptr) return "";
  const auto before = outer_->Path();
  if (name_ == nullptr) return fmt::format("{}[{}]", before, index_);
  return fmt::format("{}{}{}", before, before.empty() ? "" : ".", name_);
}

void JsonPlace::Throw(const std::string& why) const {
  throw DocumentError(document_.kind, fmt::format("{} is damaged: {}", document_.name, why), document_.hint);
}

void JsonPlace::Refuse(std::string_view expected) const {
  const auto path = Path();
  Throw(fmt::format("{} is {}, expected {}", path.empty() ? "it" : "'" + path + "'", Describe(json_), expected));
}

void JsonPlace::RefuseWithout(const char* name) const {
  const auto path = Path();
  Throw(fmt::format("{} has no '{}'", path.empty() ? "it" : "'" + path + "'", name));
}

namespace json_fields {

void Put(Json& place, bool value) { place = value; }
void Put(Json& place, std::int64_t value) { place = value; }
void Put(Json& place, std::uint64_t value) { place = value; }
void Put(Json& place, double value) { place = value; }
void Put(Json& place, std::string_view value) { place = value; }
void PutNull(Json& place) { place = nullptr; }
void PutList(Json& place) { place = Json::array(); }
void PutObject(Json& place) { place = Json::object(); }
void PutJson(Json& place, const Json& value) { place = value; }
void TakeJson(const Json& place, Json& value) { value = place; }
Json& AddMember(Json& object, std::string_view name) { return object[std::string(name)]; }
Json& AddElement(Json& list) { return list.emplace_back(); }

Json Made(const std::function<void(Json& place)>& write) {
  Json json;
  write(json);
  return json;
}

std::string HexText(std::uint32_t value) { return fmt::format("{:08x}", value); }

std::uint32_t HexFrom(const JsonPlace& place) {
  const auto text = place.Text();
  std::uint32_t value = 0;
  if (text.size() != 8 || !ParseNumber(text, value, 16)) place.Refuse("8 hexadecimal digits");
  return value;
}

std::string DescribeWords(const std::vector<std::string>& words) {
  std::string list;
  for (const auto& word : words) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", word);
  return words.size() == 1 ? list : "one of " + list;
}

}  // namespace json_fields

namespace {

/// "slipway.plan/2" beside "slipway.plan/1".
bool IsOtherVersion(const Json& found, std::string_view schema) {
  if (!found.is_string() || found == schema) return false;
  return found.get_ref<const std::string&>().starts_with(schema.substr(0, schema.find('/') + 1));
}

}  // namespace

Json ParseDocument(std::string_view text, std::string_view schema, const DocumentName& document) {
  auto json = Json::parse(text, nullptr, false);
  const auto refuse = [&](const std::string& why) {
    throw DocumentError(document.kind, document.name + why, document.hint);
  };
  if (json.is_discarded()) refuse(" is damaged: it is not JSON, or ends in the middle of it");
  if (!json.is_object()) refuse(fmt::format(" is damaged: it is {}, expected an object", Describe(json)));
  const auto found = json.value("schema", Json());
  if (found == schema) return json;
  if (!found.is_string()) refuse(" is damaged: it has no 'schema'");
  const auto why =
      fmt::format(" is of another version of Slipway: its schema is {}, expected '{}'", Describe(found), schema);
  if (IsOtherVersion(found, schema)) throw OtherVersionError(document.kind, document.name + why, document.hint);
  refuse(why);
  return json;
}

void RequireVersion(const Json& document, std::string_view schema, std::string_view name) {
  const auto found = document.is_object() ? document.value("schema", Json()) : Json();
  if (!IsOtherVersion(found, schema)) return;
  throw OtherVersionError(
      ErrorKind::kEnvironment,
      fmt::format("{} was written by another version of Slipway (schema {})", name, found.get<std::string>()));
}

Json ErrorToJson(const Error& error) {
  return {{"kind", error.exit_code()},
          {"message", error.message()},
          {"context", error.context()},
          {"next_step", error.next_step()}};
}

Error ErrorFromJson(const Json& json) {
  const DocumentName document{"a message about an error", ErrorKind::kInternal};
  int kind = 0;
  std::string message, next_step;
  std::vector<std::string> context;
  const JsonPlace place(json, document);
  FieldReader read(place);
  read("kind", kind);
  read("message", message);
  read("context", context);
  read("next_step", next_step);
  Error error(ErrorKind{kind}, std::move(message), std::move(next_step));
  for (auto& line : context) error.AddContext(std::move(line));
  return error;
}

}  // namespace slipway
