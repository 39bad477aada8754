/// One use of a prepared statement: bind, step, read. The destructor resets the statement for its next use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace SQLite {
class Statement;
}

namespace slipway::ensemble {

/// Parameters are bound from left to right. Errors: those of SQLite; see Translating (connection.h).
class Query {
 public:
  explicit Query(SQLite::Statement& statement) : statement_(statement) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  template <class... Values>
  Query& Bind(const Values&... values) {
    (BindOne(values), ...);
    return *this;
  }
  /// Runs a statement that gives no rows.
  void Run();
  /// Goes to the next row; false after the last.
  bool Next();

  bool IsNull(int column) const;
  std::int64_t Integer(int column) const;
  double Real(int column) const;
  std::string Text(int column) const;
  std::optional<double> OptionalReal(int column) const;
  std::optional<std::int64_t> OptionalInteger(int column) const;

 private:
  void BindOne(std::int64_t value);
  void BindOne(int value) { BindOne(static_cast<std::int64_t>(value)); }
  void BindOne(double value);
  void BindOne(std::string_view value);
  void BindOne(const std::string& value) { BindOne(std::string_view(value)); }
  void BindOne(const char* value) { BindOne(std::string_view(value)); }
  void BindOne(std::nullopt_t);
  template <class Value>
  void BindOne(const std::optional<Value>& value) {
    if (value) {
      BindOne(*value);
    } else {
      BindOne(std::nullopt);
    }
  }

  SQLite::Statement& statement_;
  int bound_ = 0;
};

}  // namespace slipway::ensemble
