#include "staging/make/made_records.h"

#include <array>
#include <string>

#include "staging/make/calorimeter.h"
#include "staging/make/density_field.h"
#include "staging/make/encode_jpeg.h"
#include "staging/make/labelled_picture.h"

namespace slipway::staging {
namespace {

constexpr int kJpegQuality = 90;

/// Makes one record and keeps it until another is asked for.
class MadeRecords : public RecordProducer {
 public:
  MadeRecords(std::uint64_t seed, std::uint64_t first, std::uint64_t count, std::vector<ProducedField> fields)
      : seed_(seed), first_(first), count_(count), fields_(std::move(fields)) {}

  std::uint64_t record_count() const override { return count_; }
  const std::vector<ProducedField>& fields() const override { return fields_; }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    if (record != made_) {
      auto draw = Draw::ForRecord(seed_, first_ + record);
      Make(draw);
      made_ = record;
    }
    return ValueOf(field);
  }

 private:
  virtual void Make(Draw& draw) = 0;
  virtual std::span<const std::byte> ValueOf(std::size_t field) const = 0;

  std::uint64_t seed_;
  std::uint64_t first_;
  std::uint64_t count_;
  std::vector<ProducedField> fields_;
  std::uint64_t made_ = ~0ULL;
};

class CollisionRecords final : public MadeRecords {
 public:
  CollisionRecords(const MakeOptions& options, std::uint64_t first, std::uint64_t count)
      : MadeRecords(options.seed, first, count,
                    {{"image", NumberType::kFloat32, {kCalorimeterChannels, options.size, options.size}},
                     {"label", NumberType::kInt64, {}}}),
        size_(options.size),
        image_(kCalorimeterChannels * size_ * size_) {}

 private:
  void Make(Draw& draw) override {
    label_ = draw.Chance(0.5) ? 1 : 0;
    const auto particles = DrawCollision(label_ == 1, draw);
    DrawCalorimeterImage(particles, size_, draw, image_);
  }

  std::span<const std::byte> ValueOf(std::size_t field) const override {
    return field == 0 ? std::as_bytes(std::span(image_)) : std::as_bytes(std::span(&label_, 1));
  }

  std::size_t size_;
  std::vector<float> image_;
  std::int64_t label_ = 0;
};

class CosmologyRecords final : public MadeRecords {
 public:
  CosmologyRecords(const MakeOptions& options, std::uint64_t first, std::uint64_t count)
      : MadeRecords(options.seed, first, count,
                    {{"parameters", NumberType::kFloat32, {3}},
                     {"target", NumberType::kFloat32, {3}},
                     {"volume", NumberType::kFloat32, {options.size, options.size, options.size}}}),
        box_(options.box),
        size_(options.size),
        volume_(size_ * size_ * size_) {}

 private:
  struct Range {
    double low, high;
  };
  static constexpr std::array<Range, 3> kRanges = {{{0.25, 0.35}, {0.78, 0.95}, {0.9, 1.0}}};

  void Make(Draw& draw) override {
    std::array<double, 3> values{};
    for (std::size_t i = 0; i < 3; ++i) {
      const double place = draw.Between(0, 1);
      values[i] = kRanges[i].low + (kRanges[i].high - kRanges[i].low) * place;
      parameters_[i] = static_cast<float>(values[i]);
      target_[i] = static_cast<float>(2 * place - 1);
    }
    DrawDensityField({values[0], values[1], values[2]}, box_, size_, draw, volume_);
  }

  std::span<const std::byte> ValueOf(std::size_t field) const override {
    switch (field) {
      case 0: return std::as_bytes(std::span(parameters_));
      case 1: return std::as_bytes(std::span(target_));
      default: return std::as_bytes(std::span(volume_));
    }
  }

  double box_;
  std::size_t size_;
  std::array<float, 3> parameters_{};
  std::array<float, 3> target_{};
  std::vector<float> volume_;
};

class PictureRecords final : public MadeRecords {
 public:
  PictureRecords(const MakeOptions& options, std::uint64_t first, std::uint64_t count)
      : MadeRecords(options.seed, first, count,
                    {{"image/class/label", NumberType::kInt64, {}},
                     {"image/class/text", NumberType::kUint8, {}, true},
                     {"image/encoded", NumberType::kUint8, {}, true},
                     {"image/height", NumberType::kInt64, {}},
                     {"image/width", NumberType::kInt64, {}}}),
        size_(options.size),
        classes_(options.classes) {}

 private:
  void Make(Draw& draw) override {
    const auto figure = draw.Below(classes_);
    const auto picture = DrawLabelledPicture(figure, size_, draw);
    name_ = FigureName(figure);
    encoded_ = EncodeJpeg(picture, kJpegQuality);
    numbers_ = {static_cast<std::int64_t>(figure) + 1, static_cast<std::int64_t>(picture.height),
                static_cast<std::int64_t>(picture.width)};
  }

  std::span<const std::byte> ValueOf(std::size_t field) const override {
    switch (field) {
      case 0: return std::as_bytes(std::span(numbers_).subspan(0, 1));
      case 1: return std::as_bytes(std::span(name_));
      case 2: return encoded_;
      case 3: return std::as_bytes(std::span(numbers_).subspan(1, 1));
      default: return std::as_bytes(std::span(numbers_).subspan(2, 1));
    }
  }

  std::size_t size_;
  std::uint64_t classes_;
  std::string name_;
  std::vector<std::byte> encoded_;
  std::array<std::int64_t, 3> numbers_{};  // label, height, width
};

}  // namespace

std::unique_ptr<RecordProducer> MakeRecords(const MakeOptions& options, std::uint64_t first, std::uint64_t count) {
  switch (options.kind) {
    case MadeData::kHepcnn: return std::make_unique<CollisionRecords>(options, first, count);
    case MadeData::kCosmoflow: return std::make_unique<CosmologyRecords>(options, first, count);
    case MadeData::kImagenetLike: break;
  }
  return std::make_unique<PictureRecords>(options, first, count);
}

}  // namespace slipway::staging
