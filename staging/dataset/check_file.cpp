#include "staging/dataset/check_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/detect.h"
#include "staging/formats/hdf5.h"

namespace slipway::staging {

namespace {

constexpr std::size_t kReadBlock = 1 << 20;

std::size_t ReadBlock(int fd, std::span<std::byte> block, const std::filesystem::path& path) {
  while (true) {
    const auto count = ::read(fd, block.data(), block.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) ThrowErrno(fmt::format("cannot read '{}'", path.string()));
  }
}

StreamSummary StreamThrough(const std::filesystem::path& path, CheckedFile& checked,
                            const std::function<void(std::uint64_t)>& progress) {
  const auto fd = OpenFile(path, O_RDONLY);
  const auto check = MakeStreamCheck(checked.format, path);
  std::vector<std::byte> buffer(kReadBlock);
  while (const auto count = ReadBlock(fd.get(), buffer, path)) {
    check->Update(std::span(buffer).first(count));
    checked.bytes += count;
    progress(count);
  }
  return check->Finish();
}

/// Returns the number of records: the rows of the first dataset.
std::uint64_t ReadEveryValue(const std::filesystem::path& path) {
  const auto file = OpenHdf5(path);
  file->Verify();
  return file->Datasets().empty() ? 0 : file->Datasets()[0].shape[0];
}

}  // namespace

CheckedFile CheckFile(const DatasetFile& file, const std::function<void(std::uint64_t)>& progress) {
  CheckedFile checked{DetectFormat(file.path), 0, 0};
  if (checked.format == DataFormat::kRaw) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' is neither a TFRecord nor an HDF5 file", file.path.string()));
  }
  const auto summary = StreamThrough(file.path, checked, progress);
  checked.records = summary.records ? *summary.records : ReadEveryValue(file.path);
  CheckPromises(file, checked.bytes, checked.records);
  return checked;
}

}  // namespace slipway::staging
