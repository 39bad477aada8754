// libslipway_hdf5.so: the only place that knows libhdf5.
#include "staging/formats/hdf5_module.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>

#include "core/error.h"
#include "core/files.h"
#include "core/memory_left.h"
#include "staging/formats/hdf5_library.h"

namespace slipway::staging {

namespace {

struct Cause {
  const hid_t memory_errors = H5E_RESOURCE;  ///< looked up by a call of HDF5, so before the stack is walked
  std::string description = "HDF5 gives no reason";
  bool is_memory = false;  ///< HDF5 could not allocate what it needed
};

/// The entries of HDF5's error stack come one after the other, the root cause last.
herr_t KeepCause(unsigned, const H5E_error2_t* entry, void* cause) noexcept try {
  if (entry->desc == nullptr || *entry->desc == '\0') return 0;
  auto& kept = *static_cast<Cause*>(cause);
  kept.description = entry->desc;
  kept.is_memory = entry->maj_num == kept.memory_errors;
  return 0;
} catch (const std::bad_alloc&) {
  return -1;
}

Cause RootCause() {
  Cause cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, KeepCause, &cause);
  return cause;
}

[[noreturn]] void Throw(const Cause& cause, std::string_view what) {
  const auto message = fmt::format("{}: {}", what, cause.description);
  if (cause.is_memory) throw MemoryError(ErrorKind::kEnvironment, message, "give the job more memory");
  throw Error(ErrorKind::kEnvironment, message, "check the file with h5dump -H, or copy it again from its source");
}

}  // namespace

void ThrowHdf5(const std::filesystem::path& path, std::string_view what) {
  Throw(RootCause(), fmt::format("'{}': {}", path.string(), what));
}

void ThrowUnreadable(const OpenDataset& dataset, std::string_view what) {
  const auto cause = RootCause();  // every call of HDF5 clears it
  if (const auto unread = NeedsMissingFilter(dataset)) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}': the dataset '{}' {}", dataset.file.string(), unread->name, unread->why),
                unread->next_step);
  }
  Throw(cause, fmt::format("'{}': {} of the dataset '{}'", dataset.file.string(), what, dataset.name));
}

hid_t MemoryType(NumberType type) {
  switch (type) {
    case NumberType::kInt8: return H5T_NATIVE_INT8;
    case NumberType::kUint8: return H5T_NATIVE_UINT8;
    case NumberType::kInt16: return H5T_NATIVE_INT16;
    case NumberType::kUint16: return H5T_NATIVE_UINT16;
    case NumberType::kInt32: return H5T_NATIVE_INT32;
    case NumberType::kUint32: return H5T_NATIVE_UINT32;
    case NumberType::kInt64: return H5T_NATIVE_INT64;
    case NumberType::kUint64: return H5T_NATIVE_UINT64;
    case NumberType::kFloat32: return H5T_NATIVE_FLOAT;
    case NumberType::kFloat64: return H5T_NATIVE_DOUBLE;
  }
  return H5T_NATIVE_UINT8;
}

SpaceId SpaceFor(const std::vector<std::uint64_t>& shape) {
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return SpaceId(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
}

SpaceId SelectRows(const OpenDataset& dataset, const std::vector<std::uint64_t>& rows, std::uint64_t begin) {
  SpaceId space(H5Dget_space(dataset.id.get()));
  std::vector<hsize_t> start(rows.size(), 0);
  start[0] = begin;
  const std::vector<hsize_t> count(rows.begin(), rows.end());
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0) {
    ThrowHdf5(dataset.file, fmt::format("cannot select rows from {}", begin));
  }
  return space;
}

namespace {

class LibraryFile : public Hdf5File {
 public:
  LibraryFile(FileId file, std::filesystem::path path)
      : file_(std::move(file)), path_(std::move(path)), contents_(ContentsOf(file_.get(), path_)) {}

  ~LibraryFile() override {
    const Hdf5Session session;
    file_.Reset();
  }

  const std::vector<Hdf5Dataset>& Datasets() const override { return contents_.numbers; }
  const std::vector<Hdf5Other>& Others() const override { return contents_.others; }

  void ReadRows(std::string_view name, std::uint64_t begin, std::uint64_t end, NumberType as,
                std::span<std::byte> out) override {
    const auto& info = Find(name);
    CheckRows(info, begin, end, as, out.size());
    if (out.empty()) return;
    const Hdf5Session session;
    const auto dataset = Open(info.name);
    auto rows = info.shape;
    rows[0] = end - begin;
    const auto memory = SpaceFor(rows);
    const auto selection = SelectRows(dataset, rows, begin);
    if (H5Dread(dataset.id.get(), MemoryType(as), memory.get(), selection.get(), H5P_DEFAULT, out.data()) < 0) {
      ThrowUnreadable(dataset, fmt::format("cannot read rows {} to {}", begin, end));
    }
  }

  std::vector<std::string> ReadBytes(std::string_view name, std::uint64_t begin, std::uint64_t end) override {
    const auto found = std::ranges::find(contents_.others, name, &Hdf5Other::name);
    if (found == contents_.others.end() || !found->is_bytes || begin > end || end > found->shape[0]) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("'{}' has no rows {} to {} of bytes in '{}'", path_.string(), begin, end, name),
                  "ask for rows that the file has");
    }
    if (begin == end) return {};
    const Hdf5Session session;
    return ReadRowsOfBytes(Open(found->name), begin, end);
  }

  Hdf5Layout Layout(std::string_view name) override {
    const auto& info = Find(name);
    const Hdf5Session session;
    const auto dataset = Open(info.name);
    auto layout = LayoutOf(dataset);
    const TypeId stored(H5Dget_type(dataset.id.get()));
    layout.as_in_memory = H5Tequal(stored.get(), MemoryType(info.type)) > 0 || IsBool(stored.get());
    return layout;
  }

  unsigned ReadChunk(std::string_view name, std::span<const std::uint64_t> origin,
                     std::vector<std::byte>& out) override {
    const auto& info = Find(name);
    const Hdf5Session session;
    return ReadStoredChunk(Open(info.name), origin, out);
  }

  Hdf5Verification Verify(const std::function<void()>& on_step) override {
    Hdf5Verification result;
    for (const auto& name : NamesOfAllDatasets()) {
      on_step();
      const Hdf5Session session;
      const auto dataset = Open(name);
      if (LiesInItsFile(dataset.id.get())) {
        VerifyDataset(dataset, on_step, result);
      } else {
        result.unread.push_back({name, "has its values in other files", {}});
      }
    }
    return result;
  }

  void CreateDataset(const Hdf5Dataset& info) override {
    const Hdf5Session session;
    const auto space = SpaceFor(info.shape);
    const PropertyId link(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(link.get(), 1);  // "group/label"
    const DatasetId dataset(H5Dcreate2(file_.get(), info.name.c_str(), MemoryType(info.type), space.get(), link.get(),
                                       H5P_DEFAULT, H5P_DEFAULT));
    if (!dataset) ThrowHdf5(path_, fmt::format("cannot create the dataset '{}'", info.name));
    contents_.numbers.push_back(info);
    std::ranges::sort(contents_.numbers, {}, &Hdf5Dataset::name);
  }

  void WriteRows(std::string_view name, std::uint64_t begin, std::span<const std::byte> values) override {
    const auto& info = Find(name);
    if (values.empty()) return;
    auto rows = info.shape;
    rows[0] = values.size() / (ValuesPerRow(info) * SizeOf(info.type));
    CheckRows(info, begin, begin + rows[0], info.type, values.size());
    const Hdf5Session session;
    const auto dataset = Open(info.name);
    const auto memory = SpaceFor(rows);
    const auto selection = SelectRows(dataset, rows, begin);
    if (H5Dwrite(dataset.id.get(), MemoryType(info.type), memory.get(), selection.get(), H5P_DEFAULT, values.data()) <
        0) {
      ThrowHdf5(path_, fmt::format("cannot write rows {} to {} of the dataset '{}'", begin, begin + rows[0], name));
    }
  }

  void Close() override {
    {
      const Hdf5Session session;
      // What is left unwritten is written here, so here a full disk shows.
      if (H5Fflush(file_.get(), H5F_SCOPE_LOCAL) < 0 || H5Fclose(file_.Take()) < 0) {
        ThrowHdf5(path_, "cannot write it to its end");
      }
    }
    SyncFile(path_);
  }

 private:
  /// `name` lives as long as the result.
  OpenDataset Open(const std::string& name) const {
    OpenDataset dataset{DatasetId(H5Dopen2(file_.get(), name.c_str(), H5P_DEFAULT)), name, path_};
    if (!dataset.id) ThrowHdf5(path_, fmt::format("cannot open the dataset '{}'", name));
    return dataset;
  }

  std::vector<std::string> NamesOfAllDatasets() const {
    const Hdf5Session session;
    std::vector<std::string> names;
    ForEachDataset(file_.get(), path_, [&names](const char* name) { names.emplace_back(name); });
    return names;
  }

  const Hdf5Dataset& Find(std::string_view name) const {
    const auto found = std::ranges::find(contents_.numbers, name, &Hdf5Dataset::name);
    if (found != contents_.numbers.end()) return *found;
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no dataset '{}'", path_.string(), name),
                "name one of the datasets that slipway data info lists");
  }

  static void CheckRows(const Hdf5Dataset& info, std::uint64_t begin, std::uint64_t end, NumberType as,
                        std::size_t size) {
    std::uint64_t needed = 0;
    const bool overflow = __builtin_mul_overflow(ValuesPerRow(info), SizeOf(as), &needed) ||
                          __builtin_mul_overflow(needed, end - begin, &needed);
    if (begin > end || end > info.shape[0] || overflow || needed != size) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("rows {} to {} of the dataset '{}' do not fit {} bytes", begin, end, info.name, size),
                  "give memory for all rows, and rows that the dataset has");
    }
  }

  FileId file_;
  std::filesystem::path path_;
  Hdf5Contents contents_;
};

std::unique_ptr<LibraryFile> OpenFileForReading(const char* path) {
  const Hdf5Session session;
  const PropertyId access(H5Pcreate(H5P_FILE_ACCESS));
  // Files that are read here do not change, and network file systems often refuse HDF5's locks.
  H5Pset_file_locking(access.get(), false, true);
  FileId file(H5Fopen(path, H5F_ACC_RDONLY, access.get()));
  if (!file) ThrowHdf5(path, "cannot open it as HDF5");
  return std::make_unique<LibraryFile>(std::move(file), path);
}

std::unique_ptr<LibraryFile> CreateNewFile(const char* path) {
  const Hdf5Session session;
  const PropertyId access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC);  // with our mode: HDF5 lets everyone read
  FileId file(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  if (!file) ThrowHdf5(path, "cannot create it");
  return std::make_unique<LibraryFile>(std::move(file), path);
}

}  // namespace

}  // namespace slipway::staging

extern "C" __attribute__((visibility("default"))) slipway::staging::Hdf5File* slipway_hdf5_open(const char* path) {
  return slipway::staging::OpenFileForReading(path).release();
}

extern "C" __attribute__((visibility("default"))) slipway::staging::Hdf5File* slipway_hdf5_create(const char* path) {
  return slipway::staging::CreateNewFile(path).release();
}
