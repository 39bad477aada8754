#include "core/json_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace slipway {
namespace fields_test {

enum class Colour { kRed, kGreen };
WordTable<Colour> WordsOf(Colour) {
  static constexpr Word<Colour> kWords[] = {{Colour::kRed, "red"}, {Colour::kGreen, "green", "as grass"}};
  return kWords;
}

/// Written in a form of its own.
struct Marked {
  std::uint32_t value = 0;
  bool operator==(const Marked&) const = default;
};
void WriteValue(Json& place, const Marked& marked) { place = std::to_string(marked.value) + "h"; }
void ReadValue(const JsonPlace& place, Marked& marked) {
  const auto text = place.Text();
  if (!text.ends_with('h')) place.Refuse("a number that ends with h");
  marked.value = static_cast<std::uint32_t>(std::stoul(text));
}

struct Part {
  std::string name;
  std::optional<Bytes> size;
  bool operator==(const Part&) const = default;
};

struct Whole {
  bool is_new = false;
  int small = 0;
  std::uint64_t large = 0;
  std::uint8_t byte = 0;
  double share = 0;
  Colour colour = Colour::kRed;
  std::filesystem::path path;
  Seconds wait{};
  Marked sum;
  Part part;
  std::vector<Part> parts;
  std::map<std::string, double> scores;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<Colour> colours;
  std::uint32_t crc = 0;
  std::vector<std::uint32_t> crcs;
  std::string remark = "none";
  bool operator==(const Whole&) const = default;
};

template <class Visitor, MaybeConst<Part> Struct>
void Visit(Visitor& visit, Struct& part) {
  visit("name", part.name);
  visit("size", part.size);
}

template <class Visitor, MaybeConst<Whole> Struct>
void Visit(Visitor& visit, Struct& whole) {
  visit("is_new", whole.is_new);
  visit("small", whole.small);
  visit("large", whole.large);
  visit("byte", whole.byte);
  visit("share", whole.share);
  visit("colour", whole.colour);
  visit("path", whole.path);
  visit("wait_s", whole.wait);
  visit("sum", whole.sum);
  visit("part", whole.part);
  visit("parts", whole.parts);
  visit("scores", whole.scores);
  visit("variables", whole.variables);
  visit("colours", whole.colours);
  visit("crc", Hex{whole.crc});
  visit("crcs", Hex{whole.crcs});
  visit("remark", whole.remark, Presence::kOptional);
}

}  // namespace fields_test

namespace {

using fields_test::Colour;
using fields_test::Part;
using fields_test::Whole;
using testing::HasSubstr;

const DocumentName kName{"'a.json'", ErrorKind::kEnvironment, "write it again"};

Whole Sample() {
  return {true,
          -3,
          std::numeric_limits<std::uint64_t>::max(),
          255,
          0.25,
          Colour::kGreen,
          "/a/b c",
          Seconds(1.5),
          {7},
          {"x", {}},
          {{"y", Bytes{5}}, {"z", {}}},
          {{"loss", 0.5}},
          {{"B", "1"}, {"A", ""}},
          {Colour::kGreen, Colour::kRed},
          0xab,
          {1, 0xffffffff},
          "said"};
}

template <class Action>
std::string WordsOfRefusal(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kEnvironment);
    EXPECT_EQ(error.next_step(), "write it again");
    return error.message();
  }
  return "no error";
}

std::string Refusal(const Json& json) {
  return WordsOfRefusal([&] { ReadFields<Whole>(json, kName); });
}

TEST(JsonFields, AreReadAsTheyWereWritten) {
  const auto document = WriteFields("slipway.sample/1", Sample());
  EXPECT_EQ(document.begin().key(), "schema");
  EXPECT_EQ(ReadFields<Whole>(Json::parse(document.dump()), kName), Sample());
}

TEST(JsonFields, HaveTheNamesAndFormsOfTheList) {
  const auto json = WriteFields(Sample());
  EXPECT_EQ(json["colour"], "green");
  EXPECT_EQ(json["wait_s"], 1.5);
  EXPECT_EQ(json["sum"], "7h");
  EXPECT_TRUE(json["part"]["size"].is_null());
  EXPECT_EQ(json["crc"], "000000ab");
  EXPECT_EQ(json["crcs"].dump(), R"(["00000001","ffffffff"])");
  EXPECT_EQ(json["parts"][0]["size"], 5);
  EXPECT_EQ(json["variables"].dump(), R"({"B":"1","A":""})");
  EXPECT_EQ(WriteFields(std::vector<Part>{}).dump(), "[]");
}

TEST(JsonFields, ReadNamesWithANulByte) {
  const std::map<std::string, double> scores{{std::string("a\0b", 3), 1.5}};
  EXPECT_EQ((ReadFields<std::map<std::string, double>>(WriteFields(scores), kName)), scores);
}

TEST(JsonFields, KeepsWhatIsLeftOutWhereItMayBe) {
  auto json = WriteFields(Sample());
  json.erase("remark");
  EXPECT_EQ(ReadFields<Whole>(json, kName).remark, "none");
  json.erase("small");
  EXPECT_EQ(Refusal(json), "'a.json' is damaged: it has no 'small'");
}

TEST(JsonFields, NamesTheFieldAndWhatIsExpectedThere) {
  const auto with = [](const char* pointer, Json value) {
    auto json = WriteFields(Sample());
    json[Json::json_pointer(pointer)] = std::move(value);
    return Refusal(json);
  };
  EXPECT_EQ(with("/small", "3"), "'a.json' is damaged: 'small' is \"3\", expected a whole number");
  EXPECT_THAT(with("/small", 3000000000), HasSubstr("'small' is 3000000000, expected a whole number"));
  EXPECT_THAT(with("/byte", 256), HasSubstr("'byte' is 256, expected a whole number from 0 to 255"));
  EXPECT_THAT(with("/byte", -1), HasSubstr("expected a whole number from 0 to 255"));
  EXPECT_THAT(with("/large", 1.5), HasSubstr("'large' is 1.5, expected"));
  EXPECT_THAT(with("/share", nullptr), HasSubstr("'share' is null, expected a number"));
  EXPECT_THAT(with("/is_new", 1), HasSubstr("expected true or false"));
  EXPECT_THAT(with("/colour", "blue"), HasSubstr("'colour' is \"blue\", expected one of 'red', 'green'"));
  EXPECT_THAT(with("/parts/1/size", "big"), HasSubstr("'parts[1].size' is \"big\", expected a whole number"));
  EXPECT_THAT(with("/parts/0", 4), HasSubstr("'parts[0]' is 4, expected an object"));
  EXPECT_THAT(with("/parts", Json::object()), HasSubstr("'parts' is an object, expected a list"));
  EXPECT_THAT(with("/scores/loss", "low"), HasSubstr("'scores.loss' is \"low\", expected a number"));
  EXPECT_THAT(with("/sum", "7"), HasSubstr("'sum' is \"7\", expected a number that ends with h"));
  EXPECT_THAT(with("/crcs/1", "fffffffff"), HasSubstr("'crcs[1]' is \"fffffffff\", expected 8 hexadecimal digits"));
  EXPECT_THAT(with("/crc", "0x0000ab"), HasSubstr("expected 8 hexadecimal digits"));
  EXPECT_THAT(with("/path", std::string(500, 'x')), testing::Not(HasSubstr("damaged"))) << "any text is a path";
}

TEST(JsonFields, RefusesADocumentOfAnotherKindOrVersion) {
  const auto refusal = [](std::string_view text) {
    return WordsOfRefusal([&] { ParseDocument(text, "slipway.sample/2", kName); });
  };
  EXPECT_EQ(refusal("{\"a\": "), "'a.json' is damaged: it is not JSON, or ends in the middle of it");
  EXPECT_EQ(refusal("[]"), "'a.json' is damaged: it is a list, expected an object");
  EXPECT_EQ(refusal("{}"), "'a.json' is damaged: it has no 'schema'");
  EXPECT_EQ(
      refusal(R"({"schema": "slipway.sample/1"})"),
      "'a.json' is of another version of Slipway: its schema is \"slipway.sample/1\", expected 'slipway.sample/2'");
  EXPECT_EQ(ParseDocument(R"({"schema": "slipway.sample/2", "a": 1})", "slipway.sample/2", kName)["a"], 1);
}

TEST(JsonFields, TellsAnotherVersionFromAnotherDocument) {
  const auto parse = [](std::string_view text) { ParseDocument(text, "slipway.sample/2", {"'a.json'"}); };
  EXPECT_THROW(parse(R"({"schema": "slipway.sample/3"})"), OtherVersionError);
  try {
    parse(R"({"schema": "slipway.other/2"})");
    FAIL() << "it was read";
  } catch (const OtherVersionError&) {
    FAIL() << "it is another document";
  } catch (const DocumentError& error) {
    EXPECT_EQ(error.next_step(), "");
  }
  try {
    RequireVersion(Json{{"schema", "slipway.sample/3"}}, "slipway.sample/2", "'a.json'");
    FAIL() << "it was taken";
  } catch (const OtherVersionError& error) {
    EXPECT_EQ(error.message(), "'a.json' was written by another version of Slipway (schema slipway.sample/3)");
    EXPECT_EQ(error.next_step(), "use the version of Slipway that wrote it");
  }
  for (const auto& same : {Json{{"schema", "slipway.sample/2"}}, Json{{"schema", "slipway.other/3"}},
                           Json{{"schema", 3}}, Json::object(), Json::array(), Json()}) {
    EXPECT_NO_THROW(RequireVersion(same, "slipway.sample/2", "'a.json'")) << same;
  }
}

TEST(JsonFields, NamesADeepValueWithoutWritingItOut) {
  constexpr std::size_t kDepth = 100000;
  const auto deep = Json::parse(std::string(kDepth, '[') + std::string(kDepth, ']'));
  EXPECT_EQ(WordsOfRefusal([&] { ReadFields<Part>(deep, kName); }),
            "'a.json' is damaged: it is a list, expected an object");
}

TEST(Words, AreFoundInBothDirections) {
  EXPECT_EQ(WordOf(Colour::kGreen), "green");
  EXPECT_EQ(FromWord<Colour>("red"), Colour::kRed);
  EXPECT_EQ(FromWord<Colour>("Red"), std::nullopt);
  EXPECT_THAT(AllWords<Colour>(), testing::ElementsAre("red", "green"));
  EXPECT_THAT(AllOf<Colour>(), testing::ElementsAre(Colour::kRed, Colour::kGreen));
  EXPECT_EQ(WordOf(static_cast<Colour>(9)), "unknown");
}

}  // namespace
}  // namespace slipway
