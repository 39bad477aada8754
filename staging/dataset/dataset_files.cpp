#include "staging/dataset/dataset_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "staging/dataset/file_name.h"
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

DatasetFiles FilesOfDirectory(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const bool hidden = entry.path().filename().string().starts_with('.');
    if (!hidden && entry.is_regular_file() && FormatOfName(entry.path()) != DataFormat::kRaw)
      files.push_back(entry.path());
  }
  if (files.empty()) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' holds neither a {} nor *.tfrecord or *.h5 files", directory.string(), kManifestName));
  }
  return DescribeFiles(std::move(files));
}

}  // namespace

DatasetFiles FindDatasetFiles(const fs::path& path) {
  try {
    if (!fs::is_directory(path)) return DescribeFiles({path});
    return fs::exists(path / kManifestName) ? ReadManifest(path) : FilesOfDirectory(path);
  } catch (const fs::filesystem_error& error) {
    throw SystemError(error.code().value(), fmt::format("cannot look into '{}'", path.string()));
  }
}

DatasetFiles DescribeFiles(std::vector<fs::path> files) {
  if (files.empty()) throw Error(ErrorKind::kEnvironment, "a dataset needs at least one file");
  std::ranges::sort(files);
  DatasetFiles result{DetectFormat(files.front()), {}};
  for (auto& file : files) {
    const auto format = DetectFormat(file);
    if (format != result.format) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("one dataset, two formats: '{}' is {}, '{}' is {}", result.files.front().path.string(),
                              DataFormatName(result.format), file.string(), DataFormatName(format)));
    }
    result.files.push_back({std::move(file), {}, {}, {}, false});
  }
  return result;
}

void CheckPromises(const DatasetFile& file, std::uint64_t bytes, std::optional<std::uint64_t> records) {
  if (file.bytes && *file.bytes != bytes) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' has {} bytes, its manifest promises {}", file.path.string(), bytes, *file.bytes));
  }
  if (file.records && records && *file.records != *records) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has {} records, its manifest promises {}",
                                                     file.path.string(), *records, *file.records));
  }
}

}  // namespace slipway::staging
