#include "staging/formats/webdataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/text.h"
#include "staging/formats/positioned_io.h"
#include "staging/formats/table_file.h"

namespace slipway::staging {
namespace {

constexpr const char* kWriteAgain =
    "write the shard again: all members of a sample follow each other, and have one key";
constexpr const char* kStageAgain = "stage the dataset again";
constexpr std::uint64_t kShardScanBytes = 64 << 10;
constexpr std::uint64_t kTarHeaderBytes = 512;

std::string_view FileNameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

struct MemberName {
  std::string_view key;
  std::string_view field;
};

/// Nothing for a name without a dot that divides it.
std::optional<MemberName> Divided(std::string_view path) {
  const auto name = FileNameOf(path);
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return {};
  return MemberName{path.substr(0, path.size() - name.size() + dot), name.substr(dot + 1)};
}

std::vector<std::string> FieldsOf(const WebdatasetSample& sample) {
  std::vector<std::string> fields;
  for (const auto& part : sample.parts) fields.push_back(part.field);
  return fields;
}

}  // namespace

WebdatasetSamples::WebdatasetSamples(std::filesystem::path archive, OnSample on_sample, std::uint64_t begin)
    : archive_(std::move(archive)),
      on_sample_(std::move(on_sample)),
      members_(
          archive_, [this](TarMember member) { Add(std::move(member)); }, begin) {}

void WebdatasetSamples::Feed(int fd, ByteRange range, std::uint64_t block_bytes) {
  std::vector<std::byte> block;
  for (auto at = range.begin; at < range.end;) {
    const auto content = std::min(members_.content_left(), range.end - at);
    if (content >= block_bytes) {
      members_.Skip(content);
      at += content;
      continue;
    }
    block.resize(std::min(block_bytes, range.end - at));
    ReadAt(fd, at, block, archive_);
    Update(block);
    at += block.size();
  }
}

void WebdatasetSamples::Scan(int fd, std::uint64_t size) {
  Feed(fd, {0, size}, kShardScanBytes);
  Finish();
}

void WebdatasetSamples::ScanSamples(int fd, ByteRange range) {
  Feed(fd, range, kTarHeaderBytes);
  if (!members_.IsBetweenMembers()) {
    if (members_.content_left() == 0) members_.Finish();  // what looks like half a header is a damaged one
    Throw(range.end, "a sample reaches over the end that the index of records gives it", kStageAgain);
  }
  EndSample();
}

void WebdatasetSamples::Finish() {
  members_.Finish();
  EndSample();
}

void WebdatasetSamples::Add(TarMember member) {
  if (FileNameOf(member.path).starts_with("__")) return;
  const auto divided = Divided(member.path);
  if (!divided) {
    Throw(member.header_at, fmt::format("the member '{}' is of no sample: expected KEY.FIELD", member.path),
          "rename it, or leave it out of the shard");
  }
  std::string key(divided->key);
  if (key != sample_.key || sample_.parts.empty()) {
    EndSample();
    if (!keys_.insert(key).second) {
      Throw(member.header_at, fmt::format("the key '{}' of '{}' was used before by another sample", key, member.path),
            kWriteAgain);
    }
    sample_ = {std::move(key), {member.header_at, 0}, {}};
  }
  AddPart(member, LowerCase(divided->field));
}

void WebdatasetSamples::AddPart(const TarMember& member, std::string field) {
  const auto place = std::ranges::lower_bound(sample_.parts, field, {}, &SamplePart::field);
  if (field == kSampleKeyField || (place != sample_.parts.end() && place->field == field)) {
    Throw(member.header_at, fmt::format("the sample '{}' has two members '{}'", sample_.key, field), kWriteAgain);
  }
  sample_.parts.insert(place, {std::move(field), member.data_at, member.size});
  sample_.bytes.end = member.end;
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
  Throw(sample_.bytes.begin,
        missing.empty() ? fmt::format("the sample '{}' has a member '{}', which the first sample does not have",
                                      sample_.key, more.front())
                        : fmt::format("the sample '{}' has no member '{}'", sample_.key, missing.front()),
        "write the shard again with the same members in every sample");
}

void WebdatasetSamples::Throw(std::uint64_t at, std::string what, std::string next) const {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}': byte {}: {}", archive_.string(), at, what), std::move(next));
}

/// Source: webdataset 0.2, autodecode.py, basichandlers.
bool HoldsInteger(std::string_view field) {
  static constexpr std::array<std::string_view, 7> kIntegers = {"class", "cls", "cls2", "count", "id", "index", "inx"};
  return std::ranges::find(kIntegers, field.substr(field.rfind('.') + 1)) != kIntegers.end();
}

bool HoldsArray(std::string_view field) { return field == "npy" || field.ends_with(".npy"); }

WebdatasetSample ReadSample(int fd, ByteRange range, const std::filesystem::path& archive) {
  std::optional<WebdatasetSample> found;
  std::size_t count = 0;
  const auto keep = [&](WebdatasetSample sample) {
    found = std::move(sample);
    ++count;
  };
  WebdatasetSamples(archive, keep, range.begin).ScanSamples(fd, range);
  if (count == 1) return *std::move(found);
  throw Error(ErrorKind::kEnvironment,
              fmt::format("'{}': byte {}: found {} samples where the index of records has one", archive.string(),
                          range.begin, count),
              kStageAgain);
}

std::string ReadSampleKey(int fd, std::uint64_t at, const std::filesystem::path& archive) {
  std::string path;
  TarMembers members(
      archive, [&](TarMember member) { path = std::move(member.path); }, at);
  std::vector<std::byte> block(kTarHeaderBytes);
  for (; path.empty(); at += block.size()) {
    ReadAt(fd, at, block, archive);
    members.Update(block);
  }
  const auto divided = Divided(path);
  return std::string(divided ? divided->key : path);
}

namespace {

class WebdatasetCheck final : public StreamCheck {
 public:
  explicit WebdatasetCheck(std::filesystem::path name)
      : samples_(std::move(name), [this](const WebdatasetSample& sample) { Add(sample); }) {}

  std::uint32_t Update(std::span<const std::byte> bytes) override {
    samples_.Update(bytes);
    return Crc32c(bytes);
  }
  StreamSummary Finish() override {
    samples_.Finish();
    StreamSummary summary;
    summary.records = index_.offsets.size();
    summary.record_offsets = std::move(index_.offsets);
    summary.record_bytes = index_.end;
    return summary;
  }

 private:
  void Add(const WebdatasetSample& sample) {
    index_.offsets.push_back(index_.end);
    index_.end = sample.bytes.end;
  }

  RecordIndex index_;
  WebdatasetSamples samples_;
};

}  // namespace

std::unique_ptr<StreamCheck> CheckWebdataset(std::filesystem::path name) {
  return std::make_unique<WebdatasetCheck>(std::move(name));
}

}  // namespace slipway::staging
