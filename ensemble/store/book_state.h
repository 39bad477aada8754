/// The inside of a TrialBook, shared by its reading and its writing half.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"
#include "core/files.h"
#include "ensemble/store/connection.h"
#include "ensemble/store/trial_book.h"

namespace slipway::ensemble {

struct TrialBook::State {
  explicit State(Connection opened, Storage where = Storage::kLocal) : connection(std::move(opened)), storage(where) {}
  Query Prepare(std::string_view sql) { return Query(connection.Prepared(sql)); }

  std::optional<FileLock> lock;  // only of the writer; released after the connection is closed
  Connection connection;
  Storage storage;
  int writes = 0;        // of this process
  bool has_news = true;  // since the last snapshot
  std::optional<SteadyTime> snapshot_at;
};

}  // namespace slipway::ensemble
