#include "ensemble/space/domain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "ensemble/space/parameter.h"

namespace slipway::ensemble {
namespace {

Domain DomainOf(const char* definition) { return ParseParameter("p", Json::parse(definition)).domain; }

TEST(Domain, CountsAndListsItsValues) {
  EXPECT_EQ(CountValues(DomainOf(R"({"int":[8,30],"step":8})")), 3u);
  EXPECT_EQ(ValueAt(DomainOf(R"({"int":[8,30],"step":8})"), 2), Scalar{std::int64_t{24}});
  EXPECT_EQ(CountValues(DomainOf(R"({"uniform":[0,1],"step":0.1})")), 11u);
  EXPECT_EQ(CountValues(DomainOf(R"({"uniform":[0,1],"step":0.3})")), 4u);
  EXPECT_EQ(ValueAt(DomainOf(R"({"uniform":[0,1],"step":0.1})"), 3), Scalar{0.3});
  EXPECT_EQ(CountValues(DomainOf(R"({"int_log":[8,1024]})")), 1017u);
  EXPECT_EQ(CountValues(DomainOf(R"({"ordinal":["s","m","l"]})")), 3u);
  EXPECT_EQ(CountValues(DomainOf(R"({"int":[-9223372036854775808,9223372036854775807]})")), 0u);
}

/// What a person writes for `units` at so many decimals.
double Decimal(std::int64_t units, int decimals) {
  return std::strtod(fmt::format("{}e-{}", units, decimals).c_str(), nullptr);
}

TEST(Domain, StepsFromALargeEndToTheDecimalsThatWereMeant) {
  const auto domain = DomainOf(R"({"uniform":[-5,5],"step":0.1})");
  for (const double value : {-0.9, -0.7, 0.0, 0.1, 0.2, 0.3, 0.8}) {
    const auto index = IndexOf(domain, Scalar{value});
    ASSERT_TRUE(index) << value;
    EXPECT_EQ(ValueAt(domain, *index), Scalar{value});
  }
  EXPECT_EQ(ValueAt(DomainOf(R"({"uniform":[1e-5,1e-4],"step":1e-5})"), 2), Scalar{3e-5});
}

TEST(Domain, HoldsTheDoubleNearestToEachDecimalOfASteppedRange) {
  EXPECT_TRUE(rc::check("stepped decimals", [] {
    const int decimals = *rc::gen::inRange(0, 10);
    const auto low = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
    const auto step = *rc::gen::inRange<std::int64_t>(1, 1'000'000);
    const auto count = *rc::gen::inRange<std::int64_t>(2, 100'000);
    const UniformDomain range{Decimal(low, decimals), Decimal(low + (count - 1) * step, decimals),
                              Decimal(step, decimals)};
    RC_ASSERT(CountValues(range) == static_cast<std::uint64_t>(count));
    const auto index = *rc::gen::inRange<std::int64_t>(0, count);
    const double meant = Decimal(low + index * step, decimals) + 0.0;
    const auto value = ValueAt(range, static_cast<std::uint64_t>(index));
    RC_ASSERT(value == Scalar{meant});
    RC_ASSERT(!(meant == 0 && std::signbit(std::get<double>(value))));
    RC_ASSERT(IndexOf(range, value) == static_cast<std::uint64_t>(index));
    RC_ASSERT(AtUnit(range, UnitOf(range, value)) == value);
  }));
}

TEST(Domain, KnowsWhatItContains) {
  const auto stepped = DomainOf(R"({"uniform":[0,1],"step":0.1})");
  EXPECT_TRUE(Contains(stepped, Scalar{0.1 * 3}));
  EXPECT_TRUE(Contains(stepped, Scalar{std::int64_t{1}}));
  EXPECT_FALSE(Contains(stepped, Scalar{0.35}));
  EXPECT_FALSE(Contains(stepped, Scalar{1.1}));
  EXPECT_FALSE(Contains(stepped, Scalar{std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_FALSE(Contains(stepped, Scalar{"0.1"}));
  EXPECT_TRUE(Contains(DomainOf(R"({"int":[8,30],"step":8})"), Scalar{16.0}));
  EXPECT_FALSE(Contains(DomainOf(R"({"int":[8,30],"step":8})"), Scalar{std::int64_t{30}}));
  EXPECT_FALSE(Contains(DomainOf(R"({"int":[8,30]})"), Scalar{1e300}));
  EXPECT_FALSE(Contains(DomainOf(R"({"log":[1,2]})"), Scalar{"x"}));
}

TEST(Domain, GivesEveryPlaceAValueAndEveryValueItsPlace) {
  for (const char* definition : {R"({"uniform":[-3,5]})", R"({"uniform":[-3,5],"step":0.7})",
                                 R"({"log":[1e-300,1e300]})", R"({"int":[-5,90]})", R"({"int":[-5,90],"step":7})",
                                 R"({"int_log":[1,3]})", R"({"int_log":[5,100000]})", R"({"ordinal":["s","m","l"]})"}) {
    const auto domain = DomainOf(definition);
    EXPECT_TRUE(rc::check(definition, [&] {
      const double unit = *rc::gen::inRange(0, 1'000'001) / 1e6;
      const auto value = AtUnit(domain, unit);
      RC_ASSERT(Contains(domain, value));
      const double place = UnitOf(domain, value);
      RC_ASSERT(place >= 0 && place <= 1);
      const auto again = AtUnit(domain, place);
      if (IsContinuous(domain)) {
        RC_ASSERT(std::abs(place - unit) < 1e-9);
      } else {
        RC_ASSERT(again == value);
        RC_ASSERT(ValueAt(domain, *IndexOf(domain, value)) == value);
      }
    }));
  }
}

TEST(Domain, GivesEndsExactlyAndClampsWhatIsOutside) {
  EXPECT_EQ(AtUnit(DomainOf(R"({"log":[1e-4,0.1]})"), 1), Scalar{0.1});
  EXPECT_EQ(AtUnit(DomainOf(R"({"log":[1e-4,0.1]})"), -3), Scalar{1e-4});
  EXPECT_EQ(AtUnit(DomainOf(R"({"int_log":[8,1024]})"), 0), Scalar{std::int64_t{8}});
  EXPECT_EQ(AtUnit(DomainOf(R"({"int_log":[8,1024]})"), 7), Scalar{std::int64_t{1024}});
  EXPECT_EQ(AtUnit(DomainOf(R"({"int":[-9223372036854775808,9223372036854775807]})"), 1),
            Scalar{std::numeric_limits<std::int64_t>::max()});
}

TEST(Domain, SpreadsLogarithmsEvenly) {
  const auto domain = DomainOf(R"({"int_log":[1,999]})");
  int below_30 = 0;
  for (int i = 0; i < 1000; ++i) below_30 += std::get<std::int64_t>(AtUnit(domain, (i + 0.5) / 1000)) < 30;
  EXPECT_NEAR(below_30, 1000 * std::log(29.5 / 0.5) / std::log(999.5 / 0.5), 2);
}

}  // namespace
}  // namespace slipway::ensemble
