#include "ensemble/space/constraint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "core/error.h"
#include "core/nearest_word.h"
#include "ensemble/model/scalar.h"
#include "ensemble/space/rounding.h"
#include "ensemble/space/suggest_value.h"
#include "ensemble/space/tokens.h"

namespace slipway::ensemble {
namespace {

using Numbers = std::vector<double>;

constexpr const char* kExample = "write for example: lr < 0.1 and units_1 <= units_0";
constexpr const char* kSplit = "split it into several constraints";

enum class Type { kNumber, kText, kTruth, kAny };

std::string_view TypeName(Type type) {
  constexpr std::array<std::string_view, 4> kNames = {"a number", "a text", "true or false", "a value"};
  return kNames[static_cast<std::size_t>(type)];
}

struct Function {
  std::string name;
  std::size_t least, most;  // operands
  double (*compute)(const Numbers& x);
};

const std::vector<Function>& Functions() {
  static const std::vector<Function> functions = {
      {"abs", 1, 1, [](const Numbers& x) { return std::abs(x[0]); }},
      {"sqrt", 1, 1, [](const Numbers& x) { return std::sqrt(x[0]); }},
      {"exp", 1, 1, [](const Numbers& x) { return std::exp(x[0]); }},
      {"log", 1, 1, [](const Numbers& x) { return std::log(x[0]); }},
      {"log2", 1, 1, [](const Numbers& x) { return std::log2(x[0]); }},
      {"log10", 1, 1, [](const Numbers& x) { return std::log10(x[0]); }},
      {"floor", 1, 1, [](const Numbers& x) { return std::floor(WithoutRounding(x[0])); }},
      {"ceil", 1, 1, [](const Numbers& x) { return std::ceil(WithoutRounding(x[0])); }},
      {"round", 1, 1, [](const Numbers& x) { return std::round(x[0]); }},
      {"min", 2, 100, [](const Numbers& x) { return *std::ranges::min_element(x); }},
      {"max", 2, 100, [](const Numbers& x) { return *std::ranges::max_element(x); }}};
  return functions;
}

struct Arithmetic {
  std::string_view sign;
  double (*compute)(const Numbers& x);
};
constexpr Arithmetic kSums[] = {{"+", [](const Numbers& x) { return SumOf(x[0], x[1]); }},
                                {"-", [](const Numbers& x) { return SumOf(x[0], -x[1]); }}};
constexpr Arithmetic kProducts[] = {{"*", [](const Numbers& x) { return x[0] * x[1]; }},
                                    {"/", [](const Numbers& x) { return x[0] / x[1]; }},
                                    {"%", [](const Numbers& x) { return RemainderOf(x[0], x[1]); }}};

struct Comparison {
  std::string_view sign;
  Operation operation;
  bool swapped;  // a > b is b < a
};
constexpr Comparison kComparisons[] = {{"==", Operation::kEqual, false}, {"!=", Operation::kUnequal, false},
                                       {"<", Operation::kLess, false},   {"<=", Operation::kAtMost, false},
                                       {">", Operation::kLess, true},    {">=", Operation::kAtMost, true}};

Type TypeOf(const Scalar& value) {
  if (IsNumber(value)) return Type::kNumber;
  if (std::holds_alternative<bool>(value)) return Type::kTruth;
  return std::holds_alternative<std::string>(value) ? Type::kText : Type::kAny;
}

Type TypeOf(const Domain& domain) {
  if (!IsList(domain)) return Type::kNumber;
  const Type first = TypeOf(ValueAt(domain, 0));
  for (std::uint64_t i = 1; i < CountValues(domain); ++i) {
    if (TypeOf(ValueAt(domain, i)) != first) return Type::kAny;
  }
  return first;
}

/// A part of the expression, with its type and its place.
struct Term {
  Expression expression;
  Type type = Type::kAny;
  std::size_t place = 0;
  std::size_t size = 1;  ///< operations and operands, those of its parts included
};

/// Recursive descent; one function for each level of the syntax.
class Parser {
 public:
  Parser(const std::string& text, const std::vector<Parameter>& parameters)
      : text_(text),
        parameters_(parameters),
        tokens_(
            Tokens(text, [this](std::size_t place, const std::string& reason) { Refuse(place, reason, kExample); })) {}

  Expression Parse() {
    Term whole = Or();
    if (Now().kind != TokenKind::kEnd)
      Refuse(Now().place, fmt::format("'{}' is not expected here", Now().text), kExample);
    Require(whole, Type::kTruth);
    return std::move(whole.expression);
  }

 private:
  [[noreturn]] void Refuse(std::size_t place, const std::string& reason, std::string next_step = {}) const {
    throw Error(ErrorKind::kUsage, fmt::format("constraint \"{}\", character {}: {}", text_, place + 1, reason),
                std::move(next_step));
  }

  const Token& Now() const { return tokens_[at_]; }
  bool IsAt(TokenKind kind, std::string_view text) const { return Now().kind == kind && Now().text == text; }
  bool Take(TokenKind kind, std::string_view text) {
    if (!IsAt(kind, text)) return false;
    ++at_;
    return true;
  }
  void Expect(std::string_view sign) {
    if (!Take(TokenKind::kSign, sign)) Refuse(Now().place, fmt::format("'{}' is missing", sign), "add it");
  }

  void Require(const Term& term, Type type) const {
    // A choice with values of several kinds has no single type: an error at run time would come too late.
    if (term.type == type) return;
    Refuse(term.place, fmt::format("this is {}, but {} is needed", TypeName(term.type), TypeName(type)), kExample);
  }

  template <class... Terms>
  static std::vector<Term> List(Terms... terms) {
    std::vector<Term> list;
    (list.push_back(std::move(terms)), ...);
    return list;
  }

  Term Join(Operation operation, std::vector<Term> terms, Type type) const {
    Term joined{{operation}, type, terms.front().place};
    for (auto& term : terms) {
      joined.size += term.size;
      joined.expression.operands.push_back(std::move(term.expression));
    }
    // The middle of a chain is part of both comparisons, so nested chains double with each level.
    if (joined.size > Constraint::kLargest)
      Refuse(joined.place, "comparisons of comparisons are nested too deeply", kSplit);
    return joined;
  }

  Term Junction(std::string_view word, Operation operation, Term (Parser::*part)()) {
    std::vector<Term> terms = List((this->*part)());
    while (Take(TokenKind::kWord, word)) terms.push_back((this->*part)());
    if (terms.size() == 1) return std::move(terms[0]);
    for (const auto& term : terms) Require(term, Type::kTruth);
    return Join(operation, std::move(terms), Type::kTruth);
  }

  Term Or() { return Junction("or", Operation::kOr, &Parser::And); }
  Term And() { return Junction("and", Operation::kAnd, &Parser::Not); }

  Term Not() {
    const Deeper deeper(*this);
    if (!Take(TokenKind::kWord, "not")) return Compared();
    Term term = Not();
    Require(term, Type::kTruth);
    return Join(Operation::kNot, List(std::move(term)), Type::kTruth);
  }

  Term Compared() {
    Term left = Sum();
    std::vector<Term> all;
    for (;;) {
      if (IsAt(TokenKind::kWord, "in") || IsAt(TokenKind::kWord, "not")) {
        all.push_back(Membership(std::move(left)));
        break;
      }
      const auto* comparison = std::ranges::find(kComparisons, Now().text, &Comparison::sign);
      if (Now().kind != TokenKind::kSign || comparison == std::end(kComparisons)) break;
      ++at_;
      Term right = Sum();
      all.push_back(Compare(*comparison, left, right));
      left = std::move(right);
    }
    if (all.empty()) return left;
    return all.size() == 1 ? std::move(all[0]) : Join(Operation::kAnd, std::move(all), Type::kTruth);
  }

  Term Compare(const Comparison& comparison, Term left, Term right) const {
    const bool by_value = comparison.operation == Operation::kEqual || comparison.operation == Operation::kUnequal;
    if (by_value) {
      Settle(left, right);
      Settle(right, left);
    } else {
      if (left.type == Type::kText || right.type == Type::kText)
        Refuse(left.place, "texts have no order", "compare them with == or !=");
      Require(left, Type::kNumber);
      Require(right, Type::kNumber);
    }
    if (comparison.swapped) std::swap(left, right);
    return Join(comparison.operation, List(std::move(left), std::move(right)), Type::kTruth);
  }

  /// Turns a literal that is compared with a parameter into a value of the parameter's domain. A literal outside the
  /// domain is an error: `optimizer == 'sdg'` would never be true.
  void Settle(const Term& left, Term& right) const {
    if (left.type != right.type && left.type != Type::kAny && right.type != Type::kAny) {
      Refuse(right.place, fmt::format("{} is never equal to {}", TypeName(left.type), TypeName(right.type)),
             "compare values of one type");
    }
    if (left.expression.operation != Operation::kParameter || right.expression.operation != Operation::kValue) return;
    const Parameter& parameter = *FindParameter(parameters_, left.expression.name);
    auto& value = right.expression.value;
    auto canonical = Canonical(parameter.domain, value);
    if (!canonical) {
      Refuse(right.place, fmt::format("'{}' never has the value {}{}", parameter.name, Written(value),
                                      SuggestValue(parameter.domain, value)));
    }
    value = std::move(*canonical);
  }

  /// The text of a value: 9, not 9.0. Expressions compute with floating-point numbers only.
  static std::string Written(const Scalar& value) {
    const auto* number = std::get_if<double>(&value);
    return number != nullptr ? fmt::format("{}", *number) : Describe(value);
  }

  Term Membership(Term left) {
    const bool negated = Take(TokenKind::kWord, "not");
    if (!Take(TokenKind::kWord, "in"))
      Refuse(Now().place, "'in' is missing after 'not'", "write for example: units not in [16, 32]");
    Expect("[");
    std::vector<Term> terms = List(std::move(left));
    do {
      terms.push_back(Sum());
      Settle(terms.front(), terms.back());
    } while (Take(TokenKind::kSign, ","));
    Expect("]");
    Term in = Join(Operation::kIn, std::move(terms), Type::kTruth);
    return negated ? Join(Operation::kNot, List(std::move(in)), Type::kTruth) : in;
  }

  Term Compute(double (*function)(const Numbers&), std::vector<Term> terms) const {
    for (const auto& term : terms) Require(term, Type::kNumber);
    Term term = Join(Operation::kNumber, std::move(terms), Type::kNumber);
    term.expression.function = function;
    return term;
  }

  template <std::size_t kCount>
  Term Chain(const Arithmetic (&signs)[kCount], Term (Parser::*part)()) {
    Term left = (this->*part)();
    for (;;) {
      const auto* sign = std::ranges::find(signs, Now().text, &Arithmetic::sign);
      if (Now().kind != TokenKind::kSign || sign == std::end(signs)) return left;
      ++at_;
      Term right = (this->*part)();
      left = Compute(sign->compute, List(std::move(left), std::move(right)));
    }
  }

  Term Sum() { return Chain(kSums, &Parser::Product); }
  Term Product() { return Chain(kProducts, &Parser::Signed); }

  Term Signed() {
    const Deeper deeper(*this);
    const auto place = Now().place;
    if (!Take(TokenKind::kSign, "-")) return Power();
    Term term = Signed();
    term.place = place;
    // -1 becomes one value, which can be looked up in a domain.
    if (auto* number = std::get_if<double>(&term.expression.value);
        number != nullptr && term.expression.operation == Operation::kValue) {
      *number = -*number;
      return term;
    }
    return Compute([](const Numbers& x) { return -x[0]; }, List(std::move(term)));
  }

  Term Power() {
    Term base = Primary();
    if (!Take(TokenKind::kSign, "**")) return base;
    Term exponent = Signed();
    return Compute([](const Numbers& x) { return std::pow(x[0], x[1]); }, List(std::move(base), std::move(exponent)));
  }

  Term Primary() {
    const Token& token = Now();
    ++at_;
    switch (token.kind) {
      case TokenKind::kNumber: return Literal(token.number, token.place);
      case TokenKind::kText: return Literal(token.text, token.place);
      case TokenKind::kName: return IsAt(TokenKind::kSign, "(") ? Call(token) : Named(token);
      default: break;
    }
    if (token.kind == TokenKind::kSign && token.text == "(") return InBrackets();
    if (token.kind == TokenKind::kWord && token.text == "true") return Literal(true, token.place);
    if (token.kind == TokenKind::kWord && token.text == "false") return Literal(false, token.place);
    if (token.kind == TokenKind::kWord && token.text == "null") return Literal(std::monostate{}, token.place);
    Refuse(token.place,
           fmt::format("a parameter, a value or '(' is missing before {}",
                       token.kind == TokenKind::kEnd ? token.text : "'" + token.text + "'"),
           "complete the comparison");
  }

  static Term Literal(Scalar value, std::size_t place) {
    const Type type = TypeOf(value);
    return {{Operation::kValue, std::move(value)}, type, place};
  }

  Term InBrackets() {
    const Deeper deeper(*this);
    Term term = Or();
    Expect(")");
    return term;
  }

  Term Named(const Token& token) const {
    if (const auto* parameter = FindParameter(parameters_, token.text)) {
      return {{Operation::kParameter, {}, token.text}, TypeOf(parameter->domain), token.place};
    }
    Refuse(token.place,
           fmt::format("there is no parameter '{}'{}", token.text, SuggestWord(token.text, NamesOf(parameters_))));
  }

  Term Call(const Token& name) {
    const auto function = std::ranges::find(Functions(), name.text, &Function::name);
    if (function == Functions().end()) {
      std::vector<std::string> names;
      for (const auto& each : Functions()) names.push_back(each.name);
      Refuse(name.place, fmt::format("there is no function '{}'{}", name.text, SuggestWord(name.text, names)));
    }
    Expect("(");
    const Deeper deeper(*this);
    std::vector<Term> terms;
    do terms.push_back(Sum());
    while (Take(TokenKind::kSign, ","));
    Expect(")");
    if (terms.size() < function->least || terms.size() > function->most) {
      Refuse(name.place,
             fmt::format("'{}' takes {} number{}", name.text, function->most == 1 ? "one" : "two or more",
                         function->most == 1 ? "" : "s"),
             "change what stands in its brackets");
    }
    return Compute(function->compute, std::move(terms));
  }

  /// Bounds the depth of recursion, of the parser and of all later walks over the tree.
  class Deeper {
   public:
    explicit Deeper(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > 3 * Constraint::kDeepest)
        parser_.Refuse(parser_.Now().place, "it is nested too deeply", kSplit);
    }
    ~Deeper() { --parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Parser& parser_;
  };

  const std::string& text_;
  const std::vector<Parameter>& parameters_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

void CheckLength(const std::string& text) {
  if (text.size() <= Constraint::kLongest) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("constraint \"{}...\": it has {} characters; at most {} are read", text.substr(0, 40),
                          text.size(), Constraint::kLongest),
              "write several constraints");
}

}  // namespace

Constraint::Constraint(std::string text, const std::vector<Parameter>& parameters) : text_(std::move(text)) {
  CheckLength(text_);
  expression_ = Parser(text_, parameters).Parse();
}

bool Constraint::HoldsAt(const Point& point) const {
  const auto result = Evaluate(expression_, point);
  return !result || std::get<bool>(*result);
}

}  // namespace slipway::ensemble
