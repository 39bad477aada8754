#include "launcher/cluster/buffer_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/error.h"
#include "core/text.h"
#include "launcher/cluster/directive_text.h"

namespace slipway::launcher {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMark = "#BB_LUA";
constexpr std::string_view kBlanks = " \t\r";

/// What is wrong with a line, before it is known which.
class Mistake {
 public:
  explicit Mistake(std::string reason) : reason_(std::move(reason)) {}
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

bool IsDirective(std::string_view line) {
  return line.starts_with(kMark) && line.size() > kMark.size() && kBlanks.find(line[kMark.size()]) != kBlanks.npos;
}

/// Without their mark, continued ones joined. Blank lines do not end the head of a script.
std::vector<std::string> Directives(std::string_view script) {
  std::vector<std::string> found;
  bool open = false;
  for (const auto& line : LinesOf(script.substr(0, script.find('\0')))) {
    if (line.empty()) continue;
    if (!line.starts_with('#')) break;
    if (!IsDirective(line)) {
      open = false;
      continue;
    }
    auto words = line.substr(kMark.size());
    const bool continues = words.ends_with('\\');
    if (continues) words.pop_back();
    if (open) {
      found.back() += words;
    } else {
      found.push_back(words);
    }
    open = continues;
  }
  return found;
}

std::string WithoutSymbols(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    plain += text[i];
    if (text[i] == '%' && i + 1 < text.size() && text[i + 1] == '%') ++i;
  }
  return plain;
}

using Fields = std::map<std::string, std::string>;

Fields FieldsIn(std::istringstream& words) {
  Fields fields;
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals);
    if (key != "type" && key != "source" && key != "destination") throw Mistake(Shown(key) + " is not known here");
    if (equals == word.npos || equals + 1 == word.size()) throw Mistake(Shown(key) + " has no value");
    if (!fields.emplace(key, WithoutSymbols(word.substr(equals + 1))).second) throw Mistake(key + " is there twice");
  }
  return fields;
}

const std::string& Needed(const Fields& fields, const std::string& key) {
  const auto found = fields.find(key);
  if (found == fields.end()) throw Mistake(key + "= is missing");
  return found->second;
}

TransferKind KindIn(const Fields& fields) {
  const auto& type = Needed(fields, "type");
  if (type == "file") return TransferKind::kFile;
  if (type == "directory") return TransferKind::kDirectory;
  if (type == "list") return TransferKind::kList;
  throw Mistake(Shown(type) + " is none of file, directory, list");
}

/// Relative to the buffer.
std::string InsideOf(const std::string& text) {
  for (const auto& variable : {fmt::format("${}", kLuaVariable), fmt::format("${{{}}}", kLuaVariable)}) {
    if (!text.starts_with(variable)) continue;
    const auto rest = text.substr(variable.size());
    if (!rest.empty() && !rest.starts_with('/')) continue;
    auto path = fs::path(rest).relative_path().lexically_normal();
    const bool leaves = std::find(path.begin(), path.end(), "..") != path.end();
    if (leaves) throw Mistake(Shown(text) + " leaves the burst buffer");
    if (path.empty() || path == ".") throw Mistake(Shown(text) + " names no place in the burst buffer");
    return path.has_filename() ? path.string() : path.parent_path().string();
  }
  throw Mistake(fmt::format("{} is not in the burst buffer: begin it with ${}/", Shown(text), kLuaVariable));
}

fs::path OutsideOf(const std::string& text) {
  auto path = fs::path(text).lexically_normal();
  if (!path.is_absolute()) throw Mistake(Shown(text) + " is not absolute");
  return path.has_filename() ? path : path.parent_path();
}

void Add(const std::string& line, BufferRequest& request) {
  std::istringstream words(line);
  std::string command;
  words >> command;
  if (command.starts_with("pool=") || command.starts_with("capacity=")) return;
  if (command != "stage_in" && command != "stage_out") {
    throw Mistake(Shown(command) + " is none of stage_in, stage_out");
  }
  const auto fields = FieldsIn(words);
  const auto kind = KindIn(fields);
  const auto& source = Needed(fields, "source");
  const auto& destination = Needed(fields, "destination");
  if (command == "stage_in") {
    request.in.push_back({kind, OutsideOf(source), InsideOf(destination)});
  } else if (kind == TransferKind::kList) {
    throw Mistake("stage_out knows no lists");
  } else {
    request.out.push_back({kind, OutsideOf(destination), InsideOf(source)});
  }
}

}  // namespace

BufferRequest ReadBufferRequest(std::string_view script) {
  BufferRequest request;
  for (const auto& line : Directives(script)) {
    try {
      Add(line, request);
    } catch (const Mistake& mistake) {
      throw Error(ErrorKind::kUsage, fmt::format("{}{}: {}", kMark, line, mistake.reason()),
                  "correct this line of the batch script");
    }
  }
  return request;
}

}  // namespace slipway::launcher
