/// What stays of a program that has ended by itself: for a manager that could not hear of it.
#pragma once

namespace slipway::shim {

struct ProgramEnd {
  int code = 0;
  int signal = 0;

  static ProgramEnd FromWait(int wait_status);
};

/// Writes FOLDER/rank-RANK.exit, see protocol.h. Where it cannot be written the channel still carries the end.
void WriteExitRecord(const char* folder, int rank, ProgramEnd end);

/// The rank's log, for appending; -1 and errno when it cannot be opened.
int OpenRankLog(const char* folder, int rank);

}  // namespace slipway::shim
