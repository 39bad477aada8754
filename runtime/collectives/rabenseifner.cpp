// Halving: in step k, partners at distance 2^k split what they hold, each keeps and combines one half. So the largest
// messages go to the nearest. Doubling gathers the slices the same way back.

#include <vector>

#include "runtime/collectives/between_ranks.h"
#include "runtime/collectives/pairs.h"
#include "runtime/collectives/pieces.h"
#include "runtime/memory/scratch.h"

namespace slipway::runtime {
namespace {

class Rabenseifner {
 public:
  Rabenseifner(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members)
      : data_(static_cast<char*>(data)),
        count_(count),
        reduction_(reduction),
        members_(members),
        pairs_(members.rank(), members.size()),
        other_(Bytes(count - count / 2)) {}

  void Run() {
    if (pairs_.HandsOver() || pairs_.StandsIn()) JoinPair();
    if (!pairs_.HandsOver()) {
      Halve();
      Finish(reduction_, At(held_.first), held_.count, members_.size());
      Double();
    }
    if (pairs_.StandsIn()) members_.Send(members_.rank() - 1, data_, Bytes(count_));
    if (pairs_.HandsOver()) members_.Receive(members_.rank() + 1, data_, Bytes(count_));
  }

 private:
  std::size_t Bytes(std::int64_t count) const { return BytesOf(count, SizeOf(reduction_.dtype)); }
  char* At(std::int64_t element) const { return data_ + Bytes(element); }

  /// Both halves of a pair combine one half of the data; then the odd one takes the even one's half.
  void JoinPair() {
    const Slice lower = SliceOf(count_, 2, 0);
    const Slice upper = SliceOf(count_, 2, 1);
    const bool even = pairs_.HandsOver();
    const int partner = members_.rank() + (even ? 1 : -1);
    const Slice own = even ? lower : upper;
    const Slice theirs = even ? upper : lower;
    members_.Exchange(partner, At(theirs.first), Bytes(theirs.count), partner, other_.data(), Bytes(own.count));
    CombineWith(own, even);
    if (even) {
      members_.Send(partner, At(lower.first), Bytes(lower.count));
    } else {
      members_.Receive(partner, At(lower.first), Bytes(lower.count));
    }
  }

  /// Combines what was received into `slice`, in the order of the members.
  void CombineWith(Slice slice, bool own_first) {
    char* own = At(slice.first);
    Combine(reduction_, own_first ? own : other_.data(), own_first ? other_.data() : own, own, slice.count);
  }

  void Halve() {
    held_ = {0, count_};
    for (int distance = 1; distance < pairs_.active(); distance *= 2) {
      const bool first = (pairs_.place() & distance) == 0;
      const int partner = pairs_.MemberOf(pairs_.place() ^ distance);
      auto lower = SliceOf(held_.count, 2, 0);
      auto upper = SliceOf(held_.count, 2, 1);
      lower.first += held_.first;
      upper.first += held_.first;
      const Slice kept = first ? lower : upper;
      const Slice given = first ? upper : lower;
      members_.Exchange(partner, At(given.first), Bytes(given.count), partner, other_.data(), Bytes(kept.count));
      CombineWith(kept, first);
      steps_.push_back({partner, kept, given});
      held_ = kept;
    }
  }

  void Double() {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      members_.Exchange(step->partner, At(step->kept.first), Bytes(step->kept.count), step->partner,
                        At(step->given.first), Bytes(step->given.count));
    }
  }

  struct Step {
    int partner;
    Slice kept;
    Slice given;
  };

  char* data_;
  std::int64_t count_;
  const Reduction& reduction_;
  PointToPoint& members_;
  Pairs pairs_;
  Scratch other_;
  Slice held_;
  std::vector<Step> steps_;
};

}  // namespace

void AllreduceByRabenseifner(void* data, std::int64_t count, const Reduction& reduction, PointToPoint& members) {
  Rabenseifner(data, count, reduction, members).Run();
}

}  // namespace slipway::runtime
