/// Cuts NumPy files into others: the rows of their arrays, in order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "staging/convert/files_in_turn.h"
#include "staging/formats/numpy_table.h"

namespace slipway::staging {

/// Types and values stay; the byte order becomes that of the machine. One file of the source is open at a time.
class NumpyShards {
 public:
  /// Called between pieces with the number of records that are written; may throw to stop.
  using OnRecords = std::function<void(std::uint64_t done)>;

  /// Errors: those of NpyColumns; Error(kEnvironment) for no records, or files with other arrays than the first.
  explicit NumpyShards(const std::vector<std::filesystem::path>& files);

  std::uint64_t record_count() const { return files_.record_count(); }
  /// ".npy" when all files are single arrays, else ".npz".
  std::string_view suffix() const { return is_single_ ? ".npy" : ".npz"; }

  /// Records [begin, end) as one new file, complete and on the disk. Members of .npz are stored, not deflated.
  void Write(const std::filesystem::path& path, std::uint64_t begin, std::uint64_t end, const OnRecords& on_records);

 private:
  using Sink = std::function<void(std::string_view bytes)>;

  NpyColumns Open(const std::filesystem::path& path);
  void LearnArrays(const NpyColumns& columns, const std::filesystem::path& path);
  void WriteArray(std::size_t field, std::uint64_t begin, std::uint64_t end, const OnRecords& on_records,
                  const Sink& sink);

  bool is_single_;
  std::vector<TableField> fields_;
  std::vector<char> kinds_;        ///< of NumpyHeader
  FilesInTurn<NpyColumns> files_;  ///< last: it opens files
};

}  // namespace slipway::staging
