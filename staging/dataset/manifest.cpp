#include "staging/dataset/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace slipway::staging {
namespace {

constexpr std::string_view kManifestSchema = "slipway.manifest/1";

Json OrNull(const std::optional<std::uint64_t>& number) { return number ? Json(*number) : Json(nullptr); }

using Text = std::back_insert_iterator<std::string>;

std::string Number(const std::optional<std::uint64_t>& number) { return number ? std::to_string(*number) : "null"; }

/// By hand: a tree of JSON values for 100,000 files takes longer than to copy some of them.
void AddFile(Text out, const ManifestFile& file) {
  fmt::format_to(out, R"({{"path":{},"bytes":{},"source":{},"mtime_ns":{},"inode":{},"records":{},"crc32c":[)",
                 Json(file.path).dump(), file.bytes.count, Json(file.source).dump(), file.mtime_ns, file.inode,
                 Number(file.records));
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

std::string RenderManifest(const Manifest& manifest) {
  const Json head = {{"schema", kManifestSchema},
                     {"name", manifest.name},
                     {"format", DataFormatName(manifest.format)},
                     {"verify", VerifyModeName(manifest.verify)},
                     {"created", manifest.created},
                     {"generation", manifest.generation},
                     {"records", OrNull(manifest.TotalRecords())},
                     {"bytes", manifest.TotalBytes().count},
                     {"index", ToJson(manifest.index)}};
  auto text = head.dump();
  text.back() = ',';  // in the place of the closing brace
  text += R"("files":[)";
  for (const auto& file : manifest.files) {
    if (text.back() != '[') text += ',';
    AddFile(std::back_inserter(text), file);
  }
  text += "]}\n";
  return text;
}

Manifest ParseManifest(std::string_view text) {
  try {
    return ParseDocument(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kEnvironment, fmt::format("the manifest is damaged: {}", error.what()));
  }
}

}  // namespace slipway::staging
