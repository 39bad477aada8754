/// How much of what is staged is checked, and the words for it.
#pragma once

#include <optional>
#include <string_view>

namespace slipway::staging {

/// The words "off", "format", "full" stand in manifests.
enum class VerifyMode {
  kOff,     ///< CRC32C of what was read is recorded, nothing is checked
  kFormat,  ///< the format is checked while the bytes stream past (TFRecord: framing and both CRCs of every record)
  kFull     ///< the same, then the copy is read again and compared with the recorded CRCs
};
std::string_view VerifyModeName(VerifyMode mode);
std::optional<VerifyMode> ParseVerifyMode(std::string_view name);

}  // namespace slipway::staging
