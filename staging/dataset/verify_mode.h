/// How much of what is staged is checked, and the words for it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// The words "off", "framing", "format", "full-framing", "full" stand in manifests.
enum class VerifyMode {
  kOff,      ///< CRC32C of what was read is recorded, nothing is checked
  kFraming,  ///< as kFormat, but what a TFRecord's records hold is left to the reader: it may skip damaged ones
  kFormat,   ///< the format is checked while the bytes stream past (TFRecord: framing and both CRCs of every record)
  kFullFraming,  ///< as kFraming, then as kFull
  kFull  ///< as kFormat, then the copy is read again and compared with the recorded CRCs, and in HDF5 with its own sums
};
std::string_view VerifyModeName(VerifyMode mode);
std::optional<VerifyMode> ParseVerifyMode(std::string_view name);

/// Whether the copy is read again.
bool ReadsAgain(VerifyMode mode);

/// What this mode checks of a file; `name` is what messages call it.
std::unique_ptr<StreamCheck> MakeStreamCheck(DataFormat format, VerifyMode mode, std::filesystem::path name);

}  // namespace slipway::staging
