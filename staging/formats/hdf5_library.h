/// What the files of libslipway_hdf5.so share: handles, the lock, errors. Nothing else includes it.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
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

/// Those of Hdf5File::Layout; `as_in_memory` is left to the caller.
Hdf5Layout LayoutOf(const OpenDataset& dataset);
/// Those of Hdf5File::ReadChunk.
unsigned ReadStoredChunk(const OpenDataset& dataset, std::span<const std::uint64_t> origin,
                         std::vector<std::byte>& out);
/// Reads all stored values. Errors: those of Hdf5File::Verify.
void VerifyDataset(const OpenDataset& dataset);

}  // namespace slipway::staging
