#include <algorithm>
#include <optional>

#include "core/error.h"
#include "staging/formats/table_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {
namespace {

std::optional<std::uint64_t> SamplesIn(Input input, std::size_t piece) {
  const auto check = staging::CheckWebdataset("input");
  try {
    for (auto left = input; !left.empty(); left = left.subspan(std::min(piece, left.size()))) {
      check->Update(left.first(std::min(piece, left.size())));
    }
    return check->Finish().records;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void FuzzWebdataset(Input input) {
  const auto samples = SamplesIn(input, 512);
  FuzzRequire(SamplesIn(input, 7) == samples, "pieces of 7 bytes are judged as blocks are");
  const MemoryFile file(input);
  Try([&] {
    const auto opened = staging::OpenWebdataset({file.path()});
    FuzzRequire(opened->record_count() == samples, "the reader counts what the check counts");
    std::vector<std::byte> buffer;
    for (std::uint64_t record = 0; record < opened->record_count(); ++record) {
      FuzzRequire(opened->Whole(record, buffer)->size() <= input.size(), "samples lie in the shard");
      for (std::size_t field = 0; field < opened->fields().size(); ++field) {
        Try([&] { FuzzRequire(opened->Value(record, field, buffer).size() <= input.size(), "so do values"); });
      }
    }
  });
}

}  // namespace slipway::fuzz
