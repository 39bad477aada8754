#include "core/sums_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/json_fields.h"
#include "core/json_text.h"
#include "core/lines.h"

namespace slipway {

template <class Visitor, MaybeConst<SumsTensor> Struct>
void Visit(Visitor& visit, Struct& tensor) {
  visit("name", tensor.name);
  visit("dtype", tensor.dtype);
  visit("bytes", tensor.bytes);
}

template <class Visitor, MaybeConst<SumsHeader> Struct>
void Visit(Visitor& visit, Struct& header) {
  visit("team", header.team);
  visit("rank", header.rank);
  visit("ranks", header.ranks);
  visit("every", header.every);
  visit("resumed", header.resumed);
  visit("tensors", header.tensors);
}

namespace {

constexpr const char* kSumsSchema = "slipway.sums/1";
constexpr std::string_view kSumsBegin = "sums-";
constexpr std::string_view kTeamMark = "-team";
constexpr std::string_view kSumsEnd = ".jsonl";
constexpr std::string_view kStepMember = R"({"step":)";
constexpr std::size_t kDigits = 16;

void AppendSums(std::string& text, const std::vector<std::uint64_t>& sums) {
  text += '[';
  for (std::size_t i = 0; i < sums.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}\"{:016x}\"", i > 0 ? "," : "", sums[i]);
  }
  text += ']';
}

std::optional<std::uint64_t> SumFrom(const Json& json) {
  if (!json.is_string()) return {};
  const auto& text = json.get_ref<const std::string&>();
  return text.size() == kDigits ? ParseNumber<std::uint64_t>(text, 16) : std::nullopt;
}

std::optional<std::vector<std::uint64_t>> SumsFrom(const Json& json) {
  if (!json.is_array()) return {};
  std::vector<std::uint64_t> sums;
  for (const auto& each : json) {
    const auto sum = SumFrom(each);
    if (!sum) return {};
    sums.push_back(*sum);
  }
  return sums;
}

}  // namespace

std::string SumsFileName(const SumsFileId& id) {
  const auto team = id.team > 1 ? fmt::format("{}{}", kTeamMark, id.team) : std::string();
  return fmt::format("{}{:05}{}{}", kSumsBegin, id.rank, team, kSumsEnd);
}

std::optional<SumsFileId> ParseSumsFileName(std::string_view name) {
  if (!name.starts_with(kSumsBegin) || !name.ends_with(kSumsEnd)) return {};
  auto middle = name.substr(kSumsBegin.size());
  middle.remove_suffix(std::min(middle.size(), kSumsEnd.size()));
  const auto at = middle.find(kTeamMark);
  SumsFileId id;
  if (!ParseNumber(middle.substr(0, at), id.rank)) return {};
  if (at != middle.npos && !ParseNumber(middle.substr(at + kTeamMark.size()), id.team)) return {};
  // What is written otherwise, such as "sums-7.jsonl", is no file of ours.
  return id.rank >= 0 && id.team >= 1 && SumsFileName(id) == name ? std::optional(id) : std::nullopt;
}

std::string FormatSumsHeader(const SumsHeader& header) { return JsonText(WriteFields(kSumsSchema, header)) + "\n"; }

std::string FormatSumsLine(const SumsLine& line) {
  auto text = fmt::format("{}{},\"gradients\":", kStepMember, line.step);
  AppendSums(text, line.gradients);
  text += ",\"exchanged\":";
  line.exchanged ? AppendSums(text, *line.exchanged) : void(text += "null");
  return text + "}\n";
}

std::optional<SumsHeader> ParseSumsHeader(std::string_view line) {
  try {
    const DocumentName document{"check sums"};
    return ReadFields<SumsHeader>(ParseDocument(line, kSumsSchema, document), document);
  } catch (const Error&) {
    return {};
  }
}

std::optional<std::int64_t> StepOfSumsLine(std::string_view line) {
  if (!line.starts_with(kStepMember) || !line.ends_with('}')) return {};
  std::int64_t step = 0;
  const auto rest = line.substr(kStepMember.size());
  const bool is_number = ParseNumber(rest.substr(0, rest.find(',')), step);
  return is_number && step >= 0 ? std::optional(step) : std::nullopt;
}

std::optional<SumsLine> ParseSumsLine(std::string_view line) {
  const auto step = StepOfSumsLine(line);
  if (!step) return {};
  const auto json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("gradients") || !json.contains("exchanged")) return {};
  auto gradients = SumsFrom(json["gradients"]);
  auto exchanged = SumsFrom(json["exchanged"]);
  const bool is_whole = gradients && (exchanged || json["exchanged"].is_null());
  if (!is_whole || (exchanged && exchanged->size() != gradients->size())) return {};
  return SumsLine{*step, std::move(*gradients), std::move(exchanged)};
}

}  // namespace slipway
