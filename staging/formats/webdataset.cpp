#include "staging/formats/webdataset.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <functional>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/numpy_header.h"
#include "staging/formats/npy.h"
#include "staging/formats/positioned_read.h"
#include "staging/formats/table_file.h"

namespace slipway::staging {
namespace {

constexpr const char* kWriteAgain =
    "write the shard again: all members of a sample follow each other, and have one key";
constexpr std::uint64_t kScanBytes = 64 << 10;
constexpr std::string_view kKeyField = "__key__";

std::string_view FileNameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

std::vector<std::string> FieldsOf(const WebdatasetSample& sample) {
  std::vector<std::string> fields;
  for (const auto& part : sample.parts) fields.push_back(part.field);
  return fields;
}

}  // namespace

WebdatasetSamples::WebdatasetSamples(std::filesystem::path archive, OnSample on_sample)
    : archive_(std::move(archive)),
      on_sample_(std::move(on_sample)),
      members_(archive_, [this](TarMember member) { Add(std::move(member)); }) {}

void WebdatasetSamples::Scan(int fd, std::uint64_t size) {
  std::vector<std::byte> block;
  for (std::uint64_t at = 0; at < size;) {
    const auto content = std::min(members_.content_left(), size - at);
    if (content > kScanBytes) {
      members_.Skip(content);
      at += content;
      continue;
    }
    block.resize(std::min(kScanBytes, size - at));
    ReadAt(fd, at, block, archive_);
    Update(block);
    at += block.size();
  }
  Finish();
}

void WebdatasetSamples::Finish() {
  members_.Finish();
  EndSample();
}

void WebdatasetSamples::Add(TarMember member) {
  const auto name = FileNameOf(member.path);
  if (name.starts_with("__")) return;
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) {
    Throw(member.header_at, fmt::format("the member '{}' is of no sample: expected KEY.FIELD", member.path),
          "rename it, or leave it out of the shard");
  }
  auto key = member.path.substr(0, member.path.size() - name.size() + dot);
  if (key != sample_.key || sample_.parts.empty()) {
    EndSample();
    if (!keys_.insert(key).second) {
      Throw(member.header_at, fmt::format("the key '{}' of '{}' was used before by another sample", key, member.path),
            kWriteAgain);
    }
    sample_ = {std::move(key), member.header_at, 0, {}};
  }
  AddPart(member, Lower(std::string(name.substr(dot + 1))));
}

void WebdatasetSamples::AddPart(const TarMember& member, std::string field) {
  const auto place = std::ranges::lower_bound(sample_.parts, field, {}, &SamplePart::field);
  if (field == kKeyField || (place != sample_.parts.end() && place->field == field)) {
    Throw(member.header_at, fmt::format("the sample '{}' has two members '{}'", sample_.key, field), kWriteAgain);
  }
  sample_.parts.insert(place, {std::move(field), member.data_at, member.size});
  sample_.end = member.end;
}

void WebdatasetSamples::EndSample() {
  if (sample_.parts.empty()) return;
  if (fields_.empty()) fields_ = FieldsOf(sample_);
  RequireFieldsOfFirst();
  on_sample_(std::exchange(sample_, {}));
}

void WebdatasetSamples::RequireFieldsOfFirst() const {
  const auto fields = FieldsOf(sample_);
  if (fields == fields_) return;
  std::vector<std::string> missing, more;
  std::ranges::set_difference(fields_, fields, std::back_inserter(missing));
  std::ranges::set_difference(fields, fields_, std::back_inserter(more));
  Throw(sample_.begin,
        missing.empty() ? fmt::format("the sample '{}' has a member '{}', which the first sample does not have",
                                      sample_.key, more.front())
                        : fmt::format("the sample '{}' has no member '{}'", sample_.key, missing.front()),
        "write the shard again with the same members in every sample");
}

void WebdatasetSamples::Throw(std::uint64_t at, std::string what, std::string next) const {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}': byte {}: {}", archive_.string(), at, what), std::move(next));
}

namespace {

class WebdatasetCheck final : public StreamCheck {
 public:
  explicit WebdatasetCheck(std::filesystem::path name)
      : samples_(std::move(name), [this](const WebdatasetSample&) { ++count_; }) {}

  std::uint32_t Update(std::span<const std::byte> bytes) override {
    samples_.Update(bytes);
    return Crc32c(bytes);
  }
  StreamSummary Finish() override {
    samples_.Finish();
    StreamSummary summary;
    summary.records = count_;
    return summary;
  }

 private:
  std::uint64_t count_ = 0;
  WebdatasetSamples samples_;
};

/// Members with these names hold a number as text. Source: webdataset 0.2, autodecode.py, basichandlers.
bool HoldsInteger(std::string_view field) {
  static constexpr std::array<std::string_view, 7> kIntegers = {"class", "cls", "cls2", "count", "id", "index", "inx"};
  return std::ranges::find(kIntegers, field.substr(field.rfind('.') + 1)) != kIntegers.end();
}

bool HoldsArray(std::string_view field) { return field == "npy" || field.ends_with(".npy"); }

std::optional<std::int64_t> IntegerIn(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr std::string_view kSpaces = " \t\r\n";
  const auto first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

class WebdatasetFile final : public TableFile {
 public:
  explicit WebdatasetFile(const std::filesystem::path& path) : path_(path), fd_(OpenFile(path, O_RDONLY | O_NONBLOCK)) {
    WebdatasetSamples samples(path, [this](WebdatasetSample sample) { Add(std::move(sample)); });
    samples.Scan(fd_.get(), FileBytes(path));
    if (!samples_.empty()) LearnFields();
  }

  std::uint64_t record_count() const override { return samples_.size(); }
  const std::vector<TableField>& fields() const override { return fields_; }

  std::span<const std::byte> Value(std::uint64_t record, std::size_t field,
                                   std::vector<std::byte>& buffer) const override {
    const auto& sample = samples_[record];
    if (field == 0) {
      buffer.assign(KeyBytes(sample).begin(), KeyBytes(sample).end());
      return buffer;
    }
    const auto& part = parts_[record * PartsOfSample() + field - 1];
    Read(part.data_at, part.size, buffer);
    const auto& form = fields_[field];
    if (form.any_length) return buffer;
    return HoldsArray(form.name) ? ArrayIn(form, sample, buffer) : NumberIn(form, sample, buffer);
  }

  std::optional<std::span<const std::byte>> Whole(std::uint64_t record, std::vector<std::byte>& buffer) const override {
    const auto& sample = samples_[record];
    Read(sample.begin, sample.end - sample.begin, buffer);
    return buffer;
  }

 private:
  struct Place {
    std::uint64_t data_at, size;
  };
  struct Sample {
    std::uint64_t begin, end;
    std::uint64_t key_at;
    std::uint32_t key_size;
  };

  void Add(WebdatasetSample sample) {
    if (samples_.empty()) {
      fields_.push_back({std::string(kKeyField), NumberType::kUint8, {}, true});
      for (const auto& part : sample.parts) fields_.push_back({part.field, NumberType::kUint8, {}, true});
    }
    samples_.push_back({sample.begin, sample.end, keys_.size(), static_cast<std::uint32_t>(sample.key.size())});
    keys_ += sample.key;
    for (const auto& part : sample.parts) parts_.push_back({part.data_at, part.size});
  }

  /// What the first sample holds decides what a field is.
  void LearnFields() {
    std::vector<std::byte> buffer;
    for (std::size_t i = 1; i < fields_.size(); ++i) {
      auto& field = fields_[i];
      const bool is_array = HoldsArray(field.name);
      if (!is_array && !HoldsInteger(field.name)) continue;
      Read(parts_[i - 1].data_at, parts_[i - 1].size, buffer);
      if (is_array) {
        const auto header = ParseNumpyHeader(buffer, NameOf(field, samples_[0]));
        field = {field.name, NumberTypeOf(header), header.shape, false};
        BytesPerValue(field);
      } else if (IntegerIn(buffer)) {
        field = {field.name, NumberType::kInt64, {}, false};
      }
    }
  }

  std::span<const std::byte> ArrayIn(const TableField& form, const Sample& sample,
                                     std::vector<std::byte>& buffer) const {
    const auto header = ParseNumpyHeader(buffer, NameOf(form, sample));
    if (NumberTypeOf(header) != form.type || header.shape != form.shape) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' is {} [{}], in the first sample it is {} [{}]", NameOf(form, sample),
                              WordOf(NumberTypeOf(header)), fmt::join(header.shape, ", "), WordOf(form.type),
                              fmt::join(form.shape, ", ")),
                  "write arrays of one type and one shape, or read the whole samples with payloads");
    }
    const auto values = std::span(buffer).subspan(header.values_at);
    if (header.swapped) SwapBytes(values, header.size);
    return values;
  }

  std::span<const std::byte> NumberIn(const TableField& form, const Sample& sample,
                                      std::vector<std::byte>& buffer) const {
    const auto number = IntegerIn(buffer);
    if (!number) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("'{}' is no whole number, as in the first sample", NameOf(form, sample)),
                  "write a number as text, or read the whole samples with payloads");
    }
    buffer.resize(sizeof *number);
    std::memcpy(buffer.data(), &*number, sizeof *number);
    return buffer;
  }

  void Read(std::uint64_t at, std::uint64_t size, std::vector<std::byte>& buffer) const {
    buffer.resize(size);
    ReadAt(fd_.get(), at, buffer, path_);
  }

  std::size_t PartsOfSample() const { return fields_.size() - 1; }
  std::span<const std::byte> KeyBytes(const Sample& sample) const {
    return std::as_bytes(std::span(keys_)).subspan(sample.key_at, sample.key_size);
  }
  std::string NameOf(const TableField& field, const Sample& sample) const {
    return fmt::format("{}:{}.{}", path_.string(), keys_.substr(sample.key_at, sample.key_size), field.name);
  }

  std::filesystem::path path_;
  UniqueFd fd_;
  std::string keys_;  ///< one behind the other
  std::vector<Sample> samples_;
  std::vector<Place> parts_;  ///< those of one sample behind those of the one before, in the order of the fields
  std::vector<TableField> fields_;
};

}  // namespace

std::unique_ptr<TableFile> OpenWebdataset(const std::filesystem::path& path) {
  return std::make_unique<WebdatasetFile>(path);
}

std::unique_ptr<StreamCheck> CheckWebdataset(std::filesystem::path name) {
  return std::make_unique<WebdatasetCheck>(std::move(name));
}

}  // namespace slipway::staging
