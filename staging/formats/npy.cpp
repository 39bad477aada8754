#include "staging/formats/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/numpy_header.h"
#include "staging/formats/zip.h"

namespace slipway::staging {
namespace {

NumberType TypeOf(const NumpyHeader& header) {
  static constexpr NumberType kSigned[] = {NumberType::kInt8, NumberType::kInt16, NumberType::kInt32,
                                           NumberType::kInt64};
  static constexpr NumberType kUnsigned[] = {NumberType::kUint8, NumberType::kUint16, NumberType::kUint32,
                                             NumberType::kUint64};
  if (header.kind == 'f') return header.size == 4 ? NumberType::kFloat32 : NumberType::kFloat64;
  const auto width = static_cast<std::size_t>(std::countr_zero(header.size));
  return header.kind == 'i' ? kSigned[width] : kUnsigned[width];
}

void SwapBytes(std::span<std::byte> values, std::size_t size) {
  for (; !values.empty(); values = values.subspan(size)) std::ranges::reverse(values.first(size));
}

/// What numpy.load calls a member.
std::string KeyOf(std::string_view member) {
  constexpr std::string_view kSuffix = ".npy";
  if (member.ends_with(kSuffix)) member.remove_suffix(kSuffix.size());
  return std::string(member);
}

}  // namespace

NpyFile::NpyFile(const std::filesystem::path& path) : file_(path) {
  if (!IsZip(file_.bytes())) {
    Add(path.stem().string(), file_.bytes(), path.string());
    return;
  }
  for (const auto& member : ListZip(file_.bytes(), path)) {
    const auto key = KeyOf(member.name);
    const auto full_name = fmt::format("{}:{}", path.string(), member.name);
    if (member.stored) {
      Add(key, member.bytes, full_name);
    } else {
      held_.push_back(InflateMember(member, full_name));
      Add(key, held_.back().bytes(), full_name);
    }
  }
}

void NpyFile::Add(std::string name, std::span<const std::byte> bytes, const std::string& full_name) {
  auto header = ParseNumpyHeader(bytes, full_name);
  auto values = bytes.subspan(header.values_at);
  if (header.swapped) {
    std::vector<std::byte> swapped(values.begin(), values.end());
    SwapBytes(swapped, header.size);
    held_.emplace_back().Append(swapped);
    values = held_.back().bytes();
  }
  arrays_.push_back({std::move(name), TypeOf(header), std::move(header.shape), values});
}

}  // namespace slipway::staging
