/// What happens to a field of a record between the file and the batch. Transforms are pure functions of (seed, epoch,
/// record), run on the reader's worker threads.
///
/// An *image* is [height, width] or [height, width, channels], the channels of a pixel side by side.
/// In JSON transforms are a list of objects: {"op": NAME, ...}; see each struct. Unknown names and keys are refused.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"
#include "staging/reader/elements.h"

namespace slipway::staging {

/// The bytes of a JPEG file -> an image of uint8 with 3 channels (red, green, blue) or 1 (grey): uint8 [?] ->
/// uint8 [?, ?, channels]. CMYK is converted. Images of more than kMostPixels are refused before memory is taken.
/// {"op": "decode_jpeg", "channels": 3}
struct DecodeJpeg {
  int channels = 3;
};
inline constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 26;

/// A part of an image: any type [h, w, ...] -> the same type [size, ...]. At random, after `padding` rows and columns
/// of zeros were put around it; or from the middle. A smaller image is an error of that record.
/// {"op": "random_crop", "size": [224, 224], "padding": 0}, {"op": "center_crop", "size": [224, 224]}
struct Crop {
  std::array<std::uint64_t, 2> size = {};
  bool random = false;
  std::uint64_t padding = 0;
};

/// Mirrors an image, with this probability: any type and shape -> the same.
/// {"op": "flip", "axis": "horizontal" | "vertical", "probability": 0.5}
struct Flip {
  bool vertical = false;
  double probability = 0.5;
};

/// Converts numbers, as ConvertElements does: any type -> `to`, the same shape.
/// {"op": "cast", "to": "float32"}
struct Cast {
  ElementType to = ElementType::kFloat32;
};

/// (value * scale - mean) / std, with one mean and std for all values, or one for each channel (the last extent). uint8
/// or float32 -> float32, the same shape.
/// {"op": "normalise", "mean": [0.5], "std": [0.25], "scale": 0.00392156862745098}
struct Normalise {
  std::vector<float> mean = {0};
  std::vector<float> deviation = {1};
  float scale = 1;
};

/// Bilinear resize, with pixel centres at half numbers and without a filter against aliasing (torch's interpolate with
/// align_corners=False). uint8 or float32 [h, w, ...] -> the same type [size, ...]. With `shorter` the shorter side
/// becomes that long and the other keeps the proportion: -> [?, ?, ...] unless the image's size is known.
/// {"op": "resize", "size": [256, 256]} or {"op": "resize", "shorter": 256}
struct Resize {
  std::array<std::uint64_t, 2> size = {};
  std::uint64_t shorter = 0;
};

/// A part of random area and proportion, resized: [h, w, ...] -> [size, ...]. Ten tries to place one, then the middle.
/// {"op": "random_resized_crop", "size": [224, 224], "area": [0.08, 1], "ratio": [0.75, 1.3333]}
struct RandomResizedCrop {
  std::array<std::uint64_t, 2> size = {};
  std::array<double, 2> area = {0.08, 1};
  std::array<double, 2> ratio = {3.0 / 4, 4.0 / 3};
};

/// Any type [h, w, c] -> the same type [c, h, w], the layout of torch's convolutions. {"op": "channels_first"}
struct ChannelsFirst {};

using Transform = std::variant<DecodeJpeg, Crop, Flip, Cast, Normalise, Resize, RandomResizedCrop, ChannelsFirst>;

/// What `transform` makes of a field of type `in`. Errors: Error(kUsage) saying what it takes.
FieldType TypeAfter(const Transform& transform, const FieldType& in);

/// Errors: Error(kUsage) naming the place in the list, the key and what is expected.
std::vector<Transform> ParseTransforms(const Json& list);

/// What random numbers depend on, and nothing else.
struct RecordKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t record = 0;
};

/// Memory that a thread keeps between records.
struct TransformMemory {
  std::array<std::vector<std::byte>, 2> buffers;
  std::vector<std::byte> pixels;
};

/// The transforms of one field, checked against its type. May be used by several threads at once.
class TransformChain {
 public:
  /// Errors: Error(kUsage) naming the transform that does not fit; a result whose extents differ between records.
  TransformChain(std::vector<Transform> transforms, FieldType input);

  const FieldType& input() const { return input_; }
  const FieldType& output() const { return output_; }
  bool empty() const { return transforms_.empty(); }
  /// Bytes of a result.
  std::size_t output_bytes() const { return output_bytes_; }

  /// Fills `out`, output_bytes() long.
  /// Errors: Error(kEnvironment): bytes that are no JPEG, an image that is smaller than its crop, ...
  void Apply(Values values, const RecordKey& key, TransformMemory& memory, std::span<std::byte> out) const;

 private:
  std::vector<Transform> transforms_;
  FieldType input_;
  FieldType output_;
  std::size_t output_bytes_ = 0;
};

}  // namespace slipway::staging
