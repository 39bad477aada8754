#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/formats/image_header.h"
#include "staging/formats/positioned_io.h"
#include "staging/formats/table_file.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestImage = 1 << 30;  // a record holds at most 2 GiB
enum Field : std::size_t { kClass, kHeight, kImage, kLabel, kWidth };

class ImageFile final : public TableFile {
 public:
  ImageFile(fs::path path, std::string class_name, std::uint64_t label)
      : path_(std::move(path)), class_(std::move(class_name)), label_(label) {}

  std::uint64_t record_count() const override { return 1; }
  const std::vector<TableField>& fields() const override {
    static const std::vector<TableField> kFields = {{"class", NumberType::kUint8, {}, true},
                                                    {"height", NumberType::kInt64, {}},
                                                    {"image", NumberType::kUint8, {}, true},
                                                    {"label", NumberType::kInt64, {}},
                                                    {"width", NumberType::kInt64, {}}};
    return kFields;
  }

  std::span<const std::byte> Value(std::uint64_t, std::size_t field, std::vector<std::byte>& buffer) const override {
    if (field == kClass) return std::as_bytes(std::span(class_));
    if (field == kLabel) return Number(static_cast<std::int64_t>(label_), buffer);
    Read(buffer);
    const auto size = ReadImageSize(buffer, path_.string());
    if (field == kImage) return buffer;
    return Number(field == kHeight ? size.height : size.width, buffer);
  }

  std::optional<std::span<const std::byte>> Whole(std::uint64_t, std::vector<std::byte>& buffer) const override {
    Read(buffer);
    return buffer;
  }

 private:
  static std::span<const std::byte> Number(std::int64_t number, std::vector<std::byte>& buffer) {
    buffer.resize(sizeof number);
    std::memcpy(buffer.data(), &number, sizeof number);
    return buffer;
  }

  void Read(std::vector<std::byte>& buffer) const {
    const auto fd = OpenFile(path_, O_RDONLY);
    struct stat info {};
    CheckErrno(::fstat(fd.get(), &info), fmt::format("cannot read '{}'", path_.string()));
    if (std::cmp_greater(info.st_size, kLargestImage)) {
      throw Error(ErrorKind::kEnvironment, fmt::format("the image '{}' is too large for a record", path_.string()),
                  "make it smaller, or leave it out");
    }
    buffer.resize(static_cast<std::size_t>(info.st_size));
    ReadAt(fd.get(), 0, buffer, path_);
  }

  fs::path path_;
  std::string class_;
  std::uint64_t label_;
};

/// What ends a whole image of a kind. Other kinds have no end of their own.
struct ImageEnd {
  std::string_view begin;
  std::string_view end;
  std::string_view name;
};
constexpr std::array kEnds = {
    ImageEnd{"\xff\xd8\xff", "\xff\xd9", "JPEG's end of image (ff d9)"},
    ImageEnd{"\x89PNG\r\n\x1a\n", std::string_view("IEND\xae\x42\x60\x82", 8), "PNG's chunk IEND"}};

/// Cameras and editors leave some bytes behind the end.
constexpr std::size_t kMostBehindEnd = 4096;

class ImageCheck final : public StreamCheck {
 public:
  explicit ImageCheck(fs::path name) : name_(std::move(name)) {}

  std::uint32_t Update(std::span<const std::byte> bytes) override {
    const auto wanted = std::min(kImageStartBytes - head_.size(), bytes.size());
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    head_ += text.substr(0, wanted);
    tail_ += text.substr(text.size() - std::min(text.size(), kMostBehindEnd));
    if (tail_.size() > kMostBehindEnd) tail_.erase(0, tail_.size() - kMostBehindEnd);
    size_ += bytes.size();
    return Crc32c(bytes);
  }

  StreamSummary Finish() override {
    if (!BeginsAsImage(std::as_bytes(std::span(head_)))) {
      Throw("is neither JPEG, PNG, GIF, BMP nor WebP by its first bytes", "write the image again, or leave it out");
    }
    for (const auto& kind : kEnds) {
      if (!head_.starts_with(kind.begin) || tail_.rfind(kind.end) != std::string::npos) continue;
      Throw(fmt::format("is torn: {} is missing before byte {}", kind.name, size_), "copy it again from its source");
    }
    StreamSummary summary;
    summary.records = 1;
    return summary;
  }

 private:
  [[noreturn]] void Throw(std::string_view what, std::string next) const {
    throw Error(ErrorKind::kEnvironment, fmt::format("the image '{}' {}", name_.string(), what), std::move(next));
  }

  fs::path name_;
  std::string head_;
  std::string tail_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::unique_ptr<TableFile> OpenImage(fs::path path, std::string class_name, std::uint64_t label) {
  return std::make_unique<ImageFile>(std::move(path), std::move(class_name), label);
}

std::unique_ptr<StreamCheck> CheckImage(fs::path name) { return std::make_unique<ImageCheck>(std::move(name)); }

}  // namespace slipway::staging
