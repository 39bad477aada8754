/// `slipway data make`: training data that is real in kind, from seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/words.h"
#include "staging/convert/convert.h"

namespace slipway::staging {

enum class MadeData {
  kHepcnn,        ///< calorimeter images of collisions, signal or not: see collisions.h, calorimeter.h
  kCosmoflow,     ///< cubes of the density of matter and what they were made from: density_field.h
  kImagenetLike,  ///< JPEG pictures of labelled figures in records like those of ImageNet: labelled_picture.h
};
WordTable<MadeData> WordsOf(MadeData);

struct MakeOptions {
  MadeData kind = MadeData::kHepcnn;
  std::filesystem::path directory;
  DataFormat format = DataFormat::kTfrecord;
  std::uint64_t train_records = 0;
  std::uint64_t test_records = 0;
  std::size_t size = 0;       ///< of a side: pixels or cells
  std::uint64_t classes = 0;  ///< kImagenetLike: 2 to kFigureClasses
  double box = 0;             ///< kCosmoflow: side of the cube, Mpc/h
  int shards = 1;             ///< of the training records, and as many of the test records if there are so many
  std::uint64_t seed = 1;
  std::size_t threads = 1;        ///< one works on one file
  ConvertProgress progress = {};  ///< called by any thread, one at a time
};

/// Writes DIRECTORY/train-* and DIRECTORY/test-*, all complete or none. Record i of a set depends only on `seed`, the
/// set, i and the kind of data: other numbers of records or files give the same records.
/// Errors: Error(kUsage): sizes out of range, an existing set with another number of files, a format that the kind
///         cannot have. Error(kEnvironment): the directory.
ConvertResult MakeData(const MakeOptions& options);

}  // namespace slipway::staging
