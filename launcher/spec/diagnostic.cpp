#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launcher/spec/load.h"

namespace slipway::launcher {
namespace {

std::size_t CharacterBytes(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/// What stands before the caret: as wide as the line before it, tabs kept.
std::string CaretIndent(std::string_view line, int column) {
  std::string result;
  std::size_t at = 0;
  for (int i = 1; i < column && at < line.size(); ++i) {
    result += line[at] == '\t' ? '\t' : ' ';
    at += CharacterBytes(static_cast<unsigned char>(line[at]));
  }
  return result;
}

std::string Location(const Diagnostic& diagnostic) {
  if (diagnostic.line == 0) return diagnostic.file;
  return fmt::format("{}:{}:{}", diagnostic.file, diagnostic.line, diagnostic.column);
}

std::string TextOf(const std::vector<Diagnostic>& diagnostics, ErrorKind kind) {
  const auto count = diagnostics.size();
  std::string result = count == 1 ? "the spec has an error" : fmt::format("the spec has {} errors", count);
  if (kind == ErrorKind::kEnvironment) result = "this machine lacks what the spec needs";
  for (const Diagnostic& diagnostic : diagnostics) result += "\n" + RenderDiagnostic(diagnostic, "error");
  return result;
}

/// "data.train.source[2]" -> "data.train.source".
std::string FieldOf(const Diagnostic& diagnostic) { return diagnostic.field.substr(0, diagnostic.field.find('[')); }

std::vector<std::string> FieldsOf(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> fields;
  for (const auto& diagnostic : diagnostics) {
    auto field = FieldOf(diagnostic);
    if (!field.empty() && std::ranges::find(fields, field) == fields.end()) fields.push_back(std::move(field));
  }
  return fields;
}

bool IsSourceOfData(const std::string& field) { return field.starts_with("data.") && field.ends_with(".source"); }

/// The specs that Slipway brings say at their top what makes their data.
std::string WhereToRead(const std::filesystem::path& file) {
  const bool is_bundled = file.parent_path().filename() == "configs";
  return is_bundled ? fmt::format(" (the first lines of {} say how)", file.string()) : "";
}

std::string NextStep(const std::vector<Diagnostic>& diagnostics, ErrorKind kind) {
  if (kind != ErrorKind::kEnvironment) return {};
  const auto fields = FieldsOf(diagnostics);
  if (fields.empty()) return "provide what is missing, or change the spec";
  const auto list = fmt::format("{}", fmt::join(fields, ", "));
  if (!std::ranges::all_of(fields, IsSourceOfData)) return "provide what is missing, or change " + list;
  return fmt::format("correct {}, or make the files{}", list, WhereToRead(diagnostics.front().file));
}

}  // namespace

std::string RenderDiagnostic(const Diagnostic& diagnostic, std::string_view severity) {
  std::string result =
      fmt::format("{}: {}{}{}", Location(diagnostic), severity, severity.empty() ? "" : ": ", diagnostic.message);
  if (!diagnostic.source_line.empty()) {
    const std::string tail(static_cast<std::size_t>(std::clamp(diagnostic.length, 1, 120)) - 1, '~');
    result += fmt::format("\n  {}\n  {}^{}", diagnostic.source_line,
                          CaretIndent(diagnostic.source_line, diagnostic.column), tail);
  }
  if (!diagnostic.suggestion.empty()) result += fmt::format("\n  did you mean '{}'?", diagnostic.suggestion);
  return result;
}

Json DiagnosticToJson(const Diagnostic& diagnostic) {
  Json result = {{"file", diagnostic.file},
                 {"line", nullptr},
                 {"column", nullptr},
                 {"message", diagnostic.message},
                 {"source_line", diagnostic.source_line},
                 {"length", diagnostic.length},
                 {"suggestion", nullptr}};
  if (diagnostic.line > 0) {
    result["line"] = diagnostic.line;
    result["column"] = diagnostic.column;
  }
  if (!diagnostic.suggestion.empty()) result["suggestion"] = diagnostic.suggestion;
  return result;
}

SpecError::SpecError(std::vector<Diagnostic> diagnostics, ErrorKind kind)
    : Error(kind, TextOf(diagnostics, kind), NextStep(diagnostics, kind)), diagnostics_(std::move(diagnostics)) {}

void SpecError::AddToDocument(Json& document) const {
  document["diagnostics"] = Json::array();
  for (const Diagnostic& diagnostic : diagnostics_) document["diagnostics"].push_back(DiagnosticToJson(diagnostic));
}

}  // namespace slipway::launcher
