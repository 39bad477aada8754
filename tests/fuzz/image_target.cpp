#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "staging/formats/image_header.h"
#include "staging/formats/table_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {
namespace {

bool IsTaken(Input input, std::size_t piece) {
  const auto check = staging::CheckImage("input");
  try {
    for (auto left = input; !left.empty(); left = left.subspan(std::min(piece, left.size()))) {
      check->Update(left.first(std::min(piece, left.size())));
    }
    FuzzRequire(check->Finish().records == 1U, "an image is a record");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void FuzzImages(Input input) {
  const bool is_taken = IsTaken(input, 4096);
  FuzzRequire(IsTaken(input, 7) == is_taken, "pieces of 7 bytes are judged as blocks are");
  FuzzRequire(!is_taken || staging::BeginsAsImage(input), "what is taken begins as an image");
  const MemoryFile file(input);
  const auto image = staging::OpenImage(file.path(), "class", 3);
  std::vector<std::byte> buffer;
  for (std::size_t field = 0; field < image->fields().size(); ++field) {
    Try([&] {
      const auto value = image->Value(0, field, buffer);
      const auto& form = image->fields()[field];
      if (form.any_length) return;
      std::int64_t number = 0;
      FuzzRequire(value.size() == sizeof number, "a number has its size");
      std::memcpy(&number, value.data(), sizeof number);
      FuzzRequire(number > 0, "an image has a size, and its label is kept");
    });
  }
  Try([&] { FuzzRequire(std::ranges::equal(*image->Whole(0, buffer), input), "an image is its file"); });
}

}  // namespace slipway::fuzz
