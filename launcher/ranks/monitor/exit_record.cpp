#include "launcher/ranks/monitor/exit_record.h"

#include <cstdio>
#include <string_view>

#include "core/documents.h"
#include "core/lines.h"
#include "launcher/ranks/shim/ending.h"
#include "launcher/ranks/shim/protocol.h"

namespace slipway::launcher {
namespace fs = std::filesystem;

fs::path FileOfRank(const char* format, const fs::path& directory, int rank) {
  char name[4096];
  std::snprintf(name, sizeof name, format, directory.c_str(), rank);
  return name;
}

std::optional<ExitRecord> ReadExitRecord(const fs::path& directory, int rank) {
  const auto text = ReadDocumentIfPresent(FileOfRank(shim::kExitName, directory, rank));
  if (!text || !text->ends_with('\n')) return {};
  LineWords words(std::string_view(*text).substr(0, text->size() - 1));
  ExitRecord record{{words.Take<int>(), words.Take<int>()}};
  if (!words.good()) return {};
  record.disk_full = words.rest() == shim::kDiskFull;
  return record.disk_full || words.AtEnd() ? std::optional(record) : std::nullopt;
}

}  // namespace slipway::launcher
