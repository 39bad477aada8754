#include "launcher/watch/file_stamps.h"

#include <sys/stat.h>

namespace slipway::launcher::watch {

FileStamp StampOf(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return {info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

std::vector<FileStamp> StampsOf(const std::vector<std::filesystem::path>& paths) {
  std::vector<FileStamp> stamps;
  stamps.reserve(paths.size());
  for (const auto& path : paths) stamps.push_back(StampOf(path));
  return stamps;
}

double TimeOf(const FileStamp& stamp) {
  return static_cast<double>(std::get<2>(stamp)) + 1e-9 * static_cast<double>(std::get<3>(stamp));
}

}  // namespace slipway::launcher::watch
