#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/files.h"
#include "staging/convert/record_producer.h"
#include "staging/formats/image_header.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

constexpr std::uint64_t kLargestImage = 1 << 30;  // a record holds at most 2 GiB

bool IsImage(const fs::directory_entry& entry) {
  auto extension = entry.path().extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + ' ' : c; });
  const bool named = extension == ".jpg" || extension == ".jpeg" || extension == ".png";
  return named && entry.is_regular_file() && !entry.path().filename().string().starts_with('.');
}

std::vector<fs::path> ImagesOf(const fs::path& folder) {
  std::vector<fs::path> images;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (IsImage(entry)) images.push_back(entry.path());
  }
  std::ranges::sort(images);
  return images;
}

std::vector<fs::path> FoldersOf(const fs::path& directory) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.is_directory() && !entry.path().filename().string().starts_with('.')) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

class ImageProducer final : public RecordProducer {
 public:
  explicit ImageProducer(const fs::path& directory) {
    for (const auto& folder : FoldersOf(directory)) {
      const auto images = ImagesOf(folder);
      if (images.empty()) continue;
      for (const auto& image : images) images_.push_back({image, static_cast<std::int64_t>(classes_.size())});
      classes_.push_back(folder.filename().string());
    }
    if (images_.empty()) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' has no folders with JPEG or PNG images", directory.string()));
    }
  }

  std::uint64_t record_count() const override { return images_.size(); }
  const std::vector<ProducedField>& fields() const override { return fields_; }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    Load(record);
    switch (field) {
      case 0: return std::as_bytes(std::span(classes_[static_cast<std::size_t>(images_[record].label)]));
      case 1: return std::as_bytes(std::span(numbers_).subspan(0, 1));
      case 2: return std::as_bytes(std::span(content_));
      case 3: return std::as_bytes(std::span(numbers_).subspan(1, 1));
      default: return std::as_bytes(std::span(numbers_).subspan(2, 1));
    }
  }

 private:
  struct Image {
    fs::path path;
    std::int64_t label;
  };

  void Load(std::uint64_t record) {
    if (record == loaded_) return;
    const auto& image = images_[record];
    if (fs::file_size(image.path) > kLargestImage) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("the image '{}' is too large for a record", image.path.string()));
    }
    content_ = ReadFile(image.path);
    const auto size = ReadImageSize(std::as_bytes(std::span(content_)), image.path.string());
    numbers_ = {size.height, image.label, size.width};
    loaded_ = record;
  }

  std::vector<Image> images_;
  std::vector<std::string> classes_;
  const std::vector<ProducedField> fields_ = {{"class", NumberType::kUint8, {}, true},
                                              {"height", NumberType::kInt64, {}},
                                              {"image", NumberType::kUint8, {}, true},
                                              {"label", NumberType::kInt64, {}},
                                              {"width", NumberType::kInt64, {}}};
  std::uint64_t loaded_ = ~0ULL;
  std::string content_;
  std::array<std::int64_t, 3> numbers_{};  // height, label, width
};

}  // namespace

std::unique_ptr<RecordProducer> ProduceFromImageFolders(const fs::path& directory) {
  return std::make_unique<ImageProducer>(directory);
}

bool HasImageFolders(const fs::path& directory) {
  return fs::is_directory(directory) &&
         std::ranges::any_of(FoldersOf(directory), [](const fs::path& folder) { return !ImagesOf(folder).empty(); });
}

}  // namespace slipway::staging
