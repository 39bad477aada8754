#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "staging/convert/record_producer.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

constexpr std::uint64_t kReadBytes = 1 << 20;

/// Rows of one dataset that were read together.
struct Window {
  std::size_t file = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<std::byte> bytes;
};

ProducedField FieldOf(const Hdf5Dataset& dataset) {
  return {dataset.name, dataset.type, {dataset.shape.begin() + 1, dataset.shape.end()}, false};
}

bool SameField(const ProducedField& left, const ProducedField& right) {
  return left.name == right.name && left.type == right.type && left.shape == right.shape;
}

class Hdf5Producer final : public RecordProducer {
 public:
  explicit Hdf5Producer(const std::vector<fs::path>& files) {
    for (const auto& path : files) Add(path);
    if (record_count() == 0) {
      throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no records", files.at(0).string()));
    }
    windows_.resize(fields_.size());
  }

  std::uint64_t record_count() const override { return ends_.empty() ? 0 : ends_.back(); }
  const std::vector<ProducedField>& fields() const override { return fields_; }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    const auto file = static_cast<std::size_t>(std::ranges::upper_bound(ends_, record) - ends_.begin());
    const auto row = record - (file == 0 ? 0 : ends_[file - 1]);
    auto& window = windows_[field];
    if (window.file != file || row < window.begin || row >= window.end) Read(window, file, row, fields_[field]);
    const auto size = BytesPerValue(fields_[field]);
    return std::span(window.bytes).subspan((row - window.begin) * size, size);
  }

 private:
  void Add(const fs::path& path) {
    const auto& file = opened_.emplace_back(OpenHdf5(path));
    std::vector<ProducedField> fields;
    for (const auto& dataset : file->Datasets()) fields.push_back(FieldOf(dataset));
    if (fields.empty()) {
      throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no datasets of numbers", path.string()));
    }
    const auto rows = file->Datasets()[0].shape[0];
    for (const auto& dataset : file->Datasets()) {
      if (dataset.shape[0] != rows) {
        throw Error(ErrorKind::kEnvironment,
                    fmt::format("'{}': '{}' has {} rows, '{}' has {}", path.string(), file->Datasets()[0].name, rows,
                                dataset.name, dataset.shape[0]));
      }
    }
    if (opened_.size() == 1) fields_ = fields;
    if (!std::ranges::equal(fields, fields_, SameField)) {
      throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has other datasets than the first file", path.string()));
    }
    ends_.push_back(record_count() + rows);
  }

  void Read(Window& window, std::size_t file, std::uint64_t row, const ProducedField& field) {
    const auto size = BytesPerValue(field);
    const auto rows = ends_[file] - (file == 0 ? 0 : ends_[file - 1]);
    const auto count = std::min(rows - row, std::max<std::uint64_t>(1, kReadBytes / std::max<std::uint64_t>(1, size)));
    window = {file, row, row + count, std::move(window.bytes)};
    window.bytes.resize(count * size);
    opened_[file]->ReadRows(field.name, row, row + count, field.type, window.bytes);
  }

  std::vector<std::unique_ptr<Hdf5File>> opened_;
  std::vector<std::uint64_t> ends_;
  std::vector<ProducedField> fields_;
  std::vector<Window> windows_;
};

}  // namespace

std::uint64_t BytesPerValue(const ProducedField& field) {
  std::uint64_t bytes = SizeOf(field.type);
  for (const auto extent : field.shape) {
    if (!__builtin_mul_overflow(bytes, extent, &bytes)) continue;
    throw Error(ErrorKind::kEnvironment, fmt::format("a value of the field '{}' is too large to count", field.name));
  }
  return bytes;
}

std::unique_ptr<RecordProducer> ProduceFromHdf5(const std::vector<fs::path>& files) {
  return std::make_unique<Hdf5Producer>(files);
}

}  // namespace slipway::staging
