#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

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

using Images = std::vector<std::unique_ptr<TableFile>>;

Images ImagesOfClasses(const fs::path& directory, std::vector<LeftOutFile>& left_out) {
  Images images;
  std::uint64_t label = 0;
  for (const auto& folder : ClassFoldersOf(directory)) {
    const auto found = ImageFilesIn(folder);
    RequireImages(found, folder);
    for (const auto& file : found.files) images.push_back(OpenImage(file.path, folder.filename().string(), label));
    left_out.insert(left_out.end(), found.left_out.begin(), found.left_out.end());
    ++label;
  }
  return images;
}

void AddBesideClasses(const fs::path& directory, std::vector<LeftOutFile>& left_out) {
  auto beside = WalkFolder(directory, {}, FoldersBelow::kLeftOut);
  for (const auto& file : beside.files) left_out.push_back({file.path, LeftOutReason::kNoClass});
  std::ranges::copy_if(beside.left_out, std::back_inserter(left_out),
                       [](const LeftOutFile& file) { return file.reason != LeftOutReason::kFolder; });
}

class ImageProducer final : public RecordProducer {
 public:
  explicit ImageProducer(Images images) : images_(std::move(images)) {}

  std::uint64_t record_count() const override { return images_.size(); }
  const std::vector<ProducedField>& fields() const override { return images_[0]->fields(); }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    return images_[record]->Value(0, field, buffer_);
  }

  bool IsDerived(std::size_t field) const override {
    return fields()[field].name == "height" || fields()[field].name == "width";
  }

 private:
  Images images_;
  std::vector<std::byte> buffer_;
};

}  // namespace

std::unique_ptr<RecordProducer> ProduceFromImageFolders(const fs::path& directory, std::vector<LeftOutFile>& left_out) {
  auto images = ImagesOfClasses(directory, left_out);
  AddBesideClasses(directory, left_out);
  return std::make_unique<ImageProducer>(std::move(images));
}

std::unique_ptr<RecordProducer> ProduceFromImages(const std::vector<fs::path>& files) {
  return std::make_unique<ImageProducer>(OpenTableFiles(DataFormat::kImages, {files.begin(), files.end()}));
}

bool HasImageFolders(const fs::path& directory) {
  return fs::is_directory(directory) && std::ranges::any_of(ClassFoldersOf(directory), [](const fs::path& folder) {
           return !ImageFilesIn(folder).files.empty();
         });
}

}  // namespace slipway::staging
