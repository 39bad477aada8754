#include "staging/dataset/dataset_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/folder.h"
#include "staging/dataset/lease.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/manifest.h"
#include "staging/formats/detect.h"

namespace slipway::staging {
namespace fs = std::filesystem;

namespace {

[[noreturn]] void ThrowManifest(const fs::path& manifest, std::string_view what) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}': {}", manifest.string(), what), "stage the dataset again");
}

/// `name` comes from a file that others may have written. A file may itself be a link: data that is read in place is a
/// folder of links.
fs::path PathInside(const fs::path& directory, const std::string& name, const fs::path& manifest) {
  if (!StaysInside(name)) {
    ThrowManifest(manifest, fmt::format("the file '{}' does not lie in the dataset's directory", name));
  }
  return directory / name;
}

/// The index has the files in the order of the manifest.
void AddIndices(DatasetFiles& dataset, const ManifestIndex& listed, const fs::path& directory,
                const fs::path& manifest) {
  const auto path = PathInside(directory, listed.path, manifest);
  const auto text = ReadFile(path);
  if (text.size() != listed.bytes.count || Crc32c(text) != listed.crc32c) {
    ThrowManifest(path, fmt::format("the index of records has {} bytes and CRC32C {:08x}, its manifest promises {} and "
                                    "{:08x}",
                                    text.size(), Crc32c(text), listed.bytes.count, listed.crc32c));
  }
  auto indices = WithContext(fmt::format("in '{}'", path.string()), [&text] { return DecodeRecordIndices(text); });
  if (indices.size() != dataset.files.size()) {
    ThrowManifest(
        path, fmt::format("it is the index of {} files, the manifest lists {}", indices.size(), dataset.files.size()));
  }
  for (std::size_t i = 0; i < indices.size(); ++i) dataset.files[i].index = std::move(indices[i]);
}

DatasetFiles FilesOf(const Manifest& listed, const fs::path& directory, const fs::path& manifest) {
  DatasetFiles result{listed.format, {}};
  for (const auto& entry : listed.files) {
    auto path = PathInside(directory, entry.path, manifest);
    std::error_code unreadable;
    const bool staged = fs::symlink_status(path, unreadable).type() == fs::file_type::regular;
    result.files.push_back({std::move(path), entry.bytes.count, entry.records, {}, staged});
  }
  if (result.files.empty()) ThrowManifest(manifest, "it lists no files");
  if (listed.index) AddIndices(result, *listed.index, directory, manifest);
  std::ranges::sort(result.files, {}, &DatasetFile::path);
  return result;
}

Manifest ParseManifestAt(const fs::path& path) try {
  return ParseManifest(ReadFile(path));
} catch (const SystemError&) {
  throw;
} catch (const Error& error) {
  ThrowManifest(path, error.message());
}

DatasetFiles ReadManifest(const fs::path& directory) {
  const auto path = directory / kManifestName;
  return FilesOf(ParseManifestAt(path), directory, path);
}

DatasetFiles FilesAt(std::vector<fs::path> paths) {
  std::ranges::sort(paths);
  DatasetFiles dataset;
  for (auto& path : paths) dataset.files.push_back({std::move(path), {}, {}, {}, false});
  return dataset;
}

DatasetFiles WithOneFormat(DatasetFiles dataset) {
  dataset.format = DetectFormat(dataset.files.front().path);
  for (const auto& file : dataset.files) {
    const auto format = DetectFormat(file.path);
    if (format == dataset.format) continue;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("one dataset, two formats: '{}' is {}, '{}' is {}", dataset.files.front().path.string(),
                            WordOf(dataset.format), file.path.string(), WordOf(format)),
                "make them two datasets");
  }
  return dataset;
}

DatasetFiles FilesOfDirectory(const fs::path& directory, FolderReading reading) {
  auto found =
      DataFilesIn(directory, reading == FolderReading::kEveryFile ? FoldersBelow::kWalked : FoldersBelow::kLeftOut);
  if (found.files.empty()) {
    if (auto images = ImageFilesIn(directory); !images.files.empty()) found = std::move(images);
  }
  if (found.files.empty()) {
    const auto others = DescribeLeftOut(found.left_out, 0);
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' holds neither a {} nor data files{}{}", directory.string(), kManifestName,
                            others.empty() ? "" : ": ", others),
                "name the directory of the data, or convert it: slipway data convert");
  }
  std::vector<fs::path> paths;
  for (auto& file : found.files) paths.emplace_back(std::move(file.path));
  auto dataset = FilesAt(std::move(paths));
  if (reading == FolderReading::kAsDataset) dataset = WithOneFormat(std::move(dataset));
  dataset.left_out = std::move(found.left_out);
  return dataset;
}

/// The lease first: what is looked at then stays.
DatasetFiles FindLeased(const fs::path& path, FolderReading reading) {
  if (!fs::is_directory(path)) return DescribeFiles({path});
  auto lease = TakeLease(path);
  auto dataset = fs::exists(path / kManifestName) ? ReadManifest(path) : FilesOfDirectory(path, reading);
  if (lease) dataset.leases.push_back(std::move(lease));
  return dataset;
}

}  // namespace

DatasetFiles FindDatasetFiles(const fs::path& path, FolderReading reading) {
  try {
    return FindLeased(path, reading);
  } catch (const fs::filesystem_error& error) {
    throw SystemError(error.code().value(), fmt::format("cannot look into '{}'", path.string()));
  }
}

DatasetFiles DescribeFiles(std::vector<fs::path> paths) {
  if (paths.empty()) throw Error(ErrorKind::kEnvironment, "a dataset needs at least one file", "name at least one");
  auto leases = TakeLeases(paths);
  auto dataset = WithOneFormat(FilesAt(std::move(paths)));
  dataset.leases = std::move(leases);
  return dataset;
}

std::vector<TableInput> TableInputsOf(const DatasetFiles& dataset) {
  std::vector<TableInput> inputs;
  for (const auto& file : dataset.files) inputs.push_back({file.path, file.index ? &*file.index : nullptr});
  return inputs;
}

void ThrowNoData(const fs::path& path) {
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' is neither TFRecord, HDF5, a tar shard, a NumPy file nor an image", path.string()),
              "name data files; idx files become TFRecord or HDF5 with 'slipway data convert'");
}

void CheckPromises(const DatasetFile& file, std::uint64_t bytes, std::optional<std::uint64_t> records) {
  if (file.bytes && *file.bytes != bytes) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' has {} bytes, its manifest promises {}", file.path.string(), bytes, *file.bytes),
                "stage the dataset again");
  }
  if (file.records && records && *file.records != *records) {
    throw Error(
        ErrorKind::kEnvironment,
        fmt::format("'{}' has {} records, its manifest promises {}", file.path.string(), *records, *file.records),
        "stage the dataset again");
  }
}

}  // namespace slipway::staging
