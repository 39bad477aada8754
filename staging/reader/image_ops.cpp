#include "staging/reader/image_ops.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace slipway::staging {

namespace {

/// How one coordinate of a resized image is mixed from two of the image.
struct Mix {
  std::uint64_t first;
  std::uint64_t second;
  float share_of_second;
};

std::vector<Mix> MixesFor(std::int64_t begin, std::uint64_t from, std::uint64_t to) {
  std::vector<Mix> mixes(to);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (std::uint64_t i = 0; i < to; ++i) {
    const double place = std::max(0.0, (static_cast<double>(i) + 0.5) * scale - 0.5);
    const auto first = std::min(static_cast<std::uint64_t>(place), from - 1);
    const auto second = std::min(first + 1, from - 1);
    const auto offset = static_cast<std::uint64_t>(begin);
    mixes[i] = {offset + first, offset + second, static_cast<float>(place - static_cast<double>(first))};
  }
  return mixes;
}

template <class Number>
float Load(const std::byte* at) {
  Number value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<float>(value);
}

template <class Number>
void Store(float value, std::byte* at) {
  Number stored;
  if constexpr (std::is_integral_v<Number>) {
    stored = static_cast<Number>(value + 0.5F);  // between numbers of this type, so in its range
  } else {
    stored = value;
  }
  std::memcpy(at, &stored, sizeof stored);
}

template <class Number>
void ResizeRow(const ImageView& image, const Mix& rows, std::span<const Mix> columns, std::byte* out) {
  const auto* top = image.pixels.data() + rows.first * image.width * image.pixel_bytes();
  const auto* bottom = image.pixels.data() + rows.second * image.width * image.pixel_bytes();
  const auto mixed = [](float a, float b, float share) { return a + (b - a) * share; };
  for (const auto& column : columns) {
    const auto left = column.first * image.pixel_bytes(), right = column.second * image.pixel_bytes();
    for (std::size_t byte = 0; byte < image.pixel_bytes(); byte += sizeof(Number), out += sizeof(Number)) {
      const auto above =
          mixed(Load<Number>(top + left + byte), Load<Number>(top + right + byte), column.share_of_second);
      const auto below =
          mixed(Load<Number>(bottom + left + byte), Load<Number>(bottom + right + byte), column.share_of_second);
      Store<Number>(mixed(above, below, rows.share_of_second), out);
    }
  }
}

template <class Number>
void ResizeAs(const ImageView& image, std::span<const Mix> rows, std::span<const Mix> columns, std::byte* out) {
  for (const auto& row : rows) {
    ResizeRow<Number>(image, row, columns, out);
    out += columns.size() * image.pixel_bytes();
  }
}

template <class Number>
[[gnu::always_inline]] inline void ScaleAll(const std::byte* values, std::size_t count, std::span<const float> factor,
                                            std::span<const float> offset, float* out) {
  const auto channels = factor.size();
  if (channels == 1) {
    const float by = factor[0], plus = offset[0];
    for (std::size_t i = 0; i < count; ++i) out[i] = Load<Number>(values + i * sizeof(Number)) * by + plus;
    return;
  }
  for (std::size_t pixel = 0; pixel + channels <= count; pixel += channels) {
    for (std::size_t c = 0; c < channels; ++c) {
      out[pixel + c] = Load<Number>(values + (pixel + c) * sizeof(Number)) * factor[c] + offset[c];
    }
  }
}

#if defined(__x86_64__)
/// AVX2 has no fused multiply-add: the bits are the same on every processor.
template <class Number>
__attribute__((target("avx2"))) void ScaleAllAvx2(const std::byte* values, std::size_t count,
                                                  std::span<const float> factor, std::span<const float> offset,
                                                  float* out) {
  ScaleAll<Number>(values, count, factor, offset, out);
}
#endif

template <class Number>
void Scale(const std::byte* values, std::size_t count, std::span<const float> factor, std::span<const float> offset,
           float* out) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return ScaleAllAvx2<Number>(values, count, factor, offset, out);
#endif
  ScaleAll<Number>(values, count, factor, offset, out);
}

}  // namespace

ImageView AsImage(const Values& values) {
  return {values.type, values.shape[0], values.shape[1], values.shape.size() > 2 ? values.shape[2] : 1, values.values};
}

void CropImage(const ImageView& image, const Region& region, std::span<std::byte> out) {
  const auto pixel = image.pixel_bytes();
  const auto row_bytes = region.width * pixel;
  const auto width = static_cast<std::int64_t>(image.width);
  const auto begin = std::clamp<std::int64_t>(region.left, 0, width);
  const auto end = std::clamp<std::int64_t>(region.left + static_cast<std::int64_t>(region.width), begin, width);
  const auto before = static_cast<std::size_t>(begin - region.left) * pixel;
  if (static_cast<std::size_t>(end - begin) < region.width) std::ranges::fill(out, std::byte{0});
  for (std::uint64_t i = 0; i < region.height; ++i) {
    const auto row = region.top + static_cast<std::int64_t>(i);
    auto* to = out.data() + i * row_bytes;
    if (row < 0 || row >= static_cast<std::int64_t>(image.height)) {
      std::memset(to, 0, row_bytes);
    } else if (end > begin) {
      const auto* from = image.pixels.data() + static_cast<std::size_t>(row * width + begin) * pixel;
      std::memcpy(to + before, from, static_cast<std::size_t>(end - begin) * pixel);
    }
  }
}

void MirrorColumns(const ImageView& image, std::span<std::byte> out) {
  const auto pixel = image.pixel_bytes();
  for (std::uint64_t row = 0; row < image.height; ++row) {
    const auto* from = image.pixels.data() + row * image.width * pixel;
    auto* to = out.data() + (row + 1) * image.width * pixel;
    for (std::uint64_t column = 0; column < image.width; ++column) {
      to -= pixel;
      std::memcpy(to, from + column * pixel, pixel);
    }
  }
}

void MirrorRows(const ImageView& image, std::span<std::byte> out) {
  const auto row_bytes = image.width * image.pixel_bytes();
  for (std::uint64_t row = 0; row < image.height; ++row) {
    std::memcpy(out.data() + (image.height - 1 - row) * row_bytes, image.pixels.data() + row * row_bytes, row_bytes);
  }
}

void ResizeImage(const ImageView& image, const Region& region, std::uint64_t height, std::uint64_t width,
                 std::span<std::byte> out) {
  const auto rows = MixesFor(region.top, region.height, height);
  const auto columns = MixesFor(region.left, region.width, width);
  if (image.type == ElementType::kUint8) return ResizeAs<std::uint8_t>(image, rows, columns, out.data());
  ResizeAs<float>(image, rows, columns, out.data());
}

void PutChannelsFirst(const ImageView& image, std::span<std::byte> out) {
  const auto size = SizeOf(image.type);
  const auto pixels = image.height * image.width;
  for (std::uint64_t channel = 0; channel < image.channels; ++channel) {
    for (std::uint64_t pixel = 0; pixel < pixels; ++pixel) {
      std::memcpy(out.data() + (channel * pixels + pixel) * size,
                  image.pixels.data() + (pixel * image.channels + channel) * size, size);
    }
  }
}

void ScaleElements(ElementType type, std::span<const std::byte> values, std::span<const float> factor,
                   std::span<const float> offset, std::span<std::byte> out) {
  const auto count = values.size() / SizeOf(type);
  auto* floats = reinterpret_cast<float*>(out.data());
  if (type == ElementType::kUint8) return Scale<std::uint8_t>(values.data(), count, factor, offset, floats);
  Scale<float>(values.data(), count, factor, offset, floats);
}

}  // namespace slipway::staging
