// A training program that only reads: writes the ids that it saw to ids-<rank>.txt, and says when it began.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "staging/reader/batches.h"

using namespace slipway::staging;

namespace {

/// `options` beyond the usual ones, as JSON.
int Read(const char* options) {
  const auto place = FindDataset("train");
  std::ofstream ids("ids-" + std::to_string(place.defaults.rank) + ".txt");
  auto reader = BatchReader::Open(place.path, ParseBatchOptions(options, place.defaults));
  const auto* batch = reader.Next();
  std::ofstream("began") << (std::filesystem::exists(place.path / "manifest.json") ? "whole" : "early") << '\n';
  const char* pause = std::getenv("PAUSE_MS");
  for (int ended = 0; ended < 2; batch = reader.Next()) {
    if (batch == nullptr) {
      ++ended;
      continue;
    }
    const auto* numbers = reinterpret_cast<const std::int64_t*>(batch->fields[0].values.data());
    for (std::uint64_t i = 0; i < batch->valid_count; ++i) ids << numbers[i] << '\n';
    if (pause != nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(pause)));
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return Read(count > 1 ? arguments[1] : "{}");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
