#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "staging/formats/table_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {
namespace {

/// Where the samples lie, by the check that staging uses. Nothing for a shard that it refuses.
std::optional<staging::RecordIndex> SamplesIn(Input input, std::size_t piece) {
  const auto check = staging::CheckWebdataset("input");
  try {
    for (auto left = input; !left.empty(); left = left.subspan(std::min(piece, left.size()))) {
      check->Update(left.first(std::min(piece, left.size())));
    }
    auto summary = check->Finish();
    FuzzRequire(summary.records == summary.record_offsets.size(), "as many places as samples");
    return staging::RecordIndex{std::move(summary.record_offsets), summary.record_bytes};
  } catch (const Error&) {
    return {};
  }
}

/// All that can be read of a shard: values and whole samples, or that they cannot.
std::vector<std::optional<std::string>> ContentsOf(const staging::TableInput& shard, std::size_t most_bytes) {
  const auto opened = staging::OpenWebdataset(shard);
  std::vector<std::optional<std::string>> contents;
  std::vector<std::byte> buffer;
  const auto add = [&](const std::function<Input()>& read) {
    contents.emplace_back();
    Try([&] {
      const auto bytes = read();
      FuzzRequire(bytes.size() <= most_bytes, "what is read lies in the shard");
      contents.back() = AsText(bytes);
    });
  };
  for (std::uint64_t record = 0; record < opened->record_count(); ++record) {
    add([&] { return *opened->Whole(record, buffer); });
    for (std::size_t field = 0; field < opened->fields().size(); ++field) {
      add([&] { return opened->Value(record, field, buffer); });
    }
  }
  return contents;
}

/// Whatever numbers stand there: one byte for each place, in blocks of a tar archive.
staging::RecordIndex AnyIndex(Input numbers) {
  staging::RecordIndex index;
  for (const auto number : numbers) index.offsets.push_back(512 * std::to_integer<std::uint64_t>(number));
  if (!index.offsets.empty()) index.end = index.offsets.back();
  if (!index.offsets.empty()) index.offsets.pop_back();
  return index;
}

}  // namespace

void FuzzWebdataset(Input input) {
  const auto samples = SamplesIn(input, 512);
  FuzzRequire(SamplesIn(input, 7) == samples, "pieces of 7 bytes are judged as blocks are");
  const MemoryFile file(input);
  std::optional<std::vector<std::optional<std::string>>> scanned;
  Try([&] { scanned = ContentsOf({file.path()}, input.size()); });
  if (!samples) return FuzzRequire(!scanned, "the reader refuses what the check refuses");
  Try([&] {
    const auto indexed = ContentsOf({file.path(), &*samples}, input.size());
    FuzzRequire(indexed == scanned, "an index changes nothing that is read");
  });
}

void FuzzWebdatasetIndex(Input input) {
  constexpr std::size_t kPlaces = 3;  // of two samples, and their end
  if (input.size() < kPlaces) return;
  const auto shard = input.subspan(kPlaces);
  const auto index = AnyIndex(input.first(kPlaces));
  const MemoryFile file(shard);
  Try([&] { ContentsOf({file.path(), &index}, shard.size()); });
}

}  // namespace slipway::fuzz
