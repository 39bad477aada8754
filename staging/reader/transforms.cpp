#include "staging/reader/transforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"
#include "staging/reader/image_ops.h"
#include "staging/reader/jpeg.h"
#include "staging/reader/random.h"

namespace slipway::staging {

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

[[noreturn]] void ThrowMisfit(std::string_view op, std::string_view wanted, const FieldType& found) {
  throw Error(ErrorKind::kUsage, fmt::format("{} takes {}, found {}", op, wanted, TypeText(found)),
              "change the transforms before it, or their order");
}

void RequireImage(std::string_view op, const FieldType& in) {
  if (in.shape.size() != 2 && in.shape.size() != 3) {
    ThrowMisfit(op, "an image [height, width] or [height, width, channels]", in);
  }
}

void RequireBytesOrFloats(std::string_view op, const FieldType& in) {
  if (in.type != ElementType::kUint8 && in.type != ElementType::kFloat32) ThrowMisfit(op, "uint8 or float32", in);
}

void RequireSize(std::string_view op, const std::array<std::uint64_t, 2>& size) {
  if (size[0] == 0 || size[1] == 0 || size[0] > kMostPixels / size[1]) {
    throw Error(ErrorKind::kUsage, fmt::format("{} to {} x {} pixels is not possible", op, size[0], size[1]),
                "give a height and a width of at least 1");
  }
}

FieldType WithSize(FieldType type, const std::array<std::uint64_t, 2>& size) {
  type.shape[0] = size[0];
  type.shape[1] = size[1];
  return type;
}

std::array<std::uint64_t, 2> SizeOfImage(const Shape& shape) { return {shape[0], shape[1]}; }

/// 0 x 0 while the size of the image is not known.
std::array<std::uint64_t, 2> ResizedSize(const Resize& resize, const std::array<std::uint64_t, 2>& size) {
  if (resize.shorter == 0) return resize.size;
  const auto [shorter, longer] = std::minmax(size[0], size[1]);
  if (shorter == 0) return {0, 0};
  // Beyond there is no such image, and the product would not be a number.
  if (longer > kMostPixels || resize.shorter > kMostPixels) return {resize.shorter, kMostPixels};
  const auto scaled = [&](std::uint64_t extent) { return (extent * resize.shorter + shorter / 2) / shorter; };
  return {scaled(size[0]), scaled(size[1])};
}

FieldType TypeAfterJpeg(const DecodeJpeg& op, const FieldType& in) {
  if (in.type != ElementType::kUint8 || in.shape.size() != 1) ThrowMisfit("decode_jpeg", "bytes", in);
  if (op.channels != 1 && op.channels != 3)
    throw Error(ErrorKind::kUsage, "decode_jpeg gives 1 or 3 channels", "set channels to 1 or 3");
  return {ElementType::kUint8, {0, 0, static_cast<std::uint64_t>(op.channels)}};
}

FieldType TypeAfterCrop(const Crop& op, const FieldType& in) {
  const auto name = op.random ? "random_crop" : "center_crop";
  RequireImage(name, in);
  RequireSize(name, op.size);
  if (op.padding > kMostPixels)
    throw Error(ErrorKind::kUsage, "the padding is larger than any image", "choose a smaller padding");
  for (int i : {0, 1}) {
    const auto extent = in.shape[static_cast<std::size_t>(i)];
    if (extent != 0 && extent + 2 * op.padding < op.size[static_cast<std::size_t>(i)]) {
      ThrowMisfit(name, fmt::format("an image of at least {} x {} pixels", op.size[0], op.size[1]), in);
    }
  }
  return WithSize(in, op.size);
}

void RequirePerChannel(std::string_view what, std::size_t count, const FieldType& in) {
  const auto channels = in.shape.empty() ? 1 : in.shape.back();
  if (count == 1 || count == channels) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("normalise has {} values of {} for {}: give one, or one for each channel", count, what, TypeText(in)),
      "give one, or one for each channel");
}

FieldType TypeAfterNormalise(const Normalise& op, const FieldType& in) {
  RequireBytesOrFloats("normalise", in);
  RequirePerChannel("mean", op.mean.size(), in);
  RequirePerChannel("std", op.deviation.size(), in);
  const auto bad = [](float value) { return !std::isfinite(value); };
  if (std::ranges::any_of(op.mean, bad) || std::ranges::any_of(op.deviation, bad) || bad(op.scale) ||
      std::ranges::find(op.deviation, 0.0F) != op.deviation.end()) {
    throw Error(ErrorKind::kUsage, "normalise needs finite numbers and a std that is not 0",
                "correct its mean, std and scale");
  }
  return {ElementType::kFloat32, in.shape};
}

FieldType TypeAfterResize(const Resize& op, const FieldType& in) {
  RequireImage("resize", in);
  RequireBytesOrFloats("resize", in);
  const auto size = ResizedSize(op, SizeOfImage(in.shape));
  if (op.shorter == 0 || size[0] != 0) RequireSize("resize", size);
  return WithSize(in, size);
}

FieldType TypeAfterRandomResizedCrop(const RandomResizedCrop& op, const FieldType& in) {
  RequireImage("random_resized_crop", in);
  RequireBytesOrFloats("random_resized_crop", in);
  RequireSize("random_resized_crop", op.size);
  if (!(op.area[0] > 0 && op.area[0] <= op.area[1] && op.area[1] <= 1 && op.ratio[0] > 0.01 &&
        op.ratio[0] <= op.ratio[1] && op.ratio[1] < 100)) {
    throw Error(ErrorKind::kUsage, "random_resized_crop needs 0 < area <= 1 and a ratio of some size, small ones first",
                "write for example area: [0.08, 1], ratio: [0.75, 1.33]");
  }
  return WithSize(in, op.size);
}

FieldType TypeAfterChannelsFirst(const FieldType& in) {
  if (in.shape.size() != 3) ThrowMisfit("channels_first", "an image [height, width, channels]", in);
  return {in.type, {in.shape[2], in.shape[0], in.shape[1]}};
}

FieldType TypeAfterFlip(const Flip& op, const FieldType& in) {
  RequireImage("flip", in);
  if (!(op.probability >= 0 && op.probability <= 1)) {
    throw Error(ErrorKind::kUsage, fmt::format("flip with probability {}: must be 0 to 1", op.probability),
                "set it to 0.5, for example");
  }
  return in;
}

/// Memory for a result of this type.
using Place = std::function<std::span<std::byte>(const FieldType& type)>;

Values Placed(const FieldType& type, std::span<const std::byte> bytes) { return {type.type, type.shape, bytes}; }

Values Run(const DecodeJpeg& op, const Values& in, SplitMix64&, std::vector<std::byte>& spare, const Place& place) {
  FieldType type{ElementType::kUint8, {}};
  std::span<std::byte> out;
  DecodeJpegFile(in.values, op.channels, kMostPixels, spare, [&](const JpegSize& size) {
    type.shape = {size.height, size.width, static_cast<std::uint64_t>(op.channels)};
    out = place(type);
    return out;
  });
  return Placed(type, out);
}

Values Run(const Crop& op, const Values& in, SplitMix64& random, std::vector<std::byte>&, const Place& place) {
  const auto type = TypeAfterCrop(op, {in.type, in.shape});
  const auto out = place(type);
  const auto begin = [&](std::size_t side) {
    const auto room = in.shape[side] + 2 * op.padding - op.size[side];
    const auto offset = op.random ? random.Below(room + 1) : room / 2;
    return static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(op.padding);
  };
  const auto top = begin(0);
  CropImage(AsImage(in), {top, begin(1), op.size[0], op.size[1]}, out);
  return Placed(type, out);
}

Values Run(const Flip& op, const Values& in, SplitMix64& random, std::vector<std::byte>&, const Place& place) {
  if (random.Fraction() >= op.probability) return in;
  const auto out = place({in.type, in.shape});
  (op.vertical ? MirrorRows : MirrorColumns)(AsImage(in), out);
  return {in.type, in.shape, out};
}

Values Run(const Cast& op, const Values& in, SplitMix64&, std::vector<std::byte>&, const Place& place) {
  const auto out = place({op.to, in.shape});
  ConvertElements(in.type, in.values, op.to, out);
  return {op.to, in.shape, out};
}

Values Run(const Normalise& op, const Values& in, SplitMix64&, std::vector<std::byte>&, const Place& place) {
  const auto out = place({ElementType::kFloat32, in.shape});
  std::vector<float> factor(std::max(op.mean.size(), op.deviation.size())), offset(factor.size());
  for (std::size_t i = 0; i < factor.size(); ++i) {
    const auto deviation = op.deviation[op.deviation.size() == 1 ? 0 : i];
    factor[i] = op.scale / deviation;
    offset[i] = -op.mean[op.mean.size() == 1 ? 0 : i] / deviation;
  }
  ScaleElements(in.type, in.values, factor, offset, out);
  return {ElementType::kFloat32, in.shape, out};
}

Values Run(const Resize& op, const Values& in, SplitMix64&, std::vector<std::byte>&, const Place& place) {
  const auto type = TypeAfterResize(op, {in.type, in.shape});
  const auto out = place(type);
  ResizeImage(AsImage(in), {0, 0, in.shape[0], in.shape[1]}, type.shape[0], type.shape[1], out);
  return Placed(type, out);
}

Region MiddleOf(const Shape& shape, const std::array<double, 2>& ratio) {
  const auto height = static_cast<double>(shape[0]), width = static_cast<double>(shape[1]);
  const auto wanted = std::clamp(width / height, ratio[0], ratio[1]);
  const auto cut = [](double extent, double limit) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::min(std::round(extent), limit)));
  };
  const auto rows = cut(width / wanted, height), columns = cut(height * wanted, width);
  return {static_cast<std::int64_t>((shape[0] - rows) / 2), static_cast<std::int64_t>((shape[1] - columns) / 2), rows,
          columns};
}

Region RandomRegion(const RandomResizedCrop& op, const Shape& shape, SplitMix64& random) {
  const auto between = [&](double low, double high) { return low + (high - low) * random.Fraction(); };
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto pixels = between(op.area[0], op.area[1]) * static_cast<double>(shape[0] * shape[1]);
    const auto ratio = std::exp(between(std::log(op.ratio[0]), std::log(op.ratio[1])));
    const auto rows = static_cast<std::uint64_t>(std::round(std::sqrt(pixels / ratio)));
    const auto columns = static_cast<std::uint64_t>(std::round(std::sqrt(pixels * ratio)));
    if (rows == 0 || columns == 0 || rows > shape[0] || columns > shape[1]) continue;
    const auto top = static_cast<std::int64_t>(random.Below(shape[0] - rows + 1));
    const auto left = static_cast<std::int64_t>(random.Below(shape[1] - columns + 1));
    return {top, left, rows, columns};
  }
  return MiddleOf(shape, op.ratio);
}

Values Run(const RandomResizedCrop& op, const Values& in, SplitMix64& random, std::vector<std::byte>&,
           const Place& place) {
  const auto type = WithSize({in.type, in.shape}, op.size);
  const auto out = place(type);
  ResizeImage(AsImage(in), RandomRegion(op, in.shape, random), op.size[0], op.size[1], out);
  return Placed(type, out);
}

Values Run(const ChannelsFirst&, const Values& in, SplitMix64&, std::vector<std::byte>&, const Place& place) {
  const auto type = TypeAfterChannelsFirst({in.type, in.shape});
  const auto out = place(type);
  PutChannelsFirst(AsImage(in), out);
  return Placed(type, out);
}

bool Fits(const FieldType& type, const Values& values) {
  return values.type == type.type && std::ranges::equal(values.shape, type.shape, [](auto found, auto expected) {
           return expected == 0 || found == expected;
         });
}

}  // namespace

FieldType TypeAfter(const Transform& transform, const FieldType& in) {
  return std::visit(Overloaded{[&](const DecodeJpeg& op) { return TypeAfterJpeg(op, in); },
                               [&](const Crop& op) { return TypeAfterCrop(op, in); },
                               [&](const Flip& op) { return TypeAfterFlip(op, in); },
                               [&](const Cast& op) {
                                 return FieldType{op.to, in.shape};
                               },
                               [&](const Normalise& op) { return TypeAfterNormalise(op, in); },
                               [&](const Resize& op) { return TypeAfterResize(op, in); },
                               [&](const RandomResizedCrop& op) { return TypeAfterRandomResizedCrop(op, in); },
                               [&](const ChannelsFirst&) { return TypeAfterChannelsFirst(in); }},
                    transform);
}

TransformChain::TransformChain(std::vector<Transform> transforms, FieldType input)
    : transforms_(std::move(transforms)), input_(std::move(input)), output_(input_) {
  for (std::size_t i = 0; i < transforms_.size(); ++i) {
    output_ = WithContext(fmt::format("in transform {}", i), [&] { return TypeAfter(transforms_[i], output_); });
  }
  const auto count = CountOf(output_.shape);
  if (!count || *count == 0) {
    throw Error(ErrorKind::kUsage,
                fmt::format("the records of a batch must have one size, they have {}", TypeText(output_)),
                "crop or resize to one size");
  }
  output_bytes_ = *count * SizeOf(output_.type);
}

void TransformChain::Apply(Values values, const RecordKey& key, TransformMemory& memory,
                           std::span<std::byte> out) const {
  if (!Fits(input_, values)) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("expected {}, found {}", TypeText(input_), TypeText({values.type, values.shape})),
                "set on_corrupt: skip, or write records of one shape");
  }
  for (std::size_t i = 0; i < transforms_.size(); ++i) {
    const Place place = [&](const FieldType& type) -> std::span<std::byte> {
      if (i + 1 == transforms_.size()) return out;
      auto& buffer = memory.buffers[values.values.data() == memory.buffers[0].data() ? 1 : 0];
      buffer.resize(*CountOf(type.shape) * SizeOf(type.type));
      return buffer;
    };
    auto random = StreamFor(key.seed, key.epoch, key.record, i);
    values = std::visit([&](const auto& op) { return Run(op, values, random, memory.pixels, place); }, transforms_[i]);
  }
  if (values.values.data() != out.data()) std::ranges::copy(values.values, out.begin());
}

}  // namespace slipway::staging
