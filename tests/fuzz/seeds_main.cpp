// Writes the seeds of a target into a directory: fuzz_seeds TARGET DIRECTORY
#include <iostream>

#include "core/files.h"
#include "tests/fuzz/targets.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: fuzz_seeds TARGET DIRECTORY\n";
    return 2;
  }
  const std::filesystem::path directory = argv[2];
  slipway::MakeDirectories(directory);
  int number = 0;
  for (const auto& seed : slipway::fuzz::SeedsFor(argv[1])) {
    slipway::WriteFile(directory / ("seed-" + std::to_string(number++)), seed);
  }
  return 0;
}
