#include "staging/convert/numpy_shards.h"

#include <fcntl.h>

#include <algorithm>

#include "core/files.h"
#include "core/numpy_header.h"
#include "core/text.h"
#include "staging/formats/zip_writer.h"

namespace slipway::staging {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kRowBytesBetweenReports = 4 << 20;  // between two reports

}  // namespace

NumpyShards::NumpyShards(const std::vector<fs::path>& files)
    : is_single_(std::ranges::all_of(files, [](const fs::path& file) { return file.extension() != ".npz"; })),
      files_(files, [this, files](std::size_t number) { return Open(files[number]); }) {}

NpyColumns NumpyShards::Open(const fs::path& path) {
  NpyColumns columns;
  columns.Add(path, kNpyField);
  if (columns.record_count() > 0) LearnArrays(columns, path);
  return columns;
}

void NumpyShards::LearnArrays(const NpyColumns& columns, const fs::path& path) {
  if (fields_.empty()) {
    fields_ = columns.fields();
    for (const auto& array : columns.arrays()) kinds_.push_back(array.kind);
  }
  RequireFields(columns.fields(), fields_, path);
  // Numbers among truth values stay numbers.
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (columns.arrays()[i].kind != kinds_[i]) kinds_[i] = 'u';
  }
}

void NumpyShards::Write(const fs::path& path, std::uint64_t begin, std::uint64_t end, const OnRecords& on_records) {
  if (is_single_) {
    const auto fd = OpenFile(path, O_WRONLY | O_CREAT | O_EXCL);
    WriteArray(0, begin, end, on_records, [&](std::string_view bytes) { WriteAll(fd.get(), bytes, path); });
  } else {
    ZipWriter zip(path);
    for (std::size_t field = 0; field < fields_.size(); ++field) {
      zip.Begin(fields_[field].name + ".npy", BytesPerValue(fields_[field]) * (end - begin));
      WriteArray(field, begin, end, on_records, [&](std::string_view bytes) { zip.Append(bytes); });
    }
    zip.Close();
  }
  SyncFile(path);
}

void NumpyShards::WriteArray(std::size_t field, std::uint64_t begin, std::uint64_t end, const OnRecords& on_records,
                             const Sink& sink) {
  auto shape = fields_[field].shape;
  shape.insert(shape.begin(), end - begin);
  sink(RenderNumpyHeader(kinds_[field], SizeOf(fields_[field].type), shape));
  const auto most = std::max<std::uint64_t>(1, kRowBytesBetweenReports / BytesPerValue(fields_[field]));
  while (begin < end) {
    const auto [number, first] = files_.Find(begin);
    const auto& columns = files_.At(number);
    const auto count = std::min({end - begin, columns.record_count() - first, most});
    sink(AsText(columns.Rows(first, first + count, field)));
    begin += count;
    if (field + 1 == fields_.size()) on_records(begin);
  }
}

}  // namespace slipway::staging
