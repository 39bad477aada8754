#include "launcher/spec/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/utf8_character.h"

namespace slipway::launcher {
namespace {

constexpr std::size_t kMostRemarks = 100;
constexpr std::size_t kLongestShownLine = 200;

std::size_t CountCharacters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// A hostile file must not steer the user's terminal, nor break a JSON document.
std::string Printable(std::string_view text) {
  std::string result(text);
  const bool broken = !IsUtf8(text);
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f || (broken && byte >= 0x80)) c = '?';
  }
  return result;
}

}  // namespace

std::string_view SourceText::Line(int line) const {
  if (line < 1 || static_cast<std::size_t>(line) > line_starts.size()) return {};
  const std::size_t start = line_starts[static_cast<std::size_t>(line) - 1];
  std::string_view rest = std::string_view(text).substr(start);
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

int Sources::Add(std::string name, std::string text, std::filesystem::path directory) {
  SourceText source{std::move(name), std::move(text), std::move(directory)};
  source.line_starts.push_back(0);
  for (std::size_t i = 0; i < source.text.size(); ++i) {
    if (source.text[i] == '\n') source.line_starts.push_back(i + 1);
  }
  texts_.push_back(std::move(source));
  return static_cast<int>(texts_.size()) - 1;
}

int Sources::AddOverride(std::string text) {
  const int index = Add("--set", std::move(text), std::filesystem::current_path());
  texts_.back().is_override = true;
  return index;
}

bool Report::IsFull() const { return errors_.size() >= kMostRemarks; }

void Report::Error(const Place& place, std::string message, std::string suggestion) {
  if (IsFull()) return;
  Diagnostic diagnostic = At(place);
  diagnostic.message = std::move(message);
  diagnostic.suggestion = std::move(suggestion);
  errors_.push_back({place, std::move(diagnostic)});
}

void Report::Warn(const Place& place, std::string message) {
  if (warnings_.size() >= kMostRemarks) return;
  Diagnostic diagnostic = At(place);
  diagnostic.message = std::move(message);
  warnings_.push_back({place, std::move(diagnostic)});
}

Diagnostic Report::At(const Place& place) const {
  Diagnostic result;
  const SourceText& source = sources_[place.source];
  result.file = source.name;
  if (place.line == 0) return result;
  const std::string_view line = source.Line(place.line);
  const std::size_t start = std::min(static_cast<std::size_t>(std::max(place.column, 0)), line.size());
  const std::size_t length = std::min(static_cast<std::size_t>(std::max(place.length, 1)), line.size() - start);
  result.line = place.line;
  result.column = static_cast<int>(CountCharacters(line.substr(0, start))) + 1;
  result.length = std::max(1, static_cast<int>(CountCharacters(line.substr(start, length))));
  if (start < kLongestShownLine) result.source_line = Printable(WholeCharacters(line, kLongestShownLine));
  return result;
}

std::vector<Diagnostic> Report::Sorted(std::vector<Remark> remarks) {
  const auto key = [](const Remark& remark) {
    return std::make_tuple(remark.place.source, remark.place.line, remark.place.column);
  };
  std::stable_sort(remarks.begin(), remarks.end(), [&](const Remark& a, const Remark& b) { return key(a) < key(b); });
  std::vector<Diagnostic> result;
  for (Remark& remark : remarks) result.push_back(std::move(remark.diagnostic));
  return result;
}

std::string Quoted(std::string_view text) {
  const std::string_view shown = WholeCharacters(text, 60);
  return fmt::format("'{}{}'", Printable(shown), shown.size() < text.size() ? "..." : "");
}

}  // namespace slipway::launcher
