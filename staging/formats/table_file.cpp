#include "staging/formats/table_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>

#include "core/error.h"
#include "core/share_out.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;

fs::path ClassFolderOf(const fs::path& path) { return fs::absolute(path).lexically_normal().parent_path(); }

/// Folders at different depths would make one class of two folders of one name.
void RequireOneDepth(const std::vector<fs::path>& folders, const std::vector<TableInput>& files) {
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (folders[i].parent_path() == folders[0].parent_path()) continue;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}' lies in no folder beside that of '{}': the folder of an image is its class",
                            files[i].path.string(), files[0].path.string()),
                "put all images into one folder for each class, and name the folder of these");
  }
}

std::vector<std::unique_ptr<TableFile>> OpenImages(const std::vector<TableInput>& inputs) {
  std::vector<fs::path> folders;
  for (const auto& input : inputs) folders.push_back(ClassFolderOf(input.path));
  RequireOneDepth(folders, inputs);
  auto classes = folders;
  std::ranges::sort(classes);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  std::vector<std::unique_ptr<TableFile>> files;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto place = std::ranges::lower_bound(classes, folders[i]) - classes.begin();
    files.push_back(OpenImage(inputs[i].path, folders[i].filename().string(), static_cast<std::uint64_t>(place)));
  }
  return files;
}

/// Opening a shard without an index reads all its headers: several at once.
std::vector<std::unique_ptr<TableFile>> OpenAll(DataFormat format, const std::vector<TableInput>& inputs) {
  std::vector<std::unique_ptr<TableFile>> files(inputs.size());
  std::atomic<bool> stopped = false;
  ShareOut(inputs.size(), std::min(UsableProcessors(), inputs.size()), stopped, [&]() -> Worker {
    return [&](std::size_t i) {
      files[i] = format == DataFormat::kWebdataset ? OpenWebdataset(inputs[i]) : OpenNumpyTable(inputs[i].path);
    };
  });
  return files;
}

std::string FieldsText(const std::vector<TableField>& fields) {
  std::vector<std::string> texts;
  for (const auto& field : fields) {
    texts.push_back(fmt::format("'{}' {} [{}]", field.name, field.any_length ? "bytes" : WordOf(field.type),
                                fmt::join(field.shape, ", ")));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::uint64_t BytesPerValue(const TableField& field) {
  std::uint64_t bytes = SizeOf(field.type);
  for (const auto extent : field.shape) {
    if (!__builtin_mul_overflow(bytes, extent, &bytes)) continue;
    throw Error(ErrorKind::kEnvironment, fmt::format("a value of the field '{}' is too large to count", field.name),
                "check the shape of this field in the source");
  }
  return bytes;
}

void RequireValues(const TableField& field, const fs::path& source) {
  if (std::ranges::count(field.shape, 0) == 0) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}': '{}' has no values: the shape of a record is {}", source.string(), field.name,
                          fmt::join(field.shape, "x")),
              "leave it out");
}

bool IsTableFormat(DataFormat format) {
  return format == DataFormat::kWebdataset || format == DataFormat::kNumpy || format == DataFormat::kImages;
}

void RequireFields(const std::vector<TableField>& fields, const std::vector<TableField>& before, const fs::path& path) {
  if (fields == before) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}' has the fields {}; the files before it have {}", path.string(), FieldsText(fields),
                          FieldsText(before)),
              "make them two datasets, or one file of all arrays: numpy.savez");
}

std::vector<std::unique_ptr<TableFile>> OpenTableFiles(DataFormat format, const std::vector<TableInput>& inputs) {
  if (format == DataFormat::kImages) return OpenImages(inputs);
  auto files = OpenAll(format, inputs);
  const std::vector<TableField>* fields = nullptr;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i]->record_count() == 0) continue;
    if (fields == nullptr) fields = &files[i]->fields();
    RequireFields(files[i]->fields(), *fields, inputs[i].path);
  }
  return files;
}

}  // namespace slipway::staging
