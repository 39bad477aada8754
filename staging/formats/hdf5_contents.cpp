// Which datasets a file has, and what their types are to us.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "core/error.h"
#include "staging/formats/hdf5_library.h"

namespace slipway::staging {

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

bool IsBool(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  signed char no = -1, yes = -1;
  return H5Tenum_valueof(type, "FALSE", &no) >= 0 && no == 0 && H5Tenum_valueof(type, "TRUE", &yes) >= 0 && yes == 1;
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

std::optional<NumberType> NumberTypeOf(hid_t type) {
  const auto size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return IntegerType(size, H5Tget_sign(type) == H5T_SGN_2);
    case H5T_FLOAT: return FloatType(size);
    case H5T_ENUM: return IsBool(type) ? std::optional(NumberType::kUint8) : std::nullopt;
    default: return {};
  }
}

/// What a message says of a dataset with this type.
std::string Unread(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return fmt::format("has integers of {} bytes", H5Tget_size(type));
    case H5T_FLOAT: return fmt::format("has floating point numbers of {} bytes", H5Tget_size(type));
    case H5T_COMPOUND: return "has a compound type";
    case H5T_ENUM: return "has an enumerated type";
    case H5T_BITFIELD: return "holds bit fields";
    case H5T_OPAQUE: return "has an opaque type";
    case H5T_REFERENCE: return "holds references";
    case H5T_VLEN: return "holds sequences of any length";
    case H5T_ARRAY: return "holds arrays as its values";
    case H5T_STRING: return "has several strings in each row";
    default: return "has an unknown type";
  }
}

bool IsSequenceOfBytes(hid_t type) {
  if (H5Tget_class(type) != H5T_VLEN) return false;
  const TypeId element(H5Tget_super(type));
  return H5Tget_class(element.get()) == H5T_INTEGER && H5Tget_size(element.get()) == 1;
}

/// `type` is none of a number.
Hdf5Other DescribeOther(const char* name, hid_t type, std::vector<std::uint64_t> shape) {
  const bool sequence = IsSequenceOfBytes(type);
  const bool string = H5Tget_class(type) == H5T_STRING;
  const bool is_bytes = (sequence || string) && shape.size() == 1;
  const bool fixed = string && H5Tis_variable_str(type) == 0;
  return {name, Unread(type), std::move(shape), is_bytes, fixed ? H5Tget_size(type) : 0};
}

void Describe(hid_t file, const char* name, Hdf5Contents& contents) {
  const DatasetId dataset(H5Dopen2(file, name, H5P_DEFAULT));
  const TypeId type(dataset ? H5Dget_type(dataset.get()) : H5I_INVALID_HID);
  auto& others = contents.others;
  if (!type) {
    others.push_back({name, "cannot be opened"});
  } else if (!LiesInItsFile(dataset.get())) {
    others.push_back({name, "has its values in other files"});
  } else if (auto shape = ShapeOf(dataset.get()); shape.empty()) {
    others.push_back({name, "is one value, not one for each record"});
  } else if (const auto number = NumberTypeOf(type.get())) {
    contents.numbers.push_back({name, *number, std::move(shape)});
  } else {
    others.push_back(DescribeOther(name, type.get(), std::move(shape)));
  }
}

/// Exceptions must not cross the C library.
struct Visit {
  const std::function<void(const char*)>& use;
  std::exception_ptr thrown = {};

  herr_t Use(const char* name) noexcept try {
    use(name);
    return 0;
  } catch (...) {
    thrown = std::current_exception();
    return -1;
  }
};

herr_t UseDataset(hid_t, const char* name, const H5O_info_t* info, void* visit) noexcept {
  return info->type == H5O_TYPE_DATASET ? static_cast<Visit*>(visit)->Use(name) : 0;
}

herr_t UseExternal(hid_t, const char* name, const H5L_info_t* info, void* visit) noexcept {
  return info->type == H5L_TYPE_EXTERNAL ? static_cast<Visit*>(visit)->Use(name) : 0;
}

void Finish(const Visit& visit, herr_t result, const std::filesystem::path& path) {
  if (visit.thrown) std::rethrow_exception(visit.thrown);
  if (result < 0) ThrowHdf5(path, "cannot list its datasets");
}

}  // namespace

void ForEachDataset(hid_t file, const std::filesystem::path& path, const std::function<void(const char* name)>& use) {
  Visit visit{use};
  Finish(visit, H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, UseDataset, &visit, H5O_INFO_BASIC), path);
}

Hdf5Contents ContentsOf(hid_t file, const std::filesystem::path& path) {
  Hdf5Contents contents;
  ForEachDataset(file, path, [&](const char* name) { Describe(file, name, contents); });
  const std::function<void(const char*)> add_link = [&](const char* name) {
    contents.others.push_back({name, "is a link into another file"});
  };
  Visit visit{add_link};
  Finish(visit, H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, UseExternal, &visit), path);
  std::ranges::sort(contents.numbers, {}, &Hdf5Dataset::name);
  std::ranges::sort(contents.others, {}, &Hdf5Other::name);
  return contents;
}

}  // namespace slipway::staging
