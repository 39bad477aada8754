#include "launcher/run/trials/open_book.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

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

}  // namespace

ensemble::TrialBook OpenBook(const RunFolder& folder) {
  const auto traces = TracesOfStudy(folder);
  std::error_code unknown;
  if (!traces.empty() && fs::status(folder.trial_book(), unknown).type() == fs::file_type::not_found) {
    throw LostBook(folder, "is missing", traces);
  }
  auto book = ensemble::TrialBook::OpenForWriting(folder.path());
  if (!traces.empty() && !book.Study()) throw LostBook(folder, "is empty", traces);
  return book;
}

void NoteStudy(const RunFolder& folder) {
  if (folder.CountEvents(kStudyBegun) == 0) folder.AppendEvent(kStudyBegun, Json::object());
}

}  // namespace slipway::launcher
