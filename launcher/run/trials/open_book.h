/// Opens the trial book of a run for the process that carries out its trials, and says when the book is lost.
#pragma once

#include "ensemble/store/trial_book.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// Opens the book for writing. A new one is made only where no study has begun. Otherwise the folders of old trials,
/// and reports of trials that run elsewhere, would be mixed with new trials.
/// Errors: Error(kEnvironment) when the book is lost; those of the book.
ensemble::TrialBook OpenBook(const RunFolder& folder, ensemble::Hold hold = ensemble::Hold::kManager);

/// For readers. Errors: Error(kEnvironment) when the study has begun, and the book is missing or an empty file.
void RequireBook(const RunFolder& folder);

/// The same, and the book can be opened by this version. For a run that has succeeded: resumed without this look, it
/// would count as failed. Errors: those of RequireBook and of the book.
void RequireReadableBook(const RunFolder& folder);

/// Records that the book holds a study, even if its trials leave no folders. From now on a lost book is an error.
void NoteStudy(const RunFolder& folder);

}  // namespace slipway::launcher
