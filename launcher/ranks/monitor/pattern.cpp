#define PCRE2_CODE_UNIT_WIDTH 8
#include "launcher/ranks/monitor/pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <cstdlib>

#include "core/error.h"
#include "core/unique_handle.h"

namespace slipway::launcher {
namespace {

/// Steps of the matcher for one line: far beyond sane patterns, a few milliseconds for mad ones.
constexpr std::uint32_t kMatchLimit = 100'000;

struct CodeTraits {
  using Handle = pcre2_code*;
  static Handle Null() { return nullptr; }
  static void Release(Handle code) noexcept { pcre2_code_free(code); }
};
struct MatchTraits {
  using Handle = pcre2_match_data*;
  static Handle Null() { return nullptr; }
  static void Release(Handle data) noexcept { pcre2_match_data_free(data); }
};
struct ContextTraits {
  using Handle = pcre2_match_context*;
  static Handle Null() { return nullptr; }
  static void Release(Handle context) noexcept { pcre2_match_context_free(context); }
};

struct Compilation {
  UniqueHandle<CodeTraits> code;  ///< null after an error
  int error = 0;
  PCRE2_SIZE offset = 0;
};

Compilation Compile(const std::string& pattern) {
  Compilation compilation;
  compilation.code = UniqueHandle<CodeTraits>(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                                                            pattern.size(), PCRE2_UTF | PCRE2_MATCH_INVALID_UTF,
                                                            &compilation.error, &compilation.offset, nullptr));
  return compilation;
}

std::string ErrorText(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

/// Name -> number of the group.
std::map<std::string, std::uint32_t> GroupsOf(const pcre2_code* code) {
  std::uint32_t count = 0, entry_size = 0;
  PCRE2_SPTR table = nullptr;
  pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &count);
  pcre2_pattern_info(code, PCRE2_INFO_NAMEENTRYSIZE, &entry_size);
  pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, &table);
  std::map<std::string, std::uint32_t> groups;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto* entry = table + i * entry_size;  // two bytes of number, then the name
    groups[reinterpret_cast<const char*>(entry + 2)] = static_cast<std::uint32_t>(entry[0] << 8 | entry[1]);
  }
  return groups;
}

}  // namespace

std::optional<double> NumberIn(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0') return {};
  return value;
}

PatternInfo InspectPattern(const std::string& pattern) {
  const auto compilation = Compile(pattern);
  if (!compilation.code) return {ErrorText(compilation.error), compilation.offset, {}};
  PatternInfo info;
  for (const auto& [name, group] : GroupsOf(compilation.code.get())) info.names.push_back(name);
  return info;
}

struct Pattern::Compiled {
  UniqueHandle<CodeTraits> code;
  UniqueHandle<MatchTraits> data;
  UniqueHandle<ContextTraits> context;
  std::map<std::string, std::uint32_t> groups;
};

Pattern::Pattern(const std::string& pattern) : compiled_(std::make_unique<Compiled>()) {
  auto compilation = Compile(pattern);
  if (!compilation.code) {
    throw Error(ErrorKind::kUsage,
                fmt::format("the pattern '{}' is wrong at position {}: {}", pattern, compilation.offset,
                            ErrorText(compilation.error)),
                "correct the regular expression (syntax of PCRE2)");
  }
  compiled_->code = std::move(compilation.code);
  compiled_->data = UniqueHandle<MatchTraits>(pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr));
  compiled_->context = UniqueHandle<ContextTraits>(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(compiled_->context.get(), kMatchLimit);
  compiled_->groups = GroupsOf(compiled_->code.get());
}

Pattern::Pattern(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

std::optional<std::map<std::string, std::string>> Pattern::Groups(std::string_view line) const {
  const int found = pcre2_match(compiled_->code.get(), reinterpret_cast<PCRE2_SPTR>(line.data()), line.size(), 0, 0,
                                compiled_->data.get(), compiled_->context.get());
  if (found <= 0) return std::nullopt;
  std::map<std::string, std::string> texts;
  const auto* places = pcre2_get_ovector_pointer(compiled_->data.get());
  for (const auto& [name, group] : compiled_->groups) {
    const auto begin = places[2 * group], end = places[2 * group + 1];
    if (begin == PCRE2_UNSET) continue;
    texts[name] = line.substr(begin, end - begin);
  }
  return texts;
}

}  // namespace slipway::launcher
