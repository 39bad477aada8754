#include "bench/staging/page_cache.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "bench/measure.h"
#include "core/error.h"
#include "core/files.h"
#include "core/share_out.h"

namespace slipway::bench {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSwitch = "/proc/sys/vm/drop_caches";

std::vector<fs::path> FilesIn(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

void ReadToEnd(const fs::path& file, std::vector<char>& buffer) {
  const auto fd = OpenFile(file, O_RDONLY);
  while (CheckErrno(::read(fd.get(), buffer.data(), buffer.size()), "cannot read the data of the benchmark") > 0) {
  }
}

void SendToEnd(const fs::path& file, const fs::path& copy) {
  const auto from = OpenFile(file, O_RDONLY);
  const auto to = OpenFile(copy, O_WRONLY | O_CREAT | O_TRUNC);
  constexpr std::size_t kSentAtOnce = 16 << 20;
  while (CheckErrno(::sendfile(to.get(), from.get(), nullptr, kSentAtOnce), "cannot copy the data of the benchmark") >
         0) {
  }
}

double TimeOf(const std::vector<fs::path>& files, std::size_t threads, const std::function<Worker()>& make_worker) {
  std::atomic<bool> stopped{false};
  return SecondsOf([&] { ShareOut(files.size(), threads, stopped, make_worker); });
}

}  // namespace

bool CanDropAll() { return ::access(kSwitch, W_OK) == 0; }

void MakeCold(const fs::path& directory) {
  if (CanDropAll()) return WriteFile(kSwitch, "3\n");
  for (const auto& file : FilesIn(directory)) {
    ::posix_fadvise(OpenFile(file, O_RDONLY).get(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

void MakeWarm(const fs::path& directory) { ReadAll(directory, 2); }

double ReadAll(const fs::path& directory, std::size_t threads) {
  const auto files = FilesIn(directory);
  return TimeOf(files, threads, [&]() -> Worker {
    return [&, buffer = std::vector<char>(1 << 20)](std::size_t item) mutable { ReadToEnd(files[item], buffer); };
  });
}

double SendAll(const fs::path& directory, const fs::path& target, std::size_t threads) {
  const auto files = FilesIn(directory);
  MakeDirectories(target);
  const auto seconds = TimeOf(files, threads, [&]() -> Worker {
    return [&](std::size_t item) { SendToEnd(files[item], target / std::to_string(item)); };
  });
  RemoveTree(target);
  return seconds;
}

}  // namespace slipway::bench
