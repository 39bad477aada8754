#include "staging/dataset/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kListingSchema = "slipway.listing/1";

[[noreturn]] void ThrowBroken(const fs::path& path, std::string_view why) {
  throw Error(ErrorKind::kEnvironment, fmt::format("'{}' is damaged: {}", path.string(), why),
              "stage the dataset again");
}

ListedFile ParseListedFile(const Json& json) {
  ListedFile file{json.at("path").get<std::string>(), Bytes{json.at("bytes").get<std::uint64_t>()}, {}};
  if (!json.at("records").is_null()) file.records = json.at("records").get<std::uint64_t>();
  return file;
}

Listing Parse(const Json& json, const fs::path& path) {
  if (json.at("schema") != kListingSchema) ThrowBroken(path, "unknown schema");
  const auto format = ParseDataFormat(json.at("format").get<std::string>());
  if (!format) ThrowBroken(path, "unknown format");
  Listing listing{*format, {}};
  for (const auto& file : json.at("files")) {
    listing.files.push_back(ParseListedFile(file));
    if (!StaysInside(listing.files.back().path)) ThrowBroken(path, "a file lies outside of the dataset");
  }
  if (listing.files.empty()) ThrowBroken(path, "it lists no files");
  return listing;
}

}  // namespace

/// By hand, like the manifest: nothing is copied before the listing is there.
std::string RenderListing(DataFormat format, std::size_t count, const std::function<ListedFile(std::size_t)>& file_at) {
  constexpr std::size_t kUsualBytes = 80;  // a file
  auto text = fmt::format(R"({{"schema":"{}","format":"{}","files":[)", kListingSchema, DataFormatName(format));
  text.reserve(text.size() + count * kUsualBytes);
  for (std::size_t i = 0; i < count; ++i) {
    const auto file = file_at(i);
    fmt::format_to(std::back_inserter(text), R"({}{{"path":{},"bytes":{},"records":{}}})",
                   text.back() == '[' ? "" : ",", Json(file.path).dump(), file.bytes.count,
                   file.records ? std::to_string(*file.records) : "null");
  }
  text += "]}\n";
  return text;
}

std::string RenderListing(const Listing& listing) {
  return RenderListing(listing.format, listing.files.size(), [&](std::size_t i) { return listing.files[i]; });
}

Listing ParseListing(std::string_view text, const fs::path& name) {
  try {
    return Parse(Json::parse(text), name);
  } catch (const nlohmann::json::exception& error) {
    ThrowBroken(name, error.what());
  }
}

void WriteListing(const fs::path& directory, std::string_view listing) {
  WriteFileAtomically(directory / kListingName, listing);
}

std::optional<Listing> ReadListing(const fs::path& directory) {
  const auto path = directory / kListingName;
  const auto text = ReadFileIfPresent(path);
  if (!text) return {};
  return ParseListing(*text, path);
}

bool StaysInside(const std::filesystem::path& name) {
  return !name.empty() && name.is_relative() && std::ranges::find(name, std::filesystem::path("..")) == name.end();
}

}  // namespace slipway::staging
