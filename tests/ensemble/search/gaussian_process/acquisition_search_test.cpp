#include "ensemble/search/gaussian_process/acquisition_search.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/ensemble/search/snapped.h"

namespace slipway::ensemble {
namespace {

Encoding EncodingOf(const char* space) { return Encoding(ParseSpace(Json::parse(space))); }

using FunctionOfPlaces = double (*)(const Coordinates& at);

/// Where the promise is largest after `count` random places, all over the space or in a box.
class Search {
 public:
  Search(const char* space, FunctionOfPlaces objective, int count) : encoding_(EncodingOf(space)), map_(encoding_) {
    Draws draws(1, 0, "test");
    TrainingSet data;
    for (int i = 0; i < count; ++i) {
      const auto at = search_.candidates().Anywhere(Whole(), draws);
      data.Add(map_, at, objective(at));
      best_ = std::min(best_, objective(at));
    }
    process_ =
        std::make_unique<GaussianProcess>(FitKernel(map_, data, {DefaultKernel(map_.axes())}, 60).kernel, map_, data);
  }

  SearchBox Whole() const { return SearchBox::Whole(encoding_.axes().size()); }
  std::vector<Promise> Rank(SearchBox box) const {
    Draws draws(1, 1, "test");
    return search_.Rank({*process_, map_, best_, std::move(box), {}}, draws);
  }
  const Encoding& encoding() const { return encoding_; }

 private:
  Encoding encoding_;
  FeatureMap map_;
  AcquisitionSearch search_{encoding_};
  double best_ = 1e9;
  std::unique_ptr<GaussianProcess> process_;
};

TEST(AcquisitionSearch, FindsTheBottomOfABowl) {
  const Search search(R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})",
                      [](const Coordinates& at) { return std::pow(at[0] - 0.3, 2) + std::pow(at[1] - 0.7, 2); }, 20);
  const auto ranked = search.Rank(search.Whole());
  EXPECT_NEAR(ranked[0].at[0], 0.3, 0.02);
  EXPECT_NEAR(ranked[0].at[1], 0.7, 0.02);
  for (std::size_t i = 1; i < ranked.size(); ++i) EXPECT_GE(ranked[i - 1].log_improvement, ranked[i].log_improvement);
}

TEST(AcquisitionSearch, StaysInItsBox) {
  const Search search(R"({"x":{"uniform":[0,1]},"y":{"uniform":[0,1]}})",
                      [](const Coordinates& at) { return std::pow(at[0] - 0.3, 2) + std::pow(at[1] - 0.7, 2); }, 20);
  for (const auto& promise : search.Rank({{0.5, 0.1}, {0.6, 0.2}, {0.55, 0.15}})) {
    EXPECT_GE(promise.at[0], 0.5);
    EXPECT_LE(promise.at[0], 0.6);
    EXPECT_GE(promise.at[1], 0.1);
    EXPECT_LE(promise.at[1], 0.2);
  }
}

TEST(AcquisitionSearch, StepsAlongOrderedAndCategoricalAxesToRealPlaces) {
  const Search search(R"({"c":{"choice":["a","b","c","d"]},"i":{"int":[1,9]},
                          "m":{"uniform":[0,1],"when":{"c":"b"}}})",
                      [](const Coordinates& at) {
                        const double m = std::isnan(at[2]) ? 0.5 : std::pow(at[2] - 0.2, 2);
                        return (at[0] == 1 ? 0 : 1) + std::pow(at[1] - 5.5 / 9, 2) + m;
                      },
                      40);
  const auto ranked = search.Rank(search.Whole());
  EXPECT_EQ(ranked[0].at[0], 1);
  EXPECT_NEAR(ranked[0].at[1], 5.5 / 9, 0.5 / 9 + 1.0 / 9);
  for (const auto& promise : ranked) {
    const auto snapped = Snapped(search.encoding(), promise.at);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(std::isnan(promise.at[i]), std::isnan(snapped[i]));
      if (std::isnan(snapped[i])) continue;
      EXPECT_NEAR(promise.at[i], snapped[i], 1e-12);
    }
  }
}

}  // namespace
}  // namespace slipway::ensemble
