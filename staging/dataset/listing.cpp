#include "staging/dataset/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json_fields.h"
#include "staging/dataset/append_text.h"
#include "staging/dataset/utf8_name.h"

namespace slipway::staging {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kListingSchema = "slipway.listing/1";

}  // namespace

template <class Visitor, MaybeConst<ListedFile> Struct>
void Visit(Visitor& visit, Struct& file) {
  visit("path", file.path);
  visit("bytes", file.bytes);
  visit("records", file.records);
}

template <class Visitor, MaybeConst<Listing> Struct>
void Visit(Visitor& visit, Struct& listing) {
  visit("format", listing.format);
  visit("files", listing.files);
}

/// By hand, like the manifest: nothing is copied before the listing is there.
std::string RenderListing(DataFormat format, std::size_t count, const FillListedFile& fill) {
  constexpr std::size_t kUsualBytes = 80;  // a file
  auto text = fmt::format(R"({{"schema":"{}","format":"{}","files":[)", kListingSchema, WordOf(format));
  text.reserve(text.size() + count * kUsualBytes);
  ListedFile file;
  for (std::size_t i = 0; i < count; ++i) {
    fill(i, file);
    text += i == 0 ? R"({"path":)" : R"(,{"path":)";
    AppendQuoted(text, file.path);
    text += R"(,"bytes":)";
    AppendNumber(text, file.bytes.count);
    text += R"(,"records":)";
    AppendNumberOrNull(text, file.records);
    text += '}';
  }
  text += "]}\n";
  return text;
}

Listing ParseListing(std::string_view text, const fs::path& name) {
  const DocumentName document{fmt::format("'{}'", name.string()), ErrorKind::kEnvironment, "stage the dataset again"};
  auto listing = ReadFields<Listing>(ParseDocument(text, kListingSchema, document), document);
  const auto refuse = [&](const char* why) {
    throw DocumentError(document.kind, fmt::format("{} is damaged: {}", document.name, why), document.hint);
  };
  if (listing.files.empty()) refuse("it lists no files");
  if (!std::ranges::all_of(listing.files, StaysInside, &ListedFile::path)) refuse("a file lies outside of the dataset");
  return listing;
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
