#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "bench/staging/checked_blocks.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "staging/formats/tfrecord.h"
#include "staging/formats/tfrecord_frame.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {
namespace {

constexpr std::uint64_t kInflateLimit = 64 << 20;
constexpr std::size_t kBlock = 100;

struct Judgement {
  std::vector<std::uint64_t> offsets;
  std::uint64_t record_bytes = 0;
  staging::Compression compression = staging::Compression::kNone;

  bool operator==(const Judgement&) const = default;
};

/// Nothing for a bad file.
std::optional<Judgement> ByStream(Input input, std::size_t piece) try {
  staging::CheckedBlocks blocks(staging::MakeStreamCheck(staging::DataFormat::kTfrecord, "input"), kBlock);
  for (auto rest = input; !rest.empty(); rest = rest.subspan(std::min(piece, rest.size()))) {
    blocks.Update(rest.first(std::min(piece, rest.size())));
  }
  const auto result = blocks.Finish();
  for (std::size_t i = 0; i < result.crc32c.size(); ++i) {
    const auto block = input.subspan(i * kBlock, std::min(kBlock, input.size() - i * kBlock));
    FuzzRequire(result.crc32c[i] == Crc32cPortable(block), "the CRC of a block is that of its bytes");
  }
  FuzzRequire(result.summary.records == result.summary.record_offsets.size(), "as many offsets as records");
  return Judgement{result.summary.record_offsets, result.summary.record_bytes, result.summary.compression};
} catch (const Error&) {
  return {};
}

std::optional<Judgement> ByMapping(Input input) try {
  const MemoryFile memory(input);
  const staging::TfrecordFile file(memory.path(), kInflateLimit);
  for (std::uint64_t i = 0; i < file.record_count(); ++i) file.Record(i);
  return Judgement{file.offsets(), file.frames().size(), file.compression()};
} catch (const Error&) {
  return {};
}

std::string TextOf(Input bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string Framed(Input payload) {
  return TextOf(staging::MakeTfrecordHeader(payload.size())) + TextOf(payload) +
         TextOf(staging::MakeTfrecordFooter(Crc32c(payload)));
}

std::string DeflatedBy(staging::Compression compression, std::string_view content) {
  std::string deflated;
  const auto sink = [&deflated](std::string_view bytes) { deflated += bytes; };
  staging::Deflater deflater(compression);
  deflater.Update(content, sink);
  deflater.Finish(sink);
  return deflated;
}

unsigned TakeByte(Input& input) {
  if (input.empty()) return 0;
  const auto byte = std::to_integer<unsigned>(input[0]);
  input = input.subspan(1);
  return byte;
}

/// Payloads of the lengths that the input says, framed.
std::string Records(Input input) {
  std::string records;
  while (!input.empty()) {
    const std::size_t announced = TakeByte(input);
    const auto length = std::min(announced, input.size());
    records += Framed(input.first(length));
    input = input.subspan(length);
  }
  return records;
}

}  // namespace

void FuzzTfrecord(Input input) {
  const auto whole = ByStream(input, std::max<std::size_t>(1, input.size()));
  for (const std::size_t piece : {1, 7, 64}) {
    FuzzRequire(ByStream(input, piece) == whole, "the borders of the pieces do not matter");
  }
  FuzzRequire(ByMapping(input) == whole, "the mapped reader judges as the stream check does");
}

void FuzzTfrecordRepaired(Input input) {
  const auto kind = static_cast<staging::Compression>(TakeByte(input) % 3);
  auto where = TakeByte(input);
  where = where << 8 | TakeByte(input);
  const auto change = TakeByte(input);
  auto bytes = Records(input);
  const bool any = !bytes.empty();
  if (kind != staging::Compression::kNone) bytes = DeflatedBy(kind, bytes);
  if (change == 0) {
    const auto good = ByMapping(std::as_bytes(std::span(bytes)));
    FuzzRequire(good.has_value(), "whole records are good");
    FuzzRequire(good->compression == kind || !any, "the compression is seen");
  } else if (!bytes.empty()) {
    bytes[where % bytes.size()] = static_cast<char>(bytes[where % bytes.size()] ^ static_cast<char>(change));
  }
  FuzzTfrecord(std::as_bytes(std::span(bytes)));
}

}  // namespace slipway::fuzz
