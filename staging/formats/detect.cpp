#include "staging/formats/detect.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/superblock.h"
#include "staging/formats/tfrecord_check.h"

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

/// True when a TFRecord begins there, plain or compressed.
bool BeginsWithRecord(std::span<const std::byte> head, const std::filesystem::path& path) {
  TfrecordCheck check(path);
  try {
    check.Update(head);
  } catch (const Error&) {
    // What follows a good beginning is no matter here.
  }
  return check.HasBegun();
}

}  // namespace

DataFormat DetectFormat(const std::filesystem::path& path) {
  const auto head = ReadHead(path);
  if (HasHdf5Signature(head)) return DataFormat::kHdf5;
  return BeginsWithRecord(head, path) ? DataFormat::kTfrecord : FormatOfName(path);
}

Compression DetectCompression(const std::filesystem::path& path) {
  const auto head = ReadHead(path);
  return BeginsWithRecord(head, path)
             ? GuessCompression(std::span(head).first(std::min<std::size_t>(head.size(), kTfrecordHeaderBytes)))
             : Compression::kNone;
}

DataFormat FormatOfName(const std::filesystem::path& path) {
  auto extension = path.extension();
  if (extension == ".gz" || extension == ".zlib") {
    extension = path.stem().extension();
    if (extension == ".h5" || extension == ".hdf5") return DataFormat::kRaw;
  }
  if (extension == ".tfrecord" || extension == ".tfrecords") return DataFormat::kTfrecord;
  if (extension == ".h5" || extension == ".hdf5") return DataFormat::kHdf5;
  return DataFormat::kRaw;
}

}  // namespace slipway::staging
