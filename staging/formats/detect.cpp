#include "staging/formats/detect.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/superblock.h"
#include "staging/formats/tfrecord_frame.h"

namespace slipway::staging {

namespace {

std::vector<std::byte> ReadHead(const std::filesystem::path& path) {
  const auto fd = OpenFile(path, O_RDONLY | O_NONBLOCK);
  std::vector<std::byte> head(kSuperblockSearchBytes);
  ssize_t count = 0;
  do {
    count = ::pread(fd.get(), head.data(), head.size(), 0);
  } while (count < 0 && errno == EINTR);
  head.resize(static_cast<std::size_t>(CheckErrno(count, fmt::format("cannot read '{}'", path.string()))));
  return head;
}

DataFormat FormatOfName(const std::filesystem::path& path) {
  const auto extension = path.extension().string();
  if (extension == ".tfrecord" || extension == ".tfrecords") return DataFormat::kTfrecord;
  if (extension == ".h5" || extension == ".hdf5") return DataFormat::kHdf5;
  return DataFormat::kRaw;
}

}  // namespace

DataFormat DetectFormat(const std::filesystem::path& path) {
  const auto head = ReadHead(path);
  const std::span<const std::byte> bytes(head);
  if (HasHdf5Signature(bytes)) return DataFormat::kHdf5;
  if (bytes.size() >= kTfrecordHeaderBytes && IsTfrecordHeader(bytes.first<kTfrecordHeaderBytes>())) {
    return DataFormat::kTfrecord;
  }
  return FormatOfName(path);
}

}  // namespace slipway::staging
