#include "staging/reader/hdf5_filters.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "staging/formats/little_endian.h"

namespace slipway::staging {

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kChecksumBytes = 4;

[[noreturn]] void ThrowDamagedChunk(std::string_view reason) {
  throw Error(ErrorKind::kEnvironment, fmt::format("the chunk is damaged: {}", reason),
              "the file is damaged: copy it again from its source");
}

std::uint32_t Folded(std::uint32_t sum) { return (sum & 0xffff) + (sum >> 16); }

/// Fletcher's sum of big-endian 16-bit words as HDF5 computes it (H5_checksum_fletcher32).
std::uint32_t Fletcher32(std::span<const std::byte> bytes) {
  constexpr std::size_t kWordsBeforeOverflow = 360;
  std::uint32_t sum = 0, sum_of_sums = 0;
  while (bytes.size() >= 2) {
    const auto words = std::min(bytes.size() / 2, kWordsBeforeOverflow);
    for (std::size_t i = 0; i < 2 * words; i += 2) {
      sum += std::to_integer<std::uint32_t>(bytes[i]) << 8 | std::to_integer<std::uint32_t>(bytes[i + 1]);
      sum_of_sums += sum;
    }
    sum = Folded(sum);
    sum_of_sums = Folded(sum_of_sums);
    bytes = bytes.subspan(2 * words);
  }
  if (!bytes.empty()) {
    sum = Folded(sum + (std::to_integer<std::uint32_t>(bytes[0]) << 8));
    sum_of_sums = Folded(sum_of_sums + sum);
  }
  return Folded(sum_of_sums) << 16 | Folded(sum);
}

/// What versions before 1.6.3 stored on little-endian machines.
std::uint32_t WithSwappedPairs(std::uint32_t sum) { return (sum & 0x00ff00ff) << 8 | (sum & 0xff00ff00) >> 8; }

void CheckFletcher(Bytes& chunk) {
  if (chunk.size() < kChecksumBytes) ThrowDamagedChunk("it is too short for its checksum");
  const auto stored = LoadLittleEndian<std::uint32_t>(std::span(chunk).last<kChecksumBytes>());
  chunk.resize(chunk.size() - kChecksumBytes);
  const auto sum = Fletcher32(chunk);
  if (stored == sum || stored == WithSwappedPairs(sum)) return;
  ThrowDamagedChunk(fmt::format("expected Fletcher32 {:08x}, found {:08x}", stored, sum));
}

/// `most`: more than the chunk can hold.
void Inflate(std::span<const std::byte> deflated, Bytes& out, std::size_t most) {
  // Deflate makes 258 bytes of two bits at best: what a damaged file promises beyond that takes no memory.
  constexpr std::size_t kMostGrowth = 1032;
  if (most / kMostGrowth > deflated.size()) ThrowDamagedChunk("it is too short for what it should inflate to");
  out.resize(most);
  auto size = static_cast<uLongf>(out.size());
  const auto result = ::uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                                   reinterpret_cast<const Bytef*>(deflated.data()), deflated.size());
  if (result == Z_MEM_ERROR)
    throw Error(ErrorKind::kEnvironment, "there is no memory to inflate a chunk", "give the job more memory");
  if (result != Z_OK)
    ThrowDamagedChunk(result == Z_BUF_ERROR ? "it inflates to another size" : "it cannot be inflated");
  out.resize(size);
}

/// All first bytes of the numbers, then all second bytes, ... -> number by number.
void Unshuffle(const Bytes& shuffled, Bytes& out, std::size_t size) {
  out.resize(shuffled.size());
  const auto count = shuffled.size() / size;
  for (std::size_t byte = 0; byte < size; ++byte) {
    const auto* from = shuffled.data() + byte * count;
    auto* to = out.data() + byte;
    for (std::size_t i = 0; i < count; ++i) to[i * size] = from[i];
  }
  std::copy(shuffled.begin() + static_cast<std::ptrdiff_t>(count * size), shuffled.end(),
            out.begin() + static_cast<std::ptrdiff_t>(count * size));
}

}  // namespace

bool CanUndo(std::span<const Hdf5Filter> filters) {
  return std::ranges::all_of(filters, [](const Hdf5Filter& filter) {
    if (filter.id == kShuffleFilter) return !filter.parameters.empty() && filter.parameters[0] > 0;
    return filter.id == kDeflateFilter || filter.id == kFletcher32Filter;
  });
}

void UndoFilters(std::span<const Hdf5Filter> filters, unsigned skipped, std::size_t bytes, Bytes& stored,
                 Bytes& values) {
  for (auto i = filters.size(); i-- > 0;) {
    if (i < 32 && (skipped >> i & 1) != 0) continue;
    switch (filters[i].id) {
      case kFletcher32Filter: CheckFletcher(stored); continue;
      case kDeflateFilter: Inflate(stored, values, bytes + kChecksumBytes); break;
      default: Unshuffle(stored, values, filters[i].parameters[0]);
    }
    std::swap(stored, values);
  }
  std::swap(stored, values);
  if (values.size() != bytes) ThrowDamagedChunk(fmt::format("it holds {} bytes, expected {}", values.size(), bytes));
}

}  // namespace slipway::staging
