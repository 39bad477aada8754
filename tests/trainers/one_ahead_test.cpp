#include "trainers/common/one_ahead.h"

#include <gmock/gmock.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace trainers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Values = std::vector<int>;

/// Stands for a GPU that copies as late as it may: when the host waits for it.
class LateCopies {
 public:
  using Batch = std::shared_ptr<Values>;  // as a tensor: it shows memory
  using Copy = Batch;

  explicit LateCopies(Values& log) : log_(log) {}

  Copy Begin(const Batch& batch) const {
    if (batch->front() == kCannotBegin) throw std::runtime_error("no memory on the device");
    log_.push_back(batch->front());
    return batch;
  }
  Batch End(Copy& copy) const {
    if (copy->front() == kCannotEnd) throw std::runtime_error("the device is gone");
    log_.push_back(-copy->front());
    return std::make_shared<Values>(*copy);
  }

  static constexpr int kCannotBegin = 1000;
  static constexpr int kCannotEnd = 1001;

 private:
  Values& log_;  ///< what was begun, and as negative numbers what was ended
};

/// Batches of one number, from 1, again in each epoch; all in the same memory, so each overwrites the one before.
class Source {
 public:
  explicit Source(Values epoch) : epoch_(std::move(epoch)) {}

  std::optional<LateCopies::Batch> operator()() {
    ++calls;
    memory_->front() = 0;
    if (next_ == epoch_.size()) {
      next_ = 0;
      return {};
    }
    if (epoch_[next_] == 0) throw std::runtime_error("a damaged record");
    memory_->front() = epoch_[next_++];
    return memory_;
  }
  void Rewind() { next_ = 0; }

  int calls = 0;

 private:
  Values epoch_;
  std::size_t next_ = 0;
  LateCopies::Batch memory_ = std::make_shared<Values>(1);
};

struct Pipeline {
  explicit Pipeline(Values epoch) : source(std::move(epoch)) {}

  /// 0 at the end of an epoch.
  int Next() {
    const auto batch = ahead.Next([this] { return source(); });
    return batch ? (*batch)->front() : 0;
  }
  std::string ErrorOfNext() {
    try {
      Next();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "none";
  }

  Source source;
  Values log;
  OneAhead<LateCopies> ahead{LateCopies(log)};
};

TEST(OneAhead, GivesAllBatchesOfEachEpochAndThenNothingOnce) {
  Pipeline pipeline({1, 2, 3});
  for (int epoch = 0; epoch < 3; ++epoch) {
    const Values given = {pipeline.Next(), pipeline.Next(), pipeline.Next(), pipeline.Next()};
    EXPECT_THAT(given, ElementsAre(1, 2, 3, 0)) << "epoch " << epoch;
    EXPECT_EQ(pipeline.source.calls, 4 * (epoch + 1)) << "the next epoch is not touched before its first batch";
  }
}

TEST(OneAhead, BeginsTheNextCopyBeforeABatchIsGivenAndAfterTheOneBeforeHasEnded) {
  Pipeline pipeline({1, 2, 3});
  pipeline.Next();
  EXPECT_THAT(pipeline.log, ElementsAre(1, -1, 2));
  pipeline.Next();
  EXPECT_THAT(pipeline.log, ElementsAre(1, -1, 2, -2, 3));
}

TEST(OneAhead, GivesNothingForAnEmptyEpoch) {
  Pipeline pipeline({});
  EXPECT_EQ(pipeline.Next(), 0);
  EXPECT_EQ(pipeline.Next(), 0);
  EXPECT_THAT(pipeline.log, IsEmpty());
}

TEST(OneAhead, GivesTheBatchesBeforeAnErrorThenTheErrorEachTime) {
  Pipeline pipeline({1, 2, 0});
  EXPECT_EQ(pipeline.Next(), 1);
  EXPECT_EQ(pipeline.Next(), 2) << "an error ahead costs no batch";
  EXPECT_EQ(pipeline.ErrorOfNext(), "a damaged record");
  EXPECT_EQ(pipeline.ErrorOfNext(), "a damaged record");
  pipeline.ahead.Drop();
  pipeline.source.Rewind();
  EXPECT_EQ(pipeline.Next(), 1);
}

TEST(OneAhead, GivesErrorsOfCopiesInTheTurnOfTheirBatch) {
  Pipeline begins({1, LateCopies::kCannotBegin, 2});
  EXPECT_EQ(begins.Next(), 1);
  EXPECT_EQ(begins.ErrorOfNext(), "no memory on the device");
  EXPECT_EQ(begins.ErrorOfNext(), "no memory on the device") << "no batch is left out";
  Pipeline ends({1, LateCopies::kCannotEnd});
  EXPECT_EQ(ends.Next(), 1);
  EXPECT_EQ(ends.ErrorOfNext(), "the device is gone");
  EXPECT_EQ(ends.ErrorOfNext(), "the device is gone") << "this is not the end of the epoch";
}

TEST(OneAhead, WaitsForTheCopyThatItDrops) {
  Values log;
  {
    Source source({1, 2, 3});
    OneAhead<LateCopies> ahead{LateCopies(log)};
    const auto next = [&source] { return source(); };
    ahead.Next(next);
    ahead.Drop();
    EXPECT_THAT(log, ElementsAre(1, -1, 2, -2)) << "the source may overwrite what was copied from";
    source.Rewind();
    EXPECT_EQ((*ahead.Next(next))->front(), 1) << "what was copied ahead is forgotten";
  }
  EXPECT_EQ(log.back(), -2) << "so may whoever owns the memory, at the end";
}

}  // namespace
}  // namespace trainers
