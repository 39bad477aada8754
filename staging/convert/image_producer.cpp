#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "staging/convert/record_producer.h"
#include "staging/dataset/folder.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

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
  const std::vector<ProducedField>& fields() const override { return images_[0]->fields(); }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    return images_[record]->Value(0, field, buffer_);
  }

 private:
  void AddClass(const fs::path& folder, std::vector<LeftOutFile>& left_out) {
    const auto found = ImageFilesIn(folder);
    RequireImages(found, folder);
    for (const auto& file : found.files) images_.push_back(OpenImage(file.path, folder.filename().string(), classes_));
    left_out.insert(left_out.end(), found.left_out.begin(), found.left_out.end());
    ++classes_;
  }

  std::vector<std::unique_ptr<TableFile>> images_;
  std::uint64_t classes_ = 0;
  std::vector<std::byte> buffer_;
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
