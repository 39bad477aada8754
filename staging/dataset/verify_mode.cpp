#include "staging/dataset/verify_mode.h"

#include <array>
#include <utility>

namespace slipway::staging {

namespace {

constexpr std::array kModes = {std::pair(VerifyMode::kOff, "off"), std::pair(VerifyMode::kFraming, "framing"),
                               std::pair(VerifyMode::kFormat, "format"),
                               std::pair(VerifyMode::kFullFraming, "full-framing"),
                               std::pair(VerifyMode::kFull, "full")};

bool LeavesContents(VerifyMode mode) { return mode == VerifyMode::kFraming || mode == VerifyMode::kFullFraming; }

}  // namespace

std::string_view VerifyModeName(VerifyMode mode) {
  for (const auto& [known, name] : kModes) {
    if (known == mode) return name;
  }
  return "off";
}

std::optional<VerifyMode> ParseVerifyMode(std::string_view name) {
  for (const auto& [mode, known] : kModes) {
    if (known == name) return mode;
  }
  return {};
}

bool ReadsAgain(VerifyMode mode) { return mode == VerifyMode::kFull || mode == VerifyMode::kFullFraming; }

std::unique_ptr<StreamCheck> MakeStreamCheck(DataFormat format, VerifyMode mode, std::filesystem::path name) {
  if (mode == VerifyMode::kOff) format = DataFormat::kRaw;
  return MakeStreamCheck(format, std::move(name),
                         LeavesContents(mode) ? RecordContents::kLeft : RecordContents::kChecked);
}

}  // namespace slipway::staging
