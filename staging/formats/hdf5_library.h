/// What the files of libslipway_hdf5.so share: handles, the lock, errors. Nothing else includes it.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/unique_handle.h"
#include "staging/formats/hdf5.h"

namespace slipway::staging {

template <herr_t (*close)(hid_t)>
struct HidTraits {
  using Handle = hid_t;
  static hid_t Null() { return H5I_INVALID_HID; }
  static void Release(hid_t id) noexcept { close(id); }
};

using FileId = UniqueHandle<HidTraits<H5Fclose>>;
using DatasetId = UniqueHandle<HidTraits<H5Dclose>>;
using SpaceId = UniqueHandle<HidTraits<H5Sclose>>;
using TypeId = UniqueHandle<HidTraits<H5Tclose>>;
using PropertyId = UniqueHandle<HidTraits<H5Pclose>>;

/// HDF5 is used by one thread at a time; its error stack is silenced for the calling thread.
class Hdf5Session {
 public:
  Hdf5Session() : lock_(mutex_) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

 private:
  static inline std::mutex mutex_;
  std::lock_guard<std::mutex> lock_;
};

/// Throws what is the root cause on HDF5's error stack.
[[noreturn]] void ThrowHdf5(const std::filesystem::path& path, std::string_view what);
/// The same of values that could not be read: a filter that is not installed is the better reason.
struct OpenDataset;
[[noreturn]] void ThrowUnreadable(const OpenDataset& dataset, std::string_view what);

hid_t MemoryType(NumberType type);
/// Empty for what is not an array.
std::vector<std::uint64_t> ShapeOf(hid_t dataset);
/// A file may say that its values lie in other files; we read only what is in it.
bool LiesInItsFile(hid_t dataset);
SpaceId SpaceFor(const std::vector<std::uint64_t>& shape);

/// An open dataset and what messages call it.
struct OpenDataset {
  DatasetId id;
  std::string_view name;
  const std::filesystem::path& file;
};

// The caller holds an Hdf5Session.

/// What a file has, each list sorted by name.
struct Hdf5Contents {
  std::vector<Hdf5Dataset> numbers;
  std::vector<Hdf5Other> others;
};
Hdf5Contents ContentsOf(hid_t file, const std::filesystem::path& path);
/// Every dataset, whatever its type; `use` may throw.
void ForEachDataset(hid_t file, const std::filesystem::path& path, const std::function<void(const char* name)>& use);
/// True for the enumeration of FALSE and TRUE that stands for truth values (h5py, netCDF); they are read as uint8.
bool IsBool(hid_t type);

/// The rows from `begin` on; `rows` is the dataset's shape with their number in front.
SpaceId SelectRows(const OpenDataset& dataset, const std::vector<std::uint64_t>& rows, std::uint64_t begin);
/// Those of Hdf5File::ReadBytes; the rows are there.
std::vector<std::string> ReadRowsOfBytes(const OpenDataset& dataset, std::uint64_t begin, std::uint64_t end);
/// Those of Hdf5File::Layout; `as_in_memory` is left to the caller.
Hdf5Layout LayoutOf(const OpenDataset& dataset);
/// Those of Hdf5File::ReadChunk.
unsigned ReadStoredChunk(const OpenDataset& dataset, std::span<const std::uint64_t> origin,
                         std::vector<std::byte>& out);
std::vector<Hdf5Filter> FiltersOf(const OpenDataset& dataset);
/// The first filter that cannot be undone here.
std::optional<Hdf5Unread> NeedsMissingFilter(const OpenDataset& dataset);
/// Reads all stored values and adds to `result` what that means. Errors: those of Hdf5File::Verify.
void VerifyDataset(const OpenDataset& dataset, const std::function<void()>& on_step, Hdf5Verification& result);

}  // namespace slipway::staging
