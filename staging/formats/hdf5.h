/// HDF5 files, read through a module. It is loaded when the first file is opened, so no program links libhdf5.
///
/// Numbers are integers, floating point numbers and truth values of 8 to 64 bits with at least one dimension, stored in
/// the file itself. The first dimension counts rows. Other content is only named, or read as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.h"

namespace slipway::staging {

enum class NumberType { kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kInt64, kUint64, kFloat32, kFloat64 };

std::size_t SizeOf(NumberType type);
/// All other types are integers.
constexpr bool IsFloat(NumberType type) { return type == NumberType::kFloat32 || type == NumberType::kFloat64; }
WordTable<NumberType> WordsOf(NumberType);

struct Hdf5Dataset {
  std::string name;  ///< the path without the leading slash: "image", "group/label"
  NumberType type = NumberType::kUint8;
  std::vector<std::uint64_t> shape;  ///< never empty
};

/// A dataset without numbers.
struct Hdf5Other {
  std::string name;
  std::string what;                       ///< what a message says of it: "has a compound type"
  std::vector<std::uint64_t> shape = {};  ///< empty: it has no rows
  bool is_bytes = false;                  ///< a string, or bytes of any number, in each row: ReadBytes
  std::uint64_t bytes_per_row = 0;        ///< 0: differs from row to row
};

enum class Hdf5Storage {
  kContiguous,  ///< all values in one piece
  kChunked,
  kOther  ///< inside the metadata, or nothing is stored yet: read it by ReadRows
};
WordTable<Hdf5Storage> WordsOf(Hdf5Storage);

/// HDF5's numbers for its own filters.
enum Hdf5FilterId : int { kDeflateFilter = 1, kShuffleFilter = 2, kFletcher32Filter = 3, kSzipFilter = 4 };

struct Hdf5Filter {
  int id = 0;  ///< an Hdf5FilterId, or a number registered with the HDF Group
  std::string name;
  std::vector<unsigned> parameters;
};

/// Of datasets with more chunks the library would take minutes to tell all places: they are read by ReadChunk.
inline constexpr std::uint64_t kMostLocatedChunks = 4096;

struct Hdf5Chunk {
  std::vector<std::uint64_t> origin;  ///< of its first value
  /// In the file; nothing when the file has a user block, or the dataset more than kMostLocatedChunks.
  std::optional<std::uint64_t> offset;
  std::uint64_t bytes = 0;       ///< as stored, after the filters
  unsigned skipped_filters = 0;  ///< bit i: filter i was not applied to this chunk; known only where `offset` is
};

/// How the values of a dataset lie in its file: what a program needs that reads them without the library.
struct Hdf5Layout {
  Hdf5Storage storage = Hdf5Storage::kOther;
  bool as_in_memory = false;            ///< stored numbers have the size and byte order of Hdf5Dataset::type in memory
  std::optional<std::uint64_t> offset;  ///< kContiguous: of the first value in the file
  std::uint64_t bytes = 0;              ///< stored bytes of all values
  std::vector<std::uint64_t> chunk_shape;  ///< kChunked; as many dimensions as the dataset
  std::vector<Hdf5Filter> filters;         ///< in the order in which they were applied when writing
  std::vector<Hdf5Chunk> chunks;  ///< sorted by origin. A chunk that is missing was never written: all fill values (0)
};

/// A dataset whose values Verify could not check.
struct Hdf5Unread {
  std::string name;
  std::string why;        ///< "needs the filter lzf (32000), which is not installed"
  std::string next_step;  ///< "install ...", or empty
};

/// What Verify has looked at. Bytes are counted as they are stored.
struct Hdf5Verification {
  std::uint64_t summed_bytes = 0;    ///< compared with the file's own sums: Fletcher32, or the Adler-32 of deflate
  std::uint64_t unsummed_bytes = 0;  ///< without such sums: other values in their place would not be noticed
  std::vector<Hdf5Unread> unread;
};

/// The rows of all these datasets, where they have the same number of them.
std::optional<std::uint64_t> CommonRows(std::span<const Hdf5Dataset> datasets);

/// The product of shape[1:]. Errors: Error(kEnvironment) when it does not fit 64 bits.
std::uint64_t ValuesPerRow(const Hdf5Dataset& dataset);

/// An open file. Calls may come from several threads; they wait for each other.
/// Errors: Error(kEnvironment) naming the file, the dataset and HDF5's own reason.
class Hdf5File {
 public:
  virtual ~Hdf5File() = default;

  /// Those of numbers, sorted by name.
  virtual const std::vector<Hdf5Dataset>& Datasets() const = 0;
  /// All others, sorted by name.
  virtual const std::vector<Hdf5Other>& Others() const = 0;

  /// Reads rows [begin, end) into `out`, converted to `as` (the file's byte order and type do not matter).
  /// `out` has (end - begin) * ValuesPerRow * SizeOf(as) bytes.
  virtual void ReadRows(std::string_view dataset, std::uint64_t begin, std::uint64_t end, NumberType as,
                        std::span<std::byte> out) = 0;

  /// Rows [begin, end) of one of Others() that is_bytes; strings of a fixed length without their padding.
  virtual std::vector<std::string> ReadBytes(std::string_view dataset, std::uint64_t begin, std::uint64_t end) = 0;

  /// Where and how the values are stored. The places lie inside the file and do not depend on further calls.
  /// Cost:   one look-up for each chunk.
  /// Errors: also when a place lies outside the file.
  virtual Hdf5Layout Layout(std::string_view dataset) = 0;

  /// The stored bytes of the chunk that begins at `origin`, filters not undone; `out` becomes as large as they are.
  /// Returns Hdf5Chunk::skipped_filters. Errors: also when there is no such chunk.
  virtual unsigned ReadChunk(std::string_view dataset, std::span<const std::uint64_t> origin,
                             std::vector<std::byte>& out) = 0;

  /// Reads every stored chunk of every dataset, numbers or not, through the library. So it finds filters that cannot be
  /// undone and wrong checksums. Contiguous values have no checksums. For them it checks only that they lie inside the
  /// file, and that strings and sequences of any length can be followed to their bytes. `on_step` is called between
  /// reads and may throw.
  /// Errors: name the dataset and the chunk's first coordinates.
  virtual Hdf5Verification Verify(const std::function<void()>& on_step) = 0;

  /// Creates a contiguous dataset, to be filled by WriteRows.
  virtual void CreateDataset(const Hdf5Dataset& dataset) = 0;
  /// Writes rows from `begin` on; `values` has the dataset's type, the machine's byte order and whole rows.
  virtual void WriteRows(std::string_view dataset, std::uint64_t begin, std::span<const std::byte> values) = 0;

  /// Closes a file that was written and syncs it to the disk; the object cannot be used afterwards.
  virtual void Close() = 0;
};

/// Opens for reading in this process: the library crashes on some damaged files. What comes from elsewhere and was not
/// looked at yet is opened as a ForeignHdf5. Errors: Error(kEnvironment), also when the module is not installed.
std::unique_ptr<Hdf5File> OpenHdf5(const std::filesystem::path& path);
/// Creates or replaces; the newest file format (its metadata carries checksums).
std::unique_ptr<Hdf5File> CreateHdf5(const std::filesystem::path& path);

}  // namespace slipway::staging
