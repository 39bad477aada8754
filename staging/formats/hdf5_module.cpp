// libslipway_hdf5.so: the only place that knows libhdf5.
#include "staging/formats/hdf5_module.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "staging/formats/hdf5_library.h"

namespace slipway::staging {

namespace {

/// The descriptions on HDF5's error stack, the root cause last.
herr_t KeepDescription(unsigned, const H5E_error2_t* entry, void* reason) {
  if (entry->desc != nullptr && *entry->desc != '\0') *static_cast<std::string*>(reason) = entry->desc;
  return 0;
}

}  // namespace

void ThrowHdf5(const std::filesystem::path& path, std::string_view what) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, KeepDescription, &reason);
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}': {}: {}", path.string(), what, reason.empty() ? "HDF5 gives no reason" : reason));
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

std::vector<std::uint64_t> ShapeOf(hid_t dataset) {
  const SpaceId space(H5Dget_space(dataset));
  if (!space || H5Sget_simple_extent_type(space.get()) != H5S_SIMPLE) return {};
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space.get()))));
  if (extents.empty() || H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) < 0) return {};
  return {extents.begin(), extents.end()};
}

bool LiesInItsFile(hid_t dataset) {
  const PropertyId properties(H5Dget_create_plist(dataset));
  return properties && H5Pget_layout(properties.get()) != H5D_VIRTUAL && H5Pget_external_count(properties.get()) == 0;
}

SpaceId SpaceFor(const std::vector<std::uint64_t>& shape) {
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return SpaceId(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
}

namespace {

std::optional<NumberType> IntegerType(std::size_t size, bool is_signed) {
  switch (size) {
    case 1: return is_signed ? NumberType::kInt8 : NumberType::kUint8;
    case 2: return is_signed ? NumberType::kInt16 : NumberType::kUint16;
    case 4: return is_signed ? NumberType::kInt32 : NumberType::kUint32;
    case 8: return is_signed ? NumberType::kInt64 : NumberType::kUint64;
    default: return {};
  }
}

/// Half precision is read as float32.
std::optional<NumberType> FloatType(std::size_t size) {
  if (size == 2 || size == 4) return NumberType::kFloat32;
  if (size == 8) return NumberType::kFloat64;
  return {};
}

std::optional<NumberType> TypeOf(hid_t dataset) {
  const TypeId type(H5Dget_type(dataset));
  if (!type) return {};
  const auto size = H5Tget_size(type.get());
  switch (H5Tget_class(type.get())) {
    case H5T_INTEGER: return IntegerType(size, H5Tget_sign(type.get()) == H5T_SGN_2);
    case H5T_FLOAT: return FloatType(size);
    default: return {};
  }
}

std::optional<Hdf5Dataset> Describe(hid_t file, const char* name) {
  const DatasetId dataset(H5Dopen2(file, name, H5P_DEFAULT));
  if (!dataset || !LiesInItsFile(dataset.get())) return {};
  const auto type = TypeOf(dataset.get());
  auto shape = ShapeOf(dataset.get());
  if (!type || shape.empty()) return {};
  return Hdf5Dataset{name, *type, std::move(shape)};
}

herr_t CollectDataset(hid_t file, const char* name, const H5O_info_t* info, void* datasets) noexcept {
  if (info->type != H5O_TYPE_DATASET) return 0;
  if (auto found = Describe(file, name)) {
    static_cast<std::vector<Hdf5Dataset>*>(datasets)->push_back(std::move(*found));
  }
  return 0;
}

herr_t CollectName(hid_t, const char* name, const H5O_info_t* info, void* names) noexcept {
  if (info->type == H5O_TYPE_DATASET) static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

class LibraryFile : public Hdf5File {
 public:
  LibraryFile(FileId file, std::filesystem::path path) : file_(std::move(file)), path_(std::move(path)) {
    if (H5Ovisit2(file_.get(), H5_INDEX_NAME, H5_ITER_NATIVE, CollectDataset, &datasets_, H5O_INFO_BASIC) < 0) {
      ThrowHdf5(path_, "cannot list its datasets");
    }
    std::ranges::sort(datasets_, {}, &Hdf5Dataset::name);
  }

  ~LibraryFile() override {
    const Hdf5Session session;
    file_.Reset();
  }

  const std::vector<Hdf5Dataset>& Datasets() const override { return datasets_; }

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
    const auto selection = SelectRows(dataset.id.get(), rows, begin);
    if (H5Dread(dataset.id.get(), MemoryType(as), memory.get(), selection.get(), H5P_DEFAULT, out.data()) < 0) {
      ThrowHdf5(path_, fmt::format("cannot read rows {} to {} of the dataset '{}'", begin, end, name));
    }
  }

  Hdf5Layout Layout(std::string_view name) override {
    const auto& info = Find(name);
    const Hdf5Session session;
    const auto dataset = Open(info.name);
    auto layout = LayoutOf(dataset);
    const TypeId stored(H5Dget_type(dataset.id.get()));
    layout.as_in_memory = H5Tequal(stored.get(), MemoryType(info.type)) > 0;
    return layout;
  }

  unsigned ReadChunk(std::string_view name, std::span<const std::uint64_t> origin,
                     std::vector<std::byte>& out) override {
    const auto& info = Find(name);
    const Hdf5Session session;
    return ReadStoredChunk(Open(info.name), origin, out);
  }

  void Verify() override {
    for (const auto& name : NamesOfAllDatasets()) {
      const Hdf5Session session;
      const auto dataset = Open(name);
      if (LiesInItsFile(dataset.id.get())) VerifyDataset(dataset);
    }
  }

  void CreateDataset(const Hdf5Dataset& info) override {
    const Hdf5Session session;
    const auto space = SpaceFor(info.shape);
    const DatasetId dataset(H5Dcreate2(file_.get(), info.name.c_str(), MemoryType(info.type), space.get(), H5P_DEFAULT,
                                       H5P_DEFAULT, H5P_DEFAULT));
    if (!dataset) ThrowHdf5(path_, fmt::format("cannot create the dataset '{}'", info.name));
    datasets_.push_back(info);
    std::ranges::sort(datasets_, {}, &Hdf5Dataset::name);
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
    const auto selection = SelectRows(dataset.id.get(), rows, begin);
    if (H5Dwrite(dataset.id.get(), MemoryType(info.type), memory.get(), selection.get(), H5P_DEFAULT, values.data()) <
        0) {
      ThrowHdf5(path_, fmt::format("cannot write rows {} to {} of the dataset '{}'", begin, begin + rows[0], name));
    }
  }

  void WriteDataset(const Hdf5Dataset& info, std::span<const std::byte> values) override {
    CreateDataset(info);
    WriteRows(info.name, 0, values);
  }

  void Close() override {
    {
      const Hdf5Session session;
      // What is left unwritten is written here, so here a full disk shows.
      if (H5Fflush(file_.get(), H5F_SCOPE_LOCAL) < 0 || H5Fclose(file_.Take()) < 0) {
        ThrowHdf5(path_, "cannot write it to its end");
      }
    }
    const auto fd = OpenFile(path_, O_RDONLY);
    CheckErrno(::fsync(fd.get()), fmt::format("cannot sync '{}'", path_.string()));
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
    if (H5Ovisit2(file_.get(), H5_INDEX_NAME, H5_ITER_NATIVE, CollectName, &names, H5O_INFO_BASIC) < 0) {
      ThrowHdf5(path_, "cannot list its datasets");
    }
    return names;
  }

  const Hdf5Dataset& Find(std::string_view name) const {
    const auto found = std::ranges::find(datasets_, name, &Hdf5Dataset::name);
    if (found != datasets_.end()) return *found;
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no dataset '{}'", path_.string(), name));
  }

  static void CheckRows(const Hdf5Dataset& info, std::uint64_t begin, std::uint64_t end, NumberType as,
                        std::size_t size) {
    std::uint64_t needed = 0;
    const bool overflow = __builtin_mul_overflow(ValuesPerRow(info), SizeOf(as), &needed) ||
                          __builtin_mul_overflow(needed, end - begin, &needed);
    if (begin > end || end > info.shape[0] || overflow || needed != size) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("rows {} to {} of the dataset '{}' do not fit {} bytes", begin, end, info.name, size));
    }
  }

  SpaceId SelectRows(hid_t dataset, const std::vector<std::uint64_t>& rows, std::uint64_t begin) const {
    SpaceId space(H5Dget_space(dataset));
    std::vector<hsize_t> start(rows.size(), 0);
    start[0] = begin;
    const std::vector<hsize_t> count(rows.begin(), rows.end());
    if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0) {
      ThrowHdf5(path_, fmt::format("cannot select rows from {}", begin));
    }
    return space;
  }

  FileId file_;
  std::filesystem::path path_;
  std::vector<Hdf5Dataset> datasets_;
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
