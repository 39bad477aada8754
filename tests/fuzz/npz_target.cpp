#include <algorithm>
#include <cstring>

#include "staging/formats/numpy_table.h"
#include "staging/formats/zip_writer.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {
namespace {

void ReadEveryRow(const std::filesystem::path& path) {
  staging::NpyColumns columns;
  columns.Add(path);
  const auto count = columns.record_count();
  for (std::size_t field = 0; count > 0 && field < columns.fields().size(); ++field) {
    const auto bytes = staging::BytesPerValue(columns.fields()[field]);
    FuzzRequire(columns.Rows(0, count, field).size() == count * bytes, "rows fill their array");
    FuzzRequire(columns.Value(count - 1, field).size() == bytes, "the last record has a value");
  }
}

/// The rows that the check of staging counts. Nothing where it counts none, or refuses.
std::optional<std::uint64_t> CountOf(Input input, std::size_t piece) {
  const auto check = staging::CheckNumpy("input");
  try {
    for (auto left = input; !left.empty(); left = left.subspan(std::min(piece, left.size()))) {
      check->Update(left.first(std::min(piece, left.size())));
    }
    return check->Finish().records;
  } catch (const Error&) {
    return {};
  }
}

/// Two members with right CRCs, so that more than these is tried. The first byte of `input` divides them.
void TryAsMembers(Input input) {
  if (input.empty()) return;
  const auto content = input.subspan(1);
  const auto first = content.first(std::min(content.size(), 4 * std::to_integer<std::size_t>(input[0])));
  const MemoryFile file({});
  staging::ZipWriter zip(file.path());
  zip.Begin("a.npy", first.size());
  zip.Append(AsText(first));
  zip.Begin("b/c.npy", content.size() - first.size());
  zip.Append(AsText(content.subspan(first.size())));
  zip.Close();
  Try([&] { ReadEveryRow(file.path()); });
}

}  // namespace

void FuzzNpz(Input input) {
  const auto counted = CountOf(input, 4096);
  FuzzRequire(CountOf(input, 7) == counted, "pieces of 7 bytes are judged as blocks are");
  const MemoryFile file(input);
  Try([&] { ReadEveryRow(file.path()); });
  Try([&] {
    const auto table = staging::OpenNumpyTable(file.path());
    FuzzRequire(!counted || table->record_count() == *counted, "the reader counts what the check counts");
  });
  TryAsMembers(input);
}

}  // namespace slipway::fuzz
