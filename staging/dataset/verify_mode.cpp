#include "staging/dataset/verify_mode.h"

#include <utility>

namespace slipway::staging {

namespace {

bool LeavesContents(VerifyMode mode) { return mode == VerifyMode::kFraming || mode == VerifyMode::kFullFraming; }

}  // namespace

WordTable<VerifyMode> WordsOf(VerifyMode) {
  static constexpr Word<VerifyMode> kWords[] = {{VerifyMode::kOff, "off"},
                                                {VerifyMode::kFraming, "framing"},
                                                {VerifyMode::kFormat, "format"},
                                                {VerifyMode::kFullFraming, "full-framing"},
                                                {VerifyMode::kFull, "full"}};
  return kWords;
}

bool ReadsAgain(VerifyMode mode) { return mode == VerifyMode::kFull || mode == VerifyMode::kFullFraming; }

std::unique_ptr<StreamCheck> MakeStreamCheck(DataFormat format, VerifyMode mode, std::filesystem::path name) {
  if (mode == VerifyMode::kOff) format = DataFormat::kRaw;
  return MakeStreamCheck(format, std::move(name),
                         LeavesContents(mode) ? RecordContents::kLeft : RecordContents::kChecked);
}

}  // namespace slipway::staging
