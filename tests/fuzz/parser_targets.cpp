#include "core/crc32c.h"
#include "core/numpy_header.h"
#include "staging/dataset/record_index.h"
#include "staging/formats/example.h"
#include "staging/formats/image_header.h"
#include "staging/formats/little_endian.h"
#include "staging/formats/superblock.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {
namespace {

bool LiesIn(std::string_view part, Input whole) {
  return part.empty() ||
         (part.data() >= AsText(whole).data() && part.data() + part.size() <= AsText(whole).data() + whole.size());
}

/// The same with a right CRC at its end, so that more than the CRC is tried.
std::string WithCrc(Input input) {
  std::string text(AsText(input));
  std::byte crc[4];
  staging::StoreLittleEndian(Crc32c(text), std::span<std::byte, 4>(crc));
  return text.append(reinterpret_cast<const char*>(crc), sizeof crc);
}

void TryRecordIndex(std::string_view text) {
  Try([text] {
    const auto files = staging::DecodeRecordIndices(text);
    const auto again = staging::DecodeRecordIndices(staging::EncodeRecordIndices(files));
    FuzzRequire(again == files, "an index survives being written and read");
  });
}

void CheckFeature(const staging::FeatureView& feature, Input record) {
  FuzzRequire(LiesIn(feature.name(), record), "the name lies in the record");
  const auto values = feature.AllBytes();
  for (const auto value : values) FuzzRequire(LiesIn(value, record), "a value lies in the record");
  std::vector<float> floats(feature.count() + 1);
  std::vector<std::int64_t> ints(feature.count() + 1);
  const auto found = values.size() + feature.CopyFloats(floats) + feature.CopyInts(ints);
  FuzzRequire(found == feature.count(), "as many values as were counted");
}

}  // namespace

void FuzzRecordIndex(Input input) {
  TryRecordIndex(AsText(input));
  TryRecordIndex(WithCrc(input));
}

void FuzzExample(Input input) {
  Try([input] {
    const auto example = staging::ParseExample(input);
    for (const auto& feature : example.features()) {
      CheckFeature(feature, input);
      const auto found = staging::FindFeature(input, feature.name());
      FuzzRequire(found && found->count() == example.Find(feature.name())->count(), "both ways find the same feature");
    }
  });
}

void FuzzHeaders(Input input) {
  Try([input] {
    const auto header = ParseNumpyHeader(input, "input");
    FuzzRequire(header.values_at + header.value_bytes == input.size(), "the values fill the file");
  });
  Try([input] {
    const auto size = staging::ReadImageSize(input, "input");
    FuzzRequire(size.height > 0 && size.width > 0, "an image has a size");
  });
  Try([input] {
    staging::SuperblockSearch search;
    search.Update(input);
    staging::Hdf5EndOfFile(search, "input");
  });
}

}  // namespace slipway::fuzz
