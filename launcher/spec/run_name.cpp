#include "launcher/spec/run_name.h"

#include <string>

namespace slipway::launcher {

bool IsRunName(std::string_view text) {
  static constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  if (text.empty() || text.size() > 64 || kFirst.find(text[0]) == std::string_view::npos) return false;
  return text.find_first_not_of(std::string(kFirst) + "._-") == std::string_view::npos;
}

}  // namespace slipway::launcher
