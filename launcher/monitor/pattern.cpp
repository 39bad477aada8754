#define PCRE2_CODE_UNIT_WIDTH 8
#include "launcher/monitor/pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <cstdlib>
#include <optional>

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

std::optional<double> ParseNumber(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0') return {};
  return value;
}

}  // namespace

struct Pattern::Compiled {
  UniqueHandle<CodeTraits> code;
  UniqueHandle<MatchTraits> data;
  UniqueHandle<ContextTraits> context;
  std::map<std::string, std::uint32_t> groups;

  void ReadGroupNames() {
    std::uint32_t count = 0, entry_size = 0;
    PCRE2_SPTR table = nullptr;
    pcre2_pattern_info(code.get(), PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info(code.get(), PCRE2_INFO_NAMEENTRYSIZE, &entry_size);
    pcre2_pattern_info(code.get(), PCRE2_INFO_NAMETABLE, &table);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto* entry = table + i * entry_size;  // two bytes of number, then the name
      groups[reinterpret_cast<const char*>(entry + 2)] = static_cast<std::uint32_t>(entry[0] << 8 | entry[1]);
    }
  }
};

Pattern::Pattern(const std::string& pattern) : compiled_(std::make_unique<Compiled>()) {
  int code = 0;
  PCRE2_SIZE offset = 0;
  compiled_->code = UniqueHandle<CodeTraits>(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), 0, &code, &offset, nullptr));
  if (!compiled_->code) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(code, text, sizeof text);
    throw Error(ErrorKind::kUsage, fmt::format("the pattern '{}' is wrong at position {}: {}", pattern, offset,
                                               reinterpret_cast<const char*>(text)));
  }
  compiled_->data = UniqueHandle<MatchTraits>(pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr));
  compiled_->context = UniqueHandle<ContextTraits>(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(compiled_->context.get(), kMatchLimit);
  compiled_->ReadGroupNames();
}

Pattern::Pattern(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

std::map<std::string, double> Pattern::Match(std::string_view line) const {
  std::map<std::string, double> values;
  const int found = pcre2_match(compiled_->code.get(), reinterpret_cast<PCRE2_SPTR>(line.data()), line.size(), 0, 0,
                                compiled_->data.get(), compiled_->context.get());
  if (found <= 0) return values;
  const auto* places = pcre2_get_ovector_pointer(compiled_->data.get());
  for (const auto& [name, group] : compiled_->groups) {
    const auto begin = places[2 * group], end = places[2 * group + 1];
    if (begin == PCRE2_UNSET) continue;
    if (const auto value = ParseNumber(std::string(line.substr(begin, end - begin)))) values[name] = *value;
  }
  return values;
}

}  // namespace slipway::launcher
