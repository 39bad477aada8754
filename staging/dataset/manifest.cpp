#include "staging/dataset/manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "staging/dataset/append_text.h"
#include "staging/dataset/utf8_name.h"

namespace slipway::staging {
template <class Visitor, MaybeConst<ManifestIndex> Struct>
void Visit(Visitor& visit, Struct& index) {
  visit("path", index.path);
  visit("bytes", index.bytes);
  visit("crc32c", Hex{index.crc32c});
}

template <class Visitor, MaybeConst<ManifestFile> Struct>
void Visit(Visitor& visit, Struct& file) {
  visit("path", file.path);
  visit("bytes", file.bytes);
  visit("source", file.source);
  visit("mtime_ns", file.mtime_ns);
  visit("inode", file.inode);
  visit("records", file.records);
  visit("crc32c", Hex{file.crc32c});
}

/// For reading: how it is written is below.
template <class Visitor>
void Visit(Visitor& visit, Manifest& manifest) {
  visit("name", manifest.name);
  visit("format", manifest.format);
  visit("verify", manifest.verify);
  visit("created", manifest.created);
  visit("generation", manifest.generation);
  visit("index", manifest.index, Presence::kOptional);  // manifests of version 0.1 have none
  visit("files", manifest.files);
}

namespace {

constexpr std::string_view kManifestSchema = "slipway.manifest/1";

Json OrNull(const std::optional<std::uint64_t>& number) { return number ? Json(*number) : Json(nullptr); }

constexpr std::string_view kFilesFollow = R"(,"files":[)";
constexpr std::string_view kCrcsFollow = R"(,"crc32c":[)";

/// What tells a file from others: all but the count of its records and its CRCs.
void AddIdentity(std::string& text, const ManifestFile& file) {
  text += R"({"path":)";
  AppendQuoted(text, file.path);
  text += R"(,"bytes":)";
  AppendNumber(text, file.bytes.count);
  text += R"(,"source":)";
  AppendQuoted(text, file.source);
  text += R"(,"mtime_ns":)";
  AppendNumber(text, file.mtime_ns);
  text += R"(,"inode":)";
  AppendNumber(text, file.inode);
  text += R"(,"records":)";
}

/// By hand: a tree of JSON values for 100,000 files takes longer than to copy some of them.
void AddFile(std::string& text, const ManifestFile& file) {
  AddIdentity(text, file);
  AppendNumberOrNull(text, file.records);
  text += kCrcsFollow;
  for (std::size_t i = 0; i < file.crc32c.size(); ++i) {
    text += i == 0 ? R"(")" : R"(,")";
    AppendHex(text, file.crc32c[i]);
    text += '"';
  }
  text += "]}";
}

const DocumentName kManifestDocument{"the manifest", ErrorKind::kEnvironment};

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

/// Up to the first file.
std::string RenderHead(const Manifest& manifest, const ManifestTotals& totals) {
  const Json head = {
      {"schema", kManifestSchema},         {"name", manifest.name},       {"format", WordOf(manifest.format)},
      {"verify", WordOf(manifest.verify)}, {"created", manifest.created}, {"generation", manifest.generation},
      {"records", OrNull(totals.records)}, {"bytes", totals.bytes.count}, {"index", WriteFields(manifest.index)}};
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
    AddFile(text, file);
  }
  return text.append(kManifestEnd);
}

void WriteManifest(const std::filesystem::path& path, const Manifest& head, const ManifestTotals& totals,
                   std::size_t count, const FillManifestFile& fill) {
  constexpr std::size_t kPiece = 1 << 16;
  DurableFile file(path);
  auto text = RenderHead(head, totals);
  ManifestFile entry;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    fill(i, entry);
    AddFile(text, entry);
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
         found.at("format") == WordOf(head.format) && found.at("verify") == WordOf(head.verify) &&
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
  FoundManifest result;
  if (found.contains("index")) ReadFields(found["index"], result.index, kManifestDocument);
  return result;
} catch (const nlohmann::json::exception&) {
  return {};
} catch (const DocumentError&) {
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
  AddIdentity(memory, file);
  return text.Take(memory) && TakeCount(text) && text.Take(kCrcsFollow) && TakeCrcs(text) && text.Take("}");
}

}  // namespace

std::optional<FoundManifest> FindManifestOf(const std::filesystem::path& path, const Manifest& head, std::size_t count,
                                            const FillManifestFile& fill) {
  if (!Exists(path)) return {};
  TextInPieces text(path);
  auto found = TakeHead(text, head);
  std::string memory;
  ManifestFile entry;
  for (std::size_t i = 0; found && i < count; ++i) {
    fill(i, entry);
    if ((i > 0 && !text.Take(",")) || !TakeFile(text, entry, memory)) found.reset();
  }
  return found && text.Take(kManifestEnd) && text.AtEnd() ? found : std::nullopt;
}

Manifest ParseManifest(std::string_view text) {
  return ReadFields<Manifest>(ParseDocument(text, kManifestSchema, kManifestDocument), kManifestDocument);
}

}  // namespace slipway::staging
