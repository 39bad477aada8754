#include "staging/formats/detect.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/image_header.h"
#include "staging/formats/superblock.h"
#include "staging/formats/tfrecord_check.h"

namespace slipway::staging {

namespace {

constexpr std::size_t kHeadBytes = 2048 + 96;

/// At most `count` bytes from `offset` on.
std::vector<std::byte> ReadPiece(int fd, std::uint64_t offset, std::size_t count, const std::filesystem::path& path) {
  std::vector<std::byte> piece(count);
  piece.resize(ReadUpTo(fd, offset, piece, path));
  return piece;
}

std::vector<std::byte> ReadHead(const std::filesystem::path& path) {
  return ReadPiece(OpenFile(path, O_RDONLY | O_NONBLOCK).get(), 0, kHeadBytes, path);
}

/// Cost: a look at each place, up to the end of the file.
bool HasSuperblock(const std::filesystem::path& path) {
  const auto fd = OpenFile(path, O_RDONLY | O_NONBLOCK);
  for (std::uint64_t place = 0;; place = NextSuperblockPlace(place)) {
    const auto piece = ReadPiece(fd.get(), place, kHdf5SignatureBytes, path);
    if (piece.size() < kHdf5SignatureBytes) return false;
    if (IsHdf5Signature(piece)) return true;
  }
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

std::string_view TextAt(std::span<const std::byte> head, std::size_t at) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  return at < text.size() ? text.substr(at) : std::string_view();
}

bool BeginsAsTar(std::span<const std::byte> head) {
  constexpr std::size_t kMagicAt = 257;
  return TextAt(head, kMagicAt).starts_with("ustar");
}

/// An array, or a zip file whose first member is one.
bool BeginsAsNumpy(std::span<const std::byte> head) {
  constexpr std::size_t kNameLengthAt = 26, kNameAt = 30;
  if (TextAt(head, 0).starts_with("\x93NUMPY")) return true;
  if (!TextAt(head, 0).starts_with("PK\3\4") || head.size() < kNameAt) return false;
  const auto length = std::to_integer<std::size_t>(head[kNameLengthAt]);
  return TextAt(head, kNameAt).substr(0, length).ends_with(".npy");
}

}  // namespace

DataFormat DetectFormat(const std::filesystem::path& path) {
  const auto head = ReadHead(path);
  if (BeginsWithRecord(head, path)) return DataFormat::kTfrecord;
  if (BeginsAsTar(head)) return DataFormat::kWebdataset;
  if (BeginsAsNumpy(head)) return DataFormat::kNumpy;
  if (BeginsAsImage(head)) return DataFormat::kImages;
  return HasSuperblock(path) ? DataFormat::kHdf5 : FormatOfName(path);
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
  if (extension == ".tar" || extension == ".tgz") return DataFormat::kWebdataset;
  if (extension == ".npy" || extension == ".npz") return DataFormat::kNumpy;
  if (extension.native().starts_with(".tfrecord")) return DataFormat::kTfrecord;
  if (extension == ".h5" || extension == ".hdf5") return DataFormat::kHdf5;
  return DataFormat::kRaw;
}

}  // namespace slipway::staging
