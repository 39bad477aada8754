#include <fmt/format.h>

#include "core/error.h"
#include "staging/convert/record_producer.h"
#include "staging/formats/idx.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

void RequireImagesAndLabels(const IdxArray& images, const fs::path& image_file, const IdxArray& labels,
                            const fs::path& label_file) {
  if (images.shape.size() < 2 || labels.shape.size() != 1) {
    throw Error(ErrorKind::kUsage,
                fmt::format("'{}' and '{}' have {} and {} dimensions: expected images and their labels",
                            image_file.string(), label_file.string(), images.shape.size(), labels.shape.size()),
                "name the file of the images first, then that of the labels");
  }
  if (images.record_count() != labels.record_count()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' has {} images, '{}' has {} labels", image_file.string(), images.record_count(),
                            label_file.string(), labels.record_count()),
                "name the files of one set, or download them again");
  }
  if (images.record_count() == 0) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no images", image_file.string()),
                "download the file again");
  }
}

class IdxProducer final : public RecordProducer {
 public:
  IdxProducer(const fs::path& images, const fs::path& labels) : images_(ReadIdx(images)), labels_(ReadIdx(labels)) {
    RequireImagesAndLabels(images_, images, labels_, labels);
    fields_ = {{"image", NumberType::kUint8, {images_.shape.begin() + 1, images_.shape.end()}},
               {"label", NumberType::kInt64, {}}};
    RequireValues(fields_[0], images);
  }

  std::uint64_t record_count() const override { return images_.record_count(); }
  const std::vector<ProducedField>& fields() const override { return fields_; }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    if (field == 0) return images_.Record(record);
    label_ = std::to_integer<std::int64_t>(labels_.values[record]);
    return std::as_bytes(std::span(&label_, 1));
  }

 private:
  IdxArray images_;
  IdxArray labels_;
  std::vector<ProducedField> fields_;
  std::int64_t label_ = 0;
};

}  // namespace

std::unique_ptr<RecordProducer> ProduceFromIdx(const fs::path& images, const fs::path& labels) {
  return std::make_unique<IdxProducer>(images, labels);
}

}  // namespace slipway::staging
