/// The trial book of a run, for who carries its trials out.
#pragma once

#include "ensemble/store/trial_book.h"
#include "launcher/run_folder/run_folder.h"

namespace slipway::launcher {

/// For writing; a new one only where no study has begun: what trials have left in their folders, and what is told of
/// those that run elsewhere, would be taken for that of others.
/// Errors: Error(kEnvironment) when the book is lost; those of the book.
ensemble::TrialBook OpenBook(const RunFolder& folder);

/// The book holds a study whose trials may leave no folders: from now on it is missed when it is lost.
void NoteStudy(const RunFolder& folder);

}  // namespace slipway::launcher
