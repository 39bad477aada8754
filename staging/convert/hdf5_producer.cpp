#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "staging/convert/files_in_turn.h"
#include "staging/convert/record_producer.h"
#include "staging/foreign/foreign_hdf5.h"

namespace slipway::staging {
namespace {
namespace fs = std::filesystem;

constexpr std::uint64_t kProducerReadBytes = 1 << 20;
constexpr std::uint64_t kRowsOfAnyLength = 64;   // read together
constexpr std::uint64_t kLargestText = 1 << 30;  // a record holds at most 2 GiB

/// Rows of one dataset that were read together.
struct Window {
  std::size_t file = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<std::byte> numbers;
  std::vector<std::string> texts;
};

ProducedField FieldOf(const Hdf5Dataset& dataset) {
  return {dataset.name, dataset.type, {dataset.shape.begin() + 1, dataset.shape.end()}, false};
}

/// What cannot be taken along is not left behind without a word.
void RequireBytes(const Hdf5Other& other, const fs::path& path) {
  if (other.is_bytes && other.bytes_per_row <= kLargestText) return;
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}': '{}' {} and cannot be converted", path.string(), other.name,
                          other.is_bytes ? "has strings that are too large for a record" : other.what),
              "copy the other datasets into a file of their own, for example with h5copy, and convert that");
}

/// An open file, and the fields of its records sorted by name.
class DatasetPart {
 public:
  explicit DatasetPart(const fs::path& path) : file_(path) {
    for (const auto& dataset : file_.Datasets()) {
      RequireValues(FieldOf(dataset), path);
      Add(FieldOf(dataset), dataset.shape[0], path);
    }
    for (const auto& other : file_.Others()) {
      RequireBytes(other, path);
      Add({other.name, NumberType::kUint8, {}, true}, other.shape[0], path);
    }
    if (fields_.empty()) {
      throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has no datasets", path.string()),
                  "name a file with one dataset for each field");
    }
    std::ranges::sort(fields_, {}, &ProducedField::name);
  }

  std::uint64_t record_count() const { return rows_; }
  const std::vector<ProducedField>& fields() const { return fields_; }
  ForeignHdf5& file() { return file_; }

 private:
  void Add(ProducedField field, std::uint64_t rows, const fs::path& path) {
    if (!fields_.empty() && rows != rows_) {
      throw Error(
          ErrorKind::kEnvironment,
          fmt::format("'{}': '{}' has {} rows, '{}' has {}", path.string(), fields_[0].name, rows_, field.name, rows),
          "write the file again with one row for each record in every dataset");
    }
    rows_ = rows;
    fields_.push_back(std::move(field));
  }

  ForeignHdf5 file_;
  std::vector<ProducedField> fields_;
  std::uint64_t rows_ = 0;
};

class Hdf5Producer final : public RecordProducer {
 public:
  explicit Hdf5Producer(const std::vector<fs::path>& files)
      : files_(files, [this, files](std::size_t number) { return Open(files[number]); }), windows_(fields_.size()) {}

  std::uint64_t record_count() const override { return files_.record_count(); }
  const std::vector<ProducedField>& fields() const override { return fields_; }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field) override {
    const auto [file, row] = files_.Find(record);
    const auto& info = fields_[field];
    auto& window = windows_[field];
    if (window.file != file || row < window.begin || row >= window.end) {
      info.any_length ? ReadTexts(window, file, row, info) : ReadNumbers(window, file, row, info);
    }
    if (info.any_length) return std::as_bytes(std::span(window.texts[row - window.begin]));
    const auto size = BytesPerValue(info);
    return std::span(window.numbers).subspan((row - window.begin) * size, size);
  }

 private:
  DatasetPart Open(const fs::path& path) {
    DatasetPart part(path);
    if (fields_.empty()) fields_ = part.fields();
    if (part.fields() == fields_) return part;
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' has other datasets than the first file", path.string()),
                "convert the files separately");
  }

  void ReadNumbers(Window& window, std::size_t file, std::uint64_t row, const ProducedField& field) {
    auto& part = files_.At(file);
    const auto size = BytesPerValue(field);
    const auto end = std::min(part.record_count(), row + std::max<std::uint64_t>(1, kProducerReadBytes / size));
    window = {file, row, end, std::move(window.numbers), {}};
    window.numbers.resize((end - row) * size);
    part.file().ReadRows(field.name, row, end, field.type, window.numbers);
  }

  void ReadTexts(Window& window, std::size_t file, std::uint64_t row, const ProducedField& field) {
    auto& part = files_.At(file);
    const auto size = std::ranges::find(part.file().Others(), field.name, &Hdf5Other::name)->bytes_per_row;
    const auto rows = size == 0 ? kRowsOfAnyLength : std::max<std::uint64_t>(1, kProducerReadBytes / size);
    const auto end = std::min(part.record_count(), row + rows);
    window = {file, row, end, {}, part.file().ReadBytes(field.name, row, end)};
  }

  std::vector<ProducedField> fields_;
  FilesInTurn<DatasetPart> files_;
  std::vector<Window> windows_;
};

}  // namespace

std::unique_ptr<RecordProducer> ProduceFromHdf5(const std::vector<fs::path>& files) {
  return std::make_unique<Hdf5Producer>(files);
}

}  // namespace slipway::staging
