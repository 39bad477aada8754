#include "ensemble/store/query.h"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

namespace slipway::ensemble {

Query::~Query() {
  // tryReset reports the error of the last step once more; it has been thrown already.
  (void)statement_.tryReset();
}

void Query::BindOne(std::int64_t value) { statement_.bind(++bound_, value); }
void Query::BindOne(double value) { statement_.bind(++bound_, value); }
void Query::BindOne(std::string_view value) { statement_.bind(++bound_, std::string(value)); }
void Query::BindOne(std::nullopt_t) { statement_.bind(++bound_); }

void Query::Run() { statement_.exec(); }
bool Query::Next() { return statement_.executeStep(); }

bool Query::IsNull(int column) const { return statement_.getColumn(column).isNull(); }
std::int64_t Query::Integer(int column) const { return statement_.getColumn(column).getInt64(); }
double Query::Real(int column) const { return statement_.getColumn(column).getDouble(); }
std::string Query::Text(int column) const { return statement_.getColumn(column).getString(); }

std::optional<double> Query::OptionalReal(int column) const {
  return IsNull(column) ? std::nullopt : std::optional(Real(column));
}

std::optional<std::int64_t> Query::OptionalInteger(int column) const {
  return IsNull(column) ? std::nullopt : std::optional(Integer(column));
}

}  // namespace slipway::ensemble
