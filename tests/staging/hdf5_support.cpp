#include "tests/staging/hdf5_support.h"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace slipway::staging {
namespace {

std::vector<hsize_t> Extents(const std::vector<std::uint64_t>& shape) { return {shape.begin(), shape.end()}; }

hid_t MakeFile(const std::filesystem::path& path, std::uint64_t user_block) {
  const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  if (user_block != 0) H5Pset_userblock(creation, user_block);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
  H5Pclose(creation);
  return file;
}

hid_t CreationFor(const ChunkedFile& options) {
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  const auto chunk = Extents(options.chunk);
  H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_INCR);
  if (options.shuffle) H5Pset_shuffle(creation);
  if (options.deflate) H5Pset_deflate(creation, 1);
  if (options.fletcher32) H5Pset_fletcher32(creation);
  return creation;
}

hid_t FixedString(std::size_t size) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, size);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  return type;
}

hid_t Enumeration(const char* zero, const char* one) {
  const hid_t type = H5Tenum_create(H5T_STD_I8LE);
  const signed char values[] = {0, 1};
  H5Tenum_insert(type, zero, &values[0]);
  H5Tenum_insert(type, one, &values[1]);
  return type;
}

/// Takes the type. `values` may be null.
void AddDataset(hid_t file, const char* name, hid_t type, const std::vector<hsize_t>& shape, const void* values) {
  const hid_t space =
      shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  EXPECT_GE(dataset, 0) << name;
  if (values != nullptr) {
    EXPECT_GE(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0) << name;
  }
  H5Dclose(dataset);
  H5Sclose(space);
  H5Tclose(type);
}

}  // namespace

void MakeTextHdf5(const std::filesystem::path& path) {
  const hid_t file = MakeFile(path, 0);
  const signed char alive[] = {1, 0, 1};
  AddDataset(file, "alive", Enumeration("FALSE", "TRUE"), {3}, alive);
  char one[] = {1, 0, 2}, z[] = {'z'};
  const hvl_t blobs[] = {{3, one}, {0, nullptr}, {1, z}};
  AddDataset(file, "blob", H5Tvlen_create(H5T_STD_U8LE), {3}, blobs);
  AddDataset(file, "code", FixedString(4), {3}, "ab\0\0\0\0\0\0wxyz");
  const char* names[] = {"one", "", "three"};
  AddDataset(file, "name", FixedString(H5T_VARIABLE), {3}, static_cast<const void*>(names));
  EXPECT_GE(H5Fclose(file), 0);
}

void AddUnread(const std::filesystem::path& path, Unread kind) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t point = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(point, "x", 0, H5T_NATIVE_FLOAT);
  H5Tinsert(point, "y", 4, H5T_NATIVE_FLOAT);
  switch (kind) {
    case Unread::kCompound: AddDataset(file, "extra", H5Tcopy(point), {3}, nullptr); break;
    case Unread::kEnumeration: AddDataset(file, "extra", Enumeration("cat", "dog"), {3}, nullptr); break;
    case Unread::kOneValue: AddDataset(file, "extra", H5Tcopy(H5T_NATIVE_INT), {}, nullptr); break;
    case Unread::kTable: AddDataset(file, "extra", FixedString(4), {3, 2}, nullptr); break;
    case Unread::kExternalLink:
      EXPECT_GE(H5Lcreate_external("other.h5", "/values", file, "extra", H5P_DEFAULT, H5P_DEFAULT), 0);
      break;
  }
  H5Tclose(point);
  EXPECT_GE(H5Fclose(file), 0);
}

void MakeChunkedHdf5(const std::filesystem::path& path, const ChunkedFile& options) {
  const auto shape = Extents(options.shape);
  const hid_t file = MakeFile(path, options.user_block);
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t creation = CreationFor(options);
  const hid_t dataset = H5Dcreate2(file, "values", H5T_STD_I16LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  auto count = shape;
  count[0] = std::min<hsize_t>(count[0], options.rows_written);
  std::vector<std::int16_t> values(std::accumulate(count.begin(), count.end(), std::size_t{1}, std::multiplies<>()));
  std::iota(values.begin(), values.end(), std::int16_t{0});
  const hid_t memory = H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr);
  const std::vector<hsize_t> start(shape.size(), 0);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  EXPECT_GE(H5Dwrite(dataset, H5T_NATIVE_INT16, memory, space, H5P_DEFAULT, values.data()), 0);
  H5Dclose(dataset);
  H5Sclose(memory);
  H5Pclose(creation);
  H5Sclose(space);
  EXPECT_GE(H5Fclose(file), 0);
}

void MakeForeignHdf5(const std::filesystem::path& path) {
  const hid_t file = MakeFile(path, 0);
  const hsize_t three = 3;
  const hid_t space = H5Screate_simple(1, &three, nullptr);
  const hid_t creation = CreationFor({.shape = {3}, .chunk = {3}});
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  const hid_t words = H5Dcreate2(file, "words", text, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  const char* values[] = {"one", "", "three"};
  EXPECT_GE(H5Dwrite(words, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, static_cast<const void*>(values)), 0);
  const hid_t numbers = H5Dcreate2(file, "values", H5T_IEEE_F32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const float halves[] = {0.5F, 1.5F, 2.5F};
  EXPECT_GE(H5Dwrite(numbers, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, halves), 0);
  for (const auto dataset : {words, numbers}) H5Dclose(dataset);
  H5Tclose(text);
  H5Pclose(creation);
  H5Sclose(space);
  EXPECT_GE(H5Fclose(file), 0);
}

}  // namespace slipway::staging
