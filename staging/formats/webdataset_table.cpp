#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "core/error.h"
#include "core/files.h"
#include "core/lines.h"
#include "core/numpy_header.h"
#include "staging/formats/npy.h"
#include "staging/formats/positioned_io.h"
#include "staging/formats/table_file.h"
#include "staging/formats/webdataset.h"

namespace slipway::staging {
namespace {

std::optional<std::int64_t> IntegerIn(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr std::string_view kSpaces = " \t\r\n";
  const auto first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
  return ParseNumber<std::int64_t>(text);
}

class WebdatasetFile final : public TableFile {
 public:
  explicit WebdatasetFile(const TableInput& input) : path_(input.path), fd_(OpenFile(path_, O_RDONLY | O_NONBLOCK)) {
    input.index != nullptr ? TakeIndex(*input.index) : ScanAll();
    if (!samples_.empty()) LearnFields();
  }

  std::uint64_t record_count() const override { return samples_.size(); }
  const std::vector<TableField>& fields() const override { return fields_; }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field,
                                   std::vector<std::byte>& buffer) const override {
    const auto parts = PartsOf(record);
    if (field == 0) {
      const auto key = KeyOf(record);
      const auto bytes = std::as_bytes(std::span(key));
      buffer.assign(bytes.begin(), bytes.end());
      return buffer;
    }
    Read(parts[field - 1], buffer);
    const auto& form = fields_[field];
    if (form.any_length) return buffer;
    return HoldsArray(form.name) ? ArrayIn(form, record, buffer) : NumberIn(form, record, buffer);
  }

  std::optional<std::span<const std::byte>> Whole(std::uint64_t record, std::vector<std::byte>& buffer) const override {
    PartsOf(record);
    Read(samples_[record], buffer);
    return buffer;
  }

 private:
  /// The samples are found when they are read.
  void TakeIndex(const RecordIndex& index) {
    RequireBorders(index);
    if (index.offsets.empty()) return;
    index_ = index;
    NameFields(Find(0));
    samples_.resize(index.offsets.size());
    parts_.resize(samples_.size() * PartsOfSample());
    found_ = std::vector<std::atomic<bool>>(samples_.size());
  }

  void RequireBorders(const RecordIndex& index) const {
    const auto& offsets = index.offsets;
    const bool good = std::ranges::is_sorted(offsets) && (offsets.empty() || offsets.back() <= index.end);
    if (good && index.end <= FileBytes(path_)) return;
    throw Error(ErrorKind::kEnvironment, fmt::format("the index of the records of '{}' is damaged", path_.string()),
                "stage the dataset again");
  }

  void ScanAll() {
    WebdatasetSamples samples(path_, [this](const WebdatasetSample& sample) {
      if (samples_.empty()) NameFields(sample);
      samples_.push_back(sample.bytes);
      for (const auto& part : sample.parts) parts_.push_back({part.data_at, part.data_at + part.size});
    });
    samples.Scan(fd_.get(), FileBytes(path_));
  }

  void NameFields(const WebdatasetSample& first) {
    fields_.push_back({std::string(kSampleKeyField), NumberType::kUint8, {}, true});
    for (const auto& part : first.parts) fields_.push_back({part.field, NumberType::kUint8, {}, true});
  }

  WebdatasetSample Find(std::uint64_t record) const {
    const auto end = record + 1 < index_.offsets.size() ? index_.offsets[record + 1] : index_.end;
    return ReadSample(fd_.get(), {index_.offsets[record], end}, path_);
  }

  /// Where the members of a sample lie. With an index they are looked for once, by the first thread that asks.
  std::span<const ByteRange> PartsOf(std::uint64_t record) const {
    const auto parts = std::span(parts_).subspan(record * PartsOfSample(), PartsOfSample());
    if (found_.empty() || found_[record].load(std::memory_order_acquire)) return parts;
    const auto sample = Find(record);
    RequireFieldsOfFirst(sample);
    const std::lock_guard guard(mutex_);
    if (found_[record].load(std::memory_order_relaxed)) return parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i] = {sample.parts[i].data_at, sample.parts[i].data_at + sample.parts[i].size};
    }
    samples_[record] = sample.bytes;
    found_[record].store(true, std::memory_order_release);
    return parts;
  }

  void RequireFieldsOfFirst(const WebdatasetSample& sample) const {
    const bool same =
        std::ranges::equal(sample.parts, std::span(fields_).subspan(1), {}, &SamplePart::field, &TableField::name);
    if (same) return;
    throw Error(ErrorKind::kEnvironment,
                fmt::format("'{}': byte {}: the sample '{}' has other members than the first one", path_.string(),
                            sample.bytes.begin, sample.key),
                "stage the dataset again");
  }

  /// What the first sample holds decides what a field is.
  void LearnFields() {
    std::vector<std::byte> buffer;
    for (std::size_t i = 1; i < fields_.size(); ++i) {
      auto& field = fields_[i];
      const bool is_array = HoldsArray(field.name);
      if (!is_array && !HoldsInteger(field.name)) continue;
      Read(PartsOf(0)[i - 1], buffer);
      if (is_array) {
        const auto header = ParseNumpyHeader(buffer, NameOf(field, 0));
        field = {field.name, NumberTypeOf(header), header.shape, false};
        BytesPerValue(field);
      } else if (IntegerIn(buffer)) {
        field = {field.name, NumberType::kInt64, {}, false};
      }
    }
  }

  std::span<const std::byte> ArrayIn(const TableField& form, std::uint64_t record,
                                     std::vector<std::byte>& buffer) const {
    const auto header = ParseNumpyHeader(buffer, NameOf(form, record));
    if (NumberTypeOf(header) != form.type || header.shape != form.shape) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' is {} [{}], in the first sample it is {} [{}]", NameOf(form, record),
                              WordOf(NumberTypeOf(header)), fmt::join(header.shape, ", "), WordOf(form.type),
                              fmt::join(form.shape, ", ")),
                  "write arrays of one type and one shape, or read the whole samples with payloads");
    }
    const auto values = std::span(buffer).subspan(header.values_at);
    if (header.swapped) SwapBytes(values, header.size);
    return values;
  }

  std::span<const std::byte> NumberIn(const TableField& form, std::uint64_t record,
                                      std::vector<std::byte>& buffer) const {
    const auto number = IntegerIn(buffer);
    if (!number) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' is no whole number, as in the first sample", NameOf(form, record)),
                  "write a number as text, or read the whole samples with payloads");
    }
    buffer.resize(sizeof *number);
    std::memcpy(buffer.data(), &*number, sizeof *number);
    return buffer;
  }

  void Read(ByteRange range, std::vector<std::byte>& buffer) const {
    buffer.resize(range.size());
    ReadAt(fd_.get(), range.begin, buffer, path_);
  }

  std::size_t PartsOfSample() const { return fields_.size() - 1; }
  std::string KeyOf(std::uint64_t record) const { return ReadSampleKey(fd_.get(), samples_[record].begin, path_); }
  std::string NameOf(const TableField& field, std::uint64_t record) const {
    return fmt::format("{}:{}.{}", path_.string(), KeyOf(record), field.name);
  }

  std::filesystem::path path_;
  UniqueFd fd_;
  RecordIndex index_;  ///< empty without one
  mutable std::vector<ByteRange> samples_;
  mutable std::vector<ByteRange> parts_;  ///< those of one sample behind those of the one before, sorted by field
  mutable std::vector<std::atomic<bool>> found_;  ///< empty: all are
  mutable std::mutex mutex_;                      ///< of writes to what is found
  std::vector<TableField> fields_;
};

}  // namespace

std::unique_ptr<TableFile> OpenWebdataset(const TableInput& input) { return std::make_unique<WebdatasetFile>(input); }

}  // namespace slipway::staging
