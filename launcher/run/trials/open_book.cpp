#include "launcher/run/trials/open_book.h"

#include <fmt/format.h>

#include "core/error.h"

namespace slipway::launcher {
namespace {
namespace fs = std::filesystem;

/// The study is in the book, and durable, before the first trial has a folder.
bool HaveBegun(const fs::path& trials) {
  std::error_code none;
  return fs::directory_iterator(trials, none) != fs::directory_iterator();
}

Error LostBook(const RunFolder& folder, const std::string& how) {
  return {ErrorKind::kEnvironment,
          fmt::format("'{}' {}, but trials have begun in '{}'", folder.trial_book().string(), how,
                      folder.trials().string()),
          fmt::format("bring the file back from a copy, or start the experiment again with: slipway run {}",
                      folder.spec_file().string())};
}

}  // namespace

ensemble::TrialBook OpenBook(const RunFolder& folder) {
  const bool begun = HaveBegun(folder.trials());
  std::error_code unknown;
  if (begun && fs::status(folder.trial_book(), unknown).type() == fs::file_type::not_found) {
    throw LostBook(folder, "is missing");
  }
  auto book = ensemble::TrialBook::OpenForWriting(folder.path());
  if (begun && !book.Study()) throw LostBook(folder, "is empty");
  return book;
}

}  // namespace slipway::launcher
