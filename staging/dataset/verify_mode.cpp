#include "staging/dataset/verify_mode.h"

namespace slipway::staging {

std::string_view VerifyModeName(VerifyMode mode) {
  switch (mode) {
    case VerifyMode::kOff: return "off";
    case VerifyMode::kFormat: return "format";
    case VerifyMode::kFull: return "full";
  }
  return "off";
}

std::optional<VerifyMode> ParseVerifyMode(std::string_view name) {
  for (const auto mode : {VerifyMode::kOff, VerifyMode::kFormat, VerifyMode::kFull}) {
    if (VerifyModeName(mode) == name) return mode;
  }
  return {};
}

}  // namespace slipway::staging
