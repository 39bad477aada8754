#include <fmt/format.h>

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

std::string NextStep(ErrorKind kind) {
  if (kind != ErrorKind::kEnvironment) return {};
  return "provide what is missing (the first lines of each file in configs/ say what makes its data), or change the "
         "spec";
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
    : Error(kind, TextOf(diagnostics, kind), NextStep(kind)), diagnostics_(std::move(diagnostics)) {}

void SpecError::AddToDocument(Json& document) const {
  document["diagnostics"] = Json::array();
  for (const Diagnostic& diagnostic : diagnostics_) document["diagnostics"].push_back(DiagnosticToJson(diagnostic));
}

}  // namespace slipway::launcher
