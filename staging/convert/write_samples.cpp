#include "staging/convert/write_samples.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/numpy_header.h"
#include "core/text.h"
#include "staging/dataset/utf8_name.h"
#include "staging/formats/convert_numbers.h"
#include "staging/formats/image_header.h"
#include "staging/formats/tar_header.h"
#include "staging/formats/webdataset.h"

namespace slipway::staging {
namespace {

constexpr std::size_t kSampleWriteBytes = 4 << 20;
constexpr std::uint64_t kSamplesBetweenReports = 16;  // records
constexpr std::size_t kKeyDigits = 8;
constexpr std::size_t kMostKeyBytes = 1024;

/// Lower case, and nothing that divides a path or a name.
std::string PlainName(std::string_view field) {
  std::string name;
  for (const char c : field) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    const bool is_dot = c == '.' && !name.empty() && name.back() != '.';
    name += is_upper ? static_cast<char>(c + 32) : is_plain || is_dot ? c : '_';
  }
  if (name.empty() || name.back() == '.') name += '_';
  return name;
}

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::string WithEnd(std::string name, std::string_view end) {
  return LastPart(name) == end ? name : fmt::format("{}.{}", name, end);
}

std::string NameOfBytes(const std::string& field, std::span<const std::byte> first) {
  auto name = PlainName(field);
  if (const auto image = ImageExtensionOf(first); !image.empty()) {
    if (name == "image") return std::string(image);
    return IsImageExtension(LastPart(name)) ? name : WithEnd(std::move(name), image);
  }
  return HoldsInteger(name) || HoldsArray(name) ? name + ".bin" : name;  // readers would look for a number in it
}

bool IsSampleKey(const ProducedField& field) { return field.name == kSampleKeyField && field.any_length; }

bool IsStoredAsText(const ProducedField& field) {
  return field.shape.empty() && !IsFloat(field.type) && field.type != NumberType::kUint64;
}

SampleMember MemberOf(RecordProducer& source, std::size_t number) {
  using Form = SampleMember::Form;
  const auto& field = source.fields()[number];
  if (field.any_length) return {number, NameOfBytes(field.name, source.Value(0, number)), Form::kBytes};
  auto name = PlainName(field.name);
  if (IsStoredAsText(field) && name == "label") return {number, "cls", Form::kInteger};
  if (IsStoredAsText(field) && HoldsInteger(name)) return {number, std::move(name), Form::kInteger};
  return {number, WithEnd(std::move(name), "npy"), Form::kArray};
}

std::string IntegerText(NumberType type, std::span<const std::byte> bytes) {
  std::int64_t number = 0;
  ConvertNumbers(type, bytes, std::span(&number, 1));
  return std::to_string(number);
}

char NumpyKindOf(NumberType type) {
  if (IsFloat(type)) return 'f';
  switch (type) {
    case NumberType::kUint8:
    case NumberType::kUint16:
    case NumberType::kUint32:
    case NumberType::kUint64: return 'u';
    default: return 'i';
  }
}

/// Why a key cannot stand in an archive, or "". It comes from a file that others may have written.
std::string_view ObjectionToKey(std::string_view key) {
  if (key.empty()) return "is empty";
  if (key.size() > kMostKeyBytes) return "is longer than 1024 bytes";
  if (std::ranges::any_of(key, IsControlCharacter) || Utf8Name(key) != key) return "is no printable UTF-8";
  const auto name = key.substr(key.rfind('/') + 1);
  if (name.empty() || name.find('.') != std::string_view::npos) return "has a dot in its last part, or no last part";
  if (name.starts_with("__")) return "begins with '__', as names that are no samples do";
  for (std::size_t at = 0; at < key.size();) {
    const auto end = std::min(key.find('/', at), key.size());
    const auto part = key.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return "is no relative path";
    at = end + 1;
  }
  return {};
}

class SampleWriter {
 public:
  SampleWriter(RecordProducer& source, const std::filesystem::path& path)
      : source_(source), path_(path), fd_(OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC)) {}

  void Write(std::uint64_t record) {
    if (const auto sample = source_.Sample(record)) {
      Append(AsText(*sample));
    } else {
      WriteMembers(record);
    }
    if (buffer_.size() >= kSampleWriteBytes) Flush();
  }

  void Close() {
    Append(EndOfTar());
    Flush();
    SyncFile(fd_.get(), path_);
    fd_.Reset();
  }

 private:
  void WriteMembers(std::uint64_t record) {
    if (members_.empty()) LearnMembers();  // a source of whole samples has no use for them
    const auto key = KeyOf(record);
    for (const auto& member : members_) {
      WithContext(fmt::format("in field '{}' of record {}", source_.fields()[member.field].name, record), [&] {
        const auto value = source_.Value(record, member.field);
        const auto head = HeadOf(member, value);
        const auto content = member.form == SampleMember::Form::kInteger ? std::string_view() : AsText(value);
        const auto size = head.size() + content.size();
        Append(TarHeader(fmt::format("{}.{}", key, member.name), size));
        Append(head);
        Append(content);
        Append(TarPadding(size));
      });
    }
  }

  void LearnMembers() {
    members_ = SampleMembersOf(source_);
    const auto key = std::ranges::find_if(source_.fields(), IsSampleKey);
    if (key != source_.fields().end()) key_field_ = static_cast<std::size_t>(key - source_.fields().begin());
    digits_ = std::max(kKeyDigits, std::to_string(source_.record_count() - 1).size());
  }

  std::string KeyOf(std::uint64_t record) {
    if (!key_field_) return fmt::format("{:0{}}", record, digits_);
    std::string key(AsText(source_.Value(record, *key_field_)));
    if (const auto objection = ObjectionToKey(key); !objection.empty()) {
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("record {}: the key '{}' {}", record, Utf8Name(key).substr(0, 100), objection),
                  "write the source again with another '__key__', or without this field");
    }
    return key;
  }

  /// What the member holds before the bytes of the value, or instead of them.
  std::string HeadOf(const SampleMember& member, std::span<const std::byte> value) const {
    const auto& field = source_.fields()[member.field];
    switch (member.form) {
      case SampleMember::Form::kInteger: return IntegerText(field.type, value);
      case SampleMember::Form::kArray:
        return RenderNumpyHeader(NumpyKindOf(field.type), SizeOf(field.type), field.shape);
      case SampleMember::Form::kBytes: break;
    }
    return {};
  }

  void Append(std::string_view bytes) { buffer_ += bytes; }
  void Flush() {
    WriteAll(fd_.get(), buffer_, path_);
    buffer_.clear();
  }

  RecordProducer& source_;
  std::filesystem::path path_;
  UniqueFd fd_;
  std::vector<SampleMember> members_;
  std::optional<std::size_t> key_field_;
  std::size_t digits_ = kKeyDigits;
  std::string buffer_;
};

}  // namespace

std::vector<SampleMember> SampleMembersOf(RecordProducer& source) {
  std::vector<SampleMember> members;
  for (std::size_t i = 0; i < source.fields().size(); ++i) {
    if (!IsSampleKey(source.fields()[i]) && !source.IsDerived(i)) members.push_back(MemberOf(source, i));
  }
  std::ranges::sort(members, {}, &SampleMember::name);
  const auto twice = std::ranges::adjacent_find(members, {}, &SampleMember::name);
  if (members.empty()) {
    throw Error(ErrorKind::kUsage, "the records have a key and nothing else: a sample needs a member",
                "name a source with more fields");
  }
  if (twice == members.end()) return members;
  throw Error(ErrorKind::kUsage,
              fmt::format("the fields '{}' and '{}' would both be the member '{}' of a sample",
                          source.fields()[twice->field].name, source.fields()[(twice + 1)->field].name, twice->name),
              "rename one of them, or convert to tfrecord");
}

void WriteSamples(RecordProducer& source, std::uint64_t begin, std::uint64_t end, const std::filesystem::path& path,
                  const OnRecord& on_record) {
  SampleWriter writer(source, path);
  for (auto record = begin; record < end; ++record) {
    if ((record - begin) % kSamplesBetweenReports == 0) on_record(record);
    writer.Write(record);
  }
  writer.Close();
}

}  // namespace slipway::staging
