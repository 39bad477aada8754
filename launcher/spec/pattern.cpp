#include "launcher/spec/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstdint>

#include "core/unique_handle.h"

namespace slipway::launcher {
namespace {

struct CodeTraits {
  using Handle = pcre2_code*;
  static Handle Null() { return nullptr; }
  static void Release(Handle code) noexcept { pcre2_code_free(code); }
};

std::string ErrorText(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

/// Each row of the table is a number of 16 bits and a name that ends in a zero byte.
std::vector<std::string> GroupNames(const pcre2_code* code) {
  std::uint32_t count = 0;
  std::uint32_t row = 0;
  PCRE2_SPTR table = nullptr;
  pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &count);
  pcre2_pattern_info(code, PCRE2_INFO_NAMEENTRYSIZE, &row);
  pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, &table);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.emplace_back(reinterpret_cast<const char*>(table + i * row + 2));
  return names;
}

}  // namespace

PatternInfo InspectPattern(std::string_view pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  const UniqueHandle<CodeTraits> code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                                    PCRE2_UTF, &error, &offset, nullptr));
  if (!code) return {ErrorText(error), offset, {}};
  return {"", 0, GroupNames(code.get())};
}

}  // namespace slipway::launcher
