#include "launcher/run/trials/open_book.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/error.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

/// Stored in events.jsonl.
constexpr auto kStudyBegun = "study_begun";

/// The study is in the book, and durable, before the first trial has a folder.
bool HaveFolders(const fs::path& trials) {
  std::error_code none;
  return fs::directory_iterator(trials, none) != fs::directory_iterator();
}

/// What the folder tells of a study that a book held; empty: nothing.
std::string TracesOfStudy(const RunFolder& folder) {
  if (HaveFolders(folder.trials())) return fmt::format("trials have begun in '{}'", folder.trials().string());
  if (folder.CountEvents(kStudyBegun) > 0)
    return "its study has begun: trials were imported, or may have been given out";
  return {};
}

Error LostBook(const RunFolder& folder, const std::string& how, const std::string& traces) {
  const bool ran_here = HaveFolders(folder.trials());
  return {ErrorKind::kEnvironment, fmt::format("'{}' {}, but {}", folder.trial_book().string(), how, traces),
          fmt::format("bring the file back from a copy, or start the experiment again with: slipway {} {}",
                      ran_here ? "run" : "trials new", folder.spec_file().string())};
}

/// "is missing", "is empty"; nothing for a file that has content, or that cannot be looked at.
std::optional<std::string> WhatItLacks(const fs::path& book) {
  std::error_code error;
  if (fs::status(book, error).type() == fs::file_type::not_found) return "is missing";
  const auto size = fs::file_size(book, error);
  return !error && size == 0 ? std::optional("is empty") : std::nullopt;
}

}  // namespace

void RequireBook(const RunFolder& folder) {
  if (!WhatItLacks(folder.trial_book())) return;
  const auto traces = TracesOfStudy(folder);
  const auto lack = WhatItLacks(folder.trial_book());  // once more: a book is there before its traces
  if (!traces.empty() && lack) throw LostBook(folder, *lack, traces);
}

void RequireReadableBook(const RunFolder& folder) {
  RequireBook(folder);
  if (!WhatItLacks(folder.trial_book())) ensemble::TrialBook::OpenForReading(folder.path());
}

ensemble::TrialBook OpenBook(const RunFolder& folder, ensemble::Hold hold) {
  RequireBook(folder);
  const auto traces = TracesOfStudy(folder);
  auto book = ensemble::TrialBook::OpenForWriting(folder.path(), {.hold = hold});
  if (!traces.empty() && !book.Study()) throw LostBook(folder, "is empty", traces);
  return book;
}

void NoteStudy(const RunFolder& folder) {
  if (folder.CountEvents(kStudyBegun) == 0) folder.AppendEvent(kStudyBegun, Json::object());
}

}  // namespace slipway::launcher
