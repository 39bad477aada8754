/// What the values of a dataset are like: one pass over all of its files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "staging/dataset/dataset_files.h"

namespace slipway::staging {

/// Running count, smallest, largest, mean and standard deviation (of the population). NaN and infinite values take no
/// part; they are counted apart. Source: Welford 1962, joined as in Chan et al. 1979.
class Moments {
 public:
  Moments() = default;
  /// Of the numbers 0, 1, 2 ...: counts[i] times the number i.
  static Moments Of(std::span<const std::uint64_t> counts);

  void Add(double value);
  void Add(const Moments& other);

  std::uint64_t count() const { return count_; }
  std::uint64_t not_finite() const { return nan_ + infinite_; }
  std::uint64_t nan() const { return nan_; }
  std::uint64_t infinite() const { return infinite_; }
  double min() const { return min_; }
  double max() const { return max_; }
  double mean() const { return mean_; }
  double deviation() const;

 private:
  std::uint64_t count_ = 0;
  std::uint64_t nan_ = 0;
  std::uint64_t infinite_ = 0;
  double min_ = 0;
  double max_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

/// Above this many different values an integer field is no class.
inline constexpr std::size_t kMostClasses = 1000;

/// The smallest and the largest of integers of up to 64 bits, signed or not, exactly.
struct IntegerRange {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  long double min = 0;
  long double max = 0;
};

struct FieldStatistics {
  std::string name;
  std::string kind;                           ///< "bytes", "float", "int64"; of HDF5 "uint8", "float32", ...
  std::uint64_t records = 0;                  ///< that have the field
  Moments values;                             ///< of the numbers; of bytes: of the single bytes, 0 to 255
  Moments lengths;                            ///< of bytes: the length of each value
  std::optional<IntegerRange> integers = {};  ///< of integer fields with values
  /// How often each value stands in a field with one integer a record; nothing above kMostClasses.
  std::optional<std::map<std::int64_t, std::uint64_t>> classes;
};

struct DatasetStatistics {
  std::optional<std::uint64_t> records;       ///< nothing where the datasets of a file have different numbers of rows
  std::vector<std::filesystem::path> uneven;  ///< these files
  std::vector<FieldStatistics> fields;        ///< sorted by name
};

/// Checks the CRCs of every record on the way. `progress` is called with the records done so far.
/// Errors: Error(kEnvironment): a damaged file, a record that is no Example.
DatasetStatistics StatisticsOf(const DatasetFiles& dataset, const std::function<void(std::uint64_t)>& progress);

}  // namespace slipway::staging
