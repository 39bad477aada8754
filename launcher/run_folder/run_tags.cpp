#include "launcher/run_folder/run_tags.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/documents.h"
#include "core/error.h"
#include "core/files.h"

namespace slipway::launcher {
namespace {

std::filesystem::path TagsFile(const RunFolder& folder) { return folder.path() / "tags.json"; }

}  // namespace

bool RunTags::Has(std::string_view tag) const { return std::ranges::find(tags, tag) != tags.end(); }

RunTags ReadRunTags(const RunFolder& folder) {
  const auto file = TagsFile(folder);
  const auto text = ReadDocumentIfPresent(file);
  if (!text) return {};
  const DocumentName name{fmt::format("'{}'", file.string()), ErrorKind::kEnvironment,
                          "remove the file, and tag the run again"};
  return ReadFields<RunTags>(ParseDocument(*text, kTagsSchema, name), name);
}

RunTags RunTagsOrNone(const RunFolder& folder) try { return ReadRunTags(folder); } catch (const Error&) {
  return {};
}

void WriteRunTags(const RunFolder& folder, const RunTags& tags) {
  const auto document = WriteFields(kTagsSchema, tags);
  WriteFileDurably(TagsFile(folder), document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

RunTags ChangeRunTags(const RunFolder& folder, const std::function<void(RunTags&)>& change) {
  const auto lock = FileLock::Acquire(folder.path() / ".tags.lock", LockMode::kExclusive);
  auto tags = ReadRunTags(folder);
  change(tags);
  WriteRunTags(folder, tags);
  return tags;
}

}  // namespace slipway::launcher
