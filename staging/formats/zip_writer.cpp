#include "staging/formats/zip_writer.h"

#include <fmt/format.h>
#include <minizip/zip.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"

namespace slipway::staging {
namespace {

constexpr int kStoredMethod = 0;
constexpr uLong kNameIsUtf8 = 1 << 11;
constexpr uLong kFirstDay = 0x21;  // 1 January 1980, as NumPy writes it
constexpr std::uint64_t kNeeds64Bits = 0xffff0000;
constexpr std::size_t kMostAtOnce = 1 << 30;

}  // namespace

void ZipWriter::CloseZip::operator()(void* zip) const { ::zipClose(zip, nullptr); }

ZipWriter::ZipWriter(std::filesystem::path path)
    : path_(std::move(path)), zip_(::zipOpen64(path_.c_str(), APPEND_STATUS_CREATE)) {
  if (!zip_) Check(ZIP_ERRNO);
}

void ZipWriter::Begin(const std::string& name, std::uint64_t bytes) {
  EndMember();
  zip_fileinfo info{};
  info.dosDate = kFirstDay << 16;
  Check(::zipOpenNewFileInZip4_64(zip_.get(), name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, kStoredMethod, 0, 0,
                                  -MAX_WBITS, DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY, nullptr, 0, 0, kNameIsUtf8,
                                  bytes >= kNeeds64Bits ? 1 : 0));
  in_member_ = true;
}

void ZipWriter::Append(std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kMostAtOnce))) {
    Check(::zipWriteInFileInZip(zip_.get(), bytes.data(), static_cast<unsigned>(std::min(bytes.size(), kMostAtOnce))));
  }
}

void ZipWriter::Close() {
  EndMember();
  Check(::zipClose(zip_.release(), nullptr));
}

void ZipWriter::EndMember() {
  if (in_member_) Check(::zipCloseFileInZip(zip_.get()));
  in_member_ = false;
}

/// minizip writes by stdio, which leaves its reason in errno.
void ZipWriter::Check(int code) const {
  const int reason = errno;
  if (code == ZIP_OK) return;
  throw SystemError(reason == 0 ? EIO : reason, fmt::format("cannot write '{}'", path_.string()));
}

}  // namespace slipway::staging
