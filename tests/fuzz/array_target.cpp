#include <algorithm>

#include "ensemble/analysis/predictions.h"
#include "staging/formats/idx.h"
#include "staging/formats/npy.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace slipway::fuzz {
namespace {

/// False also when the product does not fit.
bool IsProduct(std::uint64_t size, std::uint64_t unit, const std::vector<std::uint64_t>& shape) {
  for (const auto extent : shape) {
    if (__builtin_mul_overflow(unit, extent, &unit)) return false;
  }
  return unit == size;
}

}  // namespace

void FuzzArrays(Input input) {
  const MemoryFile file(input);
  Try([&] {
    const staging::NpyFile numpy(file.path());
    for (const auto& array : numpy.arrays()) {
      FuzzRequire(IsProduct(array.values.size(), staging::SizeOf(array.type), array.shape),
                  "values fill a NumPy shape");
    }
  });
  Try([&] {
    const auto predictions = ensemble::ReadPredictions(file.path());
    FuzzRequire(predictions.values.size() == predictions.records * predictions.outputs, "predictions fill their shape");
    FuzzRequire(predictions.values.size() * sizeof(float) < input.size(), "no more predictions than the file holds");
  });
  Try([&] {
    const auto targets = ensemble::ReadTargets(file.path());
    FuzzRequire(targets.labels.size() + targets.values.size() == targets.records * targets.outputs, "targets as well");
  });
  Try([&] {
    const auto idx = staging::ReadIdx(file.path());
    FuzzRequire(IsProduct(idx.values.size(), 1, idx.shape), "values fill an idx shape");
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(idx.record_count(), 3); ++i) {
      FuzzRequire(idx.Record(i).size() == idx.values.size() / idx.record_count(), "a record is its share");
    }
  });
}

}  // namespace slipway::fuzz
