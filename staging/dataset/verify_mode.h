/// How much of what is staged is checked.
#pragma once

#include <filesystem>
#include <memory>

#include "core/words.h"
#include "staging/formats/stream_check.h"

namespace slipway::staging {

/// The words stand in manifests.
enum class VerifyMode {
  kOff,      ///< CRC32C of what was read is recorded, nothing is checked
  kFraming,  ///< as kFormat, but the reader checks the content of TFRecord records: it may skip damaged ones
  kFormat,   ///< the format is checked while the bytes stream past (TFRecord: framing and both CRCs of every record)
  kFullFraming,  ///< as kFraming, then as kFull
  kFull  ///< as kFormat, then the copy is read again and compared with the recorded CRCs, and in HDF5 with its own sums
};
WordTable<VerifyMode> WordsOf(VerifyMode);

/// Whether the copy is read again.
bool ReadsAgain(VerifyMode mode);

/// What this mode checks of a file; `name` is what messages call it.
std::unique_ptr<StreamCheck> MakeStreamCheck(DataFormat format, VerifyMode mode, std::filesystem::path name);

}  // namespace slipway::staging
