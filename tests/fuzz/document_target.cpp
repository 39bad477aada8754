#include "core/crc32c.h"
#include "staging/dataset/journal.h"
#include "staging/dataset/listing.h"
#include "staging/dataset/manifest.h"
#include "tests/fuzz/targets.h"
#include "tests/staging/listing_support.h"

namespace slipway::fuzz {
namespace {

void TryJournal(std::string_view line) {
  const auto entry = staging::ParseJournalEntry(line);
  if (!entry) return;
  auto again = staging::RenderJournalEntry(*entry);
  FuzzRequire(again.ends_with('\n'), "an entry is a line");
  again.pop_back();
  FuzzRequire(staging::ParseJournalEntry(again) == entry, "an entry survives being written and read");
}

std::string HexOf(std::uint32_t crc) {
  std::string text;
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[crc >> shift & 15];
  return text;
}

}  // namespace

void FuzzDocuments(Input input) {
  const auto text = AsText(input);
  Try([text] {
    const auto rendered = staging::RenderManifest(staging::ParseManifest(text));
    FuzzRequire(staging::RenderManifest(staging::ParseManifest(rendered)) == rendered, "a manifest survives");
  });
  Try([text] {
    const auto listing = staging::ParseListing(text, "input");
    FuzzRequire(staging::ParseListing(staging::TextOf(listing), "input") == listing, "a listing survives");
    for (const auto& file : listing.files) {
      const auto inside = std::filesystem::path("/d") / file.path;
      FuzzRequire(inside.lexically_normal().native().starts_with("/d/"), "a listed file lies in its directory");
    }
  });
  TryJournal(text);
  TryJournal(std::string(text) + ' ' + HexOf(Crc32c(text)));
}

}  // namespace slipway::fuzz
