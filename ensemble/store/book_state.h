/// The inside of a TrialBook, shared by its reading and its writing half.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/files.h"
#include "ensemble/store/connection.h"
#include "ensemble/store/trial_book.h"

namespace slipway::ensemble {

struct TrialBook::State {
  explicit State(Connection opened) : connection(std::move(opened)) {}
  Query Prepare(std::string_view sql) { return Query(connection.Prepared(sql)); }

  std::optional<FileLock> lock;  // only of the writer; released after the connection is closed
  Connection connection;
};

}  // namespace slipway::ensemble
