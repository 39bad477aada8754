#include "staging/dataset/manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/files.h"

namespace slipway::staging {
namespace {

constexpr std::string_view kManifestSchema = "slipway.manifest/1";

Json OrNull(const std::optional<std::uint64_t>& number) { return number ? Json(*number) : Json(nullptr); }

using Text = std::back_insert_iterator<std::string>;

std::string Number(const std::optional<std::uint64_t>& number) { return number ? std::to_string(*number) : "null"; }

constexpr std::string_view kFilesFollow = R"(,"files":[)";
constexpr std::string_view kCrcsFollow = R"(,"crc32c":[)";

/// As JSON. Most names need no more than the quotes.
void AddQuoted(Text out, const std::string& text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  std::ranges::all_of(text, is_plain) ? fmt::format_to(out, R"("{}")", text)
                                      : fmt::format_to(out, "{}", Json(text).dump());
}

/// What tells a file from others: all but the count of its records and its CRCs.
void AddIdentity(Text out, const ManifestFile& file) {
  fmt::format_to(out, R"({{"path":)");
  AddQuoted(out, file.path);
  fmt::format_to(out, R"(,"bytes":{},"source":)", file.bytes.count);
  AddQuoted(out, file.source);
  fmt::format_to(out, R"(,"mtime_ns":{},"inode":{},"records":)", file.mtime_ns, file.inode);
}

/// By hand: a tree of JSON values for 100,000 files takes longer than to copy some of them.
void AddFile(Text out, const ManifestFile& file) {
  AddIdentity(out, file);
  fmt::format_to(out, "{}{}", Number(file.records), kCrcsFollow);
  for (std::size_t i = 0; i < file.crc32c.size(); ++i) {
    fmt::format_to(out, R"({}"{:08x}")", i == 0 ? "" : ",", file.crc32c[i]);
  }
  fmt::format_to(out, "]}}");
}

Json ToJson(const std::optional<ManifestIndex>& index) {
  if (!index) return nullptr;
  return {{"path", index->path}, {"bytes", index->bytes.count}, {"crc32c", fmt::format("{:08x}", index->crc32c)}};
}

std::uint32_t ParseCrc(const std::string& text) {
  std::uint32_t crc = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), crc, 16);
  if (error != std::errc() || text.size() != 8 || end != text.data() + text.size()) {
    throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is not a CRC32C", text));
  }
  return crc;
}

std::optional<std::uint64_t> ParseCount(const Json& json) {
  if (json.is_null()) return {};
  return json.get<std::uint64_t>();
}

std::optional<ManifestIndex> ParseIndex(const Json& json) {
  if (json.is_null()) return {};
  return ManifestIndex{json.at("path").get<std::string>(), Bytes{json.at("bytes").get<std::uint64_t>()},
                       ParseCrc(json.at("crc32c").get<std::string>())};
}

ManifestFile ParseManifestFile(const Json& json) {
  ManifestFile file;
  file.path = json.at("path").get<std::string>();
  file.bytes = Bytes{json.at("bytes").get<std::uint64_t>()};
  file.source = json.at("source").get<std::string>();
  file.mtime_ns = json.at("mtime_ns").get<std::int64_t>();
  file.inode = json.at("inode").get<std::uint64_t>();
  for (const auto& block : json.at("crc32c")) file.crc32c.push_back(ParseCrc(block.get<std::string>()));
  file.records = ParseCount(json.at("records"));
  return file;
}

template <class Value>
Value Known(const std::optional<Value>& value, std::string_view what) {
  if (!value) throw Error(ErrorKind::kEnvironment, fmt::format("the manifest has an unknown {}", what));
  return *value;
}

Manifest ParseDocument(const Json& json) {
  if (json.at("schema") != kManifestSchema) throw Error(ErrorKind::kEnvironment, "the manifest has an unknown schema");
  Manifest manifest;
  manifest.name = json.at("name").get<std::string>();
  manifest.format = Known(ParseDataFormat(json.at("format").get<std::string>()), "format");
  manifest.verify = Known(ParseVerifyMode(json.at("verify").get<std::string>()), "verify mode");
  manifest.created = json.at("created").get<std::string>();
  manifest.generation = json.at("generation").get<std::string>();
  for (const auto& file : json.at("files")) manifest.files.push_back(ParseManifestFile(file));
  if (json.contains("index")) manifest.index = ParseIndex(json["index"]);  // manifests of version 0.1 have none
  return manifest;
}

}  // namespace

Bytes Manifest::TotalBytes() const {
  Bytes total;
  for (const auto& file : files) total.count += file.bytes.count;
  return total;
}

std::optional<std::uint64_t> Manifest::TotalRecords() const {
  std::uint64_t total = 0;
  for (const auto& file : files) {
    if (!file.records) return {};
    total += *file.records;
  }
  return total;
}

namespace {

/// What all files are together.
struct Totals {
  Bytes bytes;
  std::optional<std::uint64_t> records = 0;  ///< nothing when one file has no count

  void Add(const ManifestFile& file) {
    bytes.count += file.bytes.count;
    records = records && file.records ? std::optional(*records + *file.records) : std::nullopt;
  }
};

/// Up to the first file.
std::string RenderHead(const Manifest& manifest, const Totals& totals) {
  const Json head = {{"schema", kManifestSchema},
                     {"name", manifest.name},
                     {"format", DataFormatName(manifest.format)},
                     {"verify", VerifyModeName(manifest.verify)},
                     {"created", manifest.created},
                     {"generation", manifest.generation},
                     {"records", OrNull(totals.records)},
                     {"bytes", totals.bytes.count},
                     {"index", ToJson(manifest.index)}};
  auto text = head.dump();
  text.pop_back();  // the closing brace
  return text.append(kFilesFollow);
}

constexpr std::string_view kManifestEnd = "]}\n";

}  // namespace

std::string RenderManifest(const Manifest& manifest) {
  auto text = RenderHead(manifest, {manifest.TotalBytes(), manifest.TotalRecords()});
  for (const auto& file : manifest.files) {
    if (text.back() != '[') text += ',';
    AddFile(std::back_inserter(text), file);
  }
  return text.append(kManifestEnd);
}

void WriteManifest(const std::filesystem::path& path, const Manifest& head, std::size_t count,
                   const std::function<ManifestFile(std::size_t)>& file_at) {
  constexpr std::size_t kPiece = 1 << 16;
  Totals totals;
  for (std::size_t i = 0; i < count; ++i) totals.Add(file_at(i));
  DurableFile file(path);
  auto text = RenderHead(head, totals);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    AddFile(std::back_inserter(text), file_at(i));
    if (text.size() < kPiece) continue;
    file.Write(text);
    text.clear();
  }
  file.Write(text.append(kManifestEnd));
  file.Commit();
}

namespace {

/// The text of a file, read piece by piece.
class TextInPieces {
 public:
  explicit TextInPieces(const std::filesystem::path& path) : path_(path), fd_(OpenFile(path, O_RDONLY)) {}

  /// Takes `expected` away where it comes next.
  bool Take(std::string_view expected) {
    if (!Peek(expected.size()).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  /// The next bytes: `count`, or fewer at the end.
  std::string_view Peek(std::size_t count) {
    if (text_.size() - at_ < count) Fill(count);
    return std::string_view(text_).substr(at_, count);
  }
  void Skip(std::size_t count) { at_ += count; }
  bool AtEnd() { return Peek(1).empty(); }

 private:
  void Fill(std::size_t wanted) {
    constexpr std::size_t kPiece = 1 << 16;
    text_.erase(0, std::exchange(at_, 0));
    while (text_.size() < wanted) {
      const auto held = text_.size();
      text_.resize(held + kPiece);
      const auto count = ::read(fd_.get(), text_.data() + held, kPiece);
      if (count < 0 && errno != EINTR) ThrowErrno(fmt::format("cannot read '{}'", path_.string()));
      text_.resize(held + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      if (count == 0) return;
    }
  }

  const std::filesystem::path& path_;
  UniqueFd fd_;
  std::string text_;
  std::size_t at_ = 0;
};

bool IsHead(const Json& found, const Manifest& head) {
  return found.at("schema") == kManifestSchema && found.at("name") == head.name &&
         found.at("format") == DataFormatName(head.format) && found.at("verify") == VerifyModeName(head.verify) &&
         found.at("generation") == head.generation;
}

/// Nothing for the head of another manifest.
std::optional<FoundManifest> TakeHead(TextInPieces& text, const Manifest& head) try {
  constexpr std::size_t kLongestHead = 1 << 16;
  const auto start = text.Peek(kLongestHead);
  const auto length = start.find(kFilesFollow);
  if (length == start.npos) return {};
  const auto found = Json::parse(std::string(start.substr(0, length)) + "}");
  text.Skip(length + kFilesFollow.size());
  if (!IsHead(found, head)) return {};
  return FoundManifest{found.contains("index") ? ParseIndex(found["index"]) : std::nullopt};
} catch (const nlohmann::json::exception&) {
  return {};
}

bool TakeCount(TextInPieces& text) {
  if (text.Take("null")) return true;
  constexpr std::size_t kMostDigits = 20;
  const auto digits = text.Peek(kMostDigits).find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  text.Skip(digits);
  return true;
}

bool TakeCrcs(TextInPieces& text) {
  constexpr std::size_t kQuoted = 10;
  if (text.Take("]")) return true;
  do {
    const auto crc = text.Peek(kQuoted);
    const auto digits = crc.substr(std::min<std::size_t>(1, crc.size()));
    if (crc.size() < kQuoted || crc.front() != '"' || digits.find_first_not_of("0123456789abcdef") != kQuoted - 2 ||
        crc.back() != '"') {
      return false;
    }
    text.Skip(kQuoted);
  } while (text.Take(","));
  return text.Take("]");
}

bool TakeFile(TextInPieces& text, const ManifestFile& file, std::string& memory) {
  memory.clear();
  AddIdentity(std::back_inserter(memory), file);
  return text.Take(memory) && TakeCount(text) && text.Take(kCrcsFollow) && TakeCrcs(text) && text.Take("}");
}

}  // namespace

std::optional<FoundManifest> FindManifestOf(const std::filesystem::path& path, const Manifest& head, std::size_t count,
                                            const std::function<ManifestFile(std::size_t)>& file_at) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  TextInPieces text(path);
  auto found = TakeHead(text, head);
  std::string memory;
  for (std::size_t i = 0; found && i < count; ++i) {
    if ((i > 0 && !text.Take(",")) || !TakeFile(text, file_at(i), memory)) found.reset();
  }
  return found && text.Take(kManifestEnd) && text.AtEnd() ? found : std::nullopt;
}

Manifest ParseManifest(std::string_view text) {
  try {
    return ParseDocument(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kEnvironment, fmt::format("the manifest is damaged: {}", error.what()));
  }
}

}  // namespace slipway::staging
