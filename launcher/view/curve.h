/// Curves of any length in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace slipway::launcher {

struct CurvePoint {
  double step = 0;
  double value = 0;  ///< may be NaN or infinite
  double time = 0;   ///< seconds since 1970; 0: unknown
};

/// Keeps at most about `most_points` points of a curve, however many are added. Neighbours share a bucket, of which the
/// lowest and the highest point stay, and the first that is not finite; so peaks and divergences remain visible. The
/// first and the last point stay too. When the buckets are full, each two become one.
///
/// Cost: O(1) for a point, amortised.
class CurveThinner {
 public:
  explicit CurveThinner(std::size_t most_points);

  void Add(const CurvePoint& point);

  /// In the order in which they were added.
  std::vector<CurvePoint> Points() const;
  std::uint64_t count() const { return count_; }
  std::uint64_t not_finite() const { return not_finite_; }
  /// Of all points, not only of those that stay; NaN when none is finite.
  double lowest() const;
  double highest() const;

 private:
  struct Placed {
    std::uint64_t place = 0;  ///< counted from 0
    CurvePoint point;
  };
  struct Bucket {
    std::optional<Placed> lowest;
    std::optional<Placed> highest;
    std::optional<Placed> not_finite;
  };
  static void Join(Bucket& bucket, const Bucket& later);
  void HalveBuckets();

  std::size_t most_buckets_;
  std::uint64_t width_ = 1;  ///< points of a bucket
  std::vector<Bucket> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t not_finite_ = 0;
  std::optional<CurvePoint> first_;
  std::optional<CurvePoint> last_;
};

}  // namespace slipway::launcher
