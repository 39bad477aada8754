/// Arrays of NumPy as columns of records: the first dimension counts them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "staging/formats/npy.h"
#include "staging/formats/table_file.h"

namespace slipway::staging {

/// The field of a .npy file in a dataset of several.
inline constexpr const char* kNpyField = "values";

class NpyColumns {
 public:
  /// Adds the arrays of a file; `name` is the field of a .npy file, else it has that of the file.
  /// Errors: those of NpyFile; Error(kEnvironment) for one number, arrays of different lengths, rows without values;
  ///         Error(kUsage) for two arrays of one name.
  void Add(const std::filesystem::path& file, const std::string& name = {});

  /// Errors: Error(kEnvironment) when there are no arrays, or no rows.
  void RequireRecords(const std::filesystem::path& file) const;

  std::uint64_t record_count() const { return arrays_.empty() ? 0 : arrays_[0].shape[0]; }
  const std::vector<TableField>& fields() const { return fields_; }
  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) const {
    return Rows(record, record + 1, field);
  }
  /// The values of records [begin, end), one behind the other.
  std::span<const std::byte> Rows(std::uint64_t begin, std::uint64_t end, std::size_t field) const;
  /// In the order of the fields.
  const std::vector<NpyArray>& arrays() const { return arrays_; }

 private:
  void AddArray(const NpyArray& array, const std::filesystem::path& file);

  std::vector<NpyFile> opened_;
  std::vector<NpyArray> arrays_;
  std::vector<TableField> fields_;
};

}  // namespace slipway::staging
