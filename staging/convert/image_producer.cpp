#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "core/error.h"
#include "core/files.h"
#include "staging/convert/record_producer.h"
#include "staging/dataset/folder.h"
#include "staging/formats/image_header.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

constexpr std::uint64_t kLargestImage = 1 << 30;  // a record holds at most 2 GiB

/// The classes: their numbers are their places in the order of names, whatever is in them.
std::vector<fs::path> ClassFoldersOf(const fs::path& directory) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.is_directory() && !entry.path().filename().string().starts_with('.')) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  return folders;
}

/// A class without images would make the numbers of those after it doubtful.
void RequireImages(const FolderFiles& found, const fs::path& folder) {
  if (!found.files.empty()) return;
  const auto others = DescribeLeftOut(found.left_out, 0);
  throw Error(ErrorKind::kEnvironment,
              fmt::format("the class folder '{}' has no image that can be converted{}{}", folder.string(),
                          others.empty() ? "" : ": ", others),
              "convert its files to JPEG, PNG, GIF, BMP or WebP, or move the folder away if it is no class");
}

class ImageProducer final : public RecordProducer {
 public:
  ImageProducer(const fs::path& directory, std::vector<LeftOutFile>& left_out) {
    for (const auto& folder : ClassFoldersOf(directory)) AddClass(folder, left_out);
    auto beside = WalkFolder(directory, {}, FoldersBelow::kLeftOut);
    for (const auto& file : beside.files) left_out.push_back({file.path, LeftOutReason::kNoClass});
    std::ranges::copy_if(beside.left_out, std::back_inserter(left_out),
                         [](const LeftOutFile& file) { return file.reason != LeftOutReason::kFolder; });
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

  void AddClass(const fs::path& folder, std::vector<LeftOutFile>& left_out) {
    const auto found = ImageFilesIn(folder);
    RequireImages(found, folder);
    for (const auto& file : found.files) images_.push_back({file.path, static_cast<std::int64_t>(classes_.size())});
    left_out.insert(left_out.end(), found.left_out.begin(), found.left_out.end());
    classes_.push_back(folder.filename().string());
  }

  void Load(std::uint64_t record) {
    if (record == loaded_) return;
    const auto& image = images_[record];
    if (fs::file_size(image.path) > kLargestImage) {
      throw Error(ErrorKind::kEnvironment, fmt::format("the image '{}' is too large for a record", image.path.string()),
                  "make it smaller, or leave it out");
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

std::unique_ptr<RecordProducer> ProduceFromImageFolders(const fs::path& directory, std::vector<LeftOutFile>& left_out) {
  return std::make_unique<ImageProducer>(directory, left_out);
}

bool HasImageFolders(const fs::path& directory) {
  return fs::is_directory(directory) && std::ranges::any_of(ClassFoldersOf(directory), [](const fs::path& folder) {
           return !ImageFilesIn(folder).files.empty();
         });
}

}  // namespace slipway::staging
