/// Which allreduce for which size, number of ranks and nodes. Pure: no MPI; also read by the launcher for `plan`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::runtime {

/// docs/explanation/exchange.md describes each with its steps and bytes.
enum class Algorithm { kShared, kRecursiveDoubling, kRing, kRabenseifner, kTorus, kPairwise, kMpi };

/// How the ranks of one node combine a message by kShared when it lies in ordinary memory. All give the same bits.
enum class SharedWay {
  kByRule,      ///< together up to a few KiB, copies above
  kTogether,    ///< every rank combines everything; up to 4 KiB
  kCopies32K,   ///< through slots of 32 KiB in shared memory
  kCopies128K,  ///< the same with 128 KiB
  kDirect,      ///< the kernel copies between the ranks' memories
};

/// What runs between all ranks; or, hierarchical, between one leader of each node, with shared memory inside the nodes.
struct Choice {
  Algorithm algorithm = Algorithm::kMpi;
  bool hierarchical = false;
  SharedWay way = SharedWay::kByRule;  ///< of kShared

  bool operator==(const Choice&) const = default;
};

/// "ring", "hierarchical_ring", "shared", "shared_direct", "mpi", ...; there is no "hierarchical_shared".
std::string NameOf(const Choice& choice);
std::optional<Choice> ChoiceOf(std::string_view name);

/// Where the ranks of a job are.
struct Placement {
  int ranks = 1;
  int nodes = 1;
  bool shared_memory = true;  ///< ranks of a node reach each other's memory
  bool direct_copies = true;  ///< the kernel may copy between them

  bool one_shared_node() const { return nodes <= 1 && shared_memory; }

  bool operator==(const Placement&) const = default;
};

/// What leaves the table less choice.
struct Demands {
  bool canonical = false;  ///< the same bits wherever the ranks are
  bool narrow = false;     ///< 16-bit floats: they are added in float32 and rounded once
};

/// Networks whose winners differ (docs/explanation/benchmarks-exchange.md, "Simulated").
enum class Network { kUnknown, kDragonfly, kFatTree };
/// Of "unknown", "dragonfly" and "fat_tree"; nothing for another word.
std::optional<Network> NetworkOf(std::string_view name);

/// Ranges of message sizes in bytes, each with an algorithm; together they cover every size.
class AlgorithmTable {
 public:
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;  ///< inclusive; kMax: no end
    Choice choice;

    bool operator==(const Range&) const = default;
  };
  static constexpr std::int64_t kMax = INT64_MAX;

  /// What ships with Slipway.
  static AlgorithmTable Default(const Placement& placement, Network network = Network::kUnknown);

  /// This table with ranges replaced by `text`: "recursive_doubling:0-8192;ring:8193-max", sizes in bytes or with a
  /// unit (64KiB), "ring" alone for every size. Both ends belong to a range. Blank text changes nothing. Errors:
  /// Error(kUsage) naming the piece: unknown algorithm (with the nearest name), bad range, overlapping ranges.
  AlgorithmTable With(std::string_view text) const;

  /// This table with the rules for `placement` of a file written by `slipway bench allreduce --tune`
  /// ({"schema":"slipway.algorithms/1","rules":[{"ranks":2,"nodes":1,"table":"shared:0-max"}]}); rules for another
  /// placement do nothing but are checked. Errors: Error(kUsage) naming `origin`.
  AlgorithmTable WithTuned(std::string_view json, const std::string& origin, const Placement& placement) const;

  /// The choice for a message of `bytes` bytes. An unsuitable choice is replaced by the nearest that works. Unsuitable:
  /// needs shared memory where there is none, is hierarchical on one node, or does not meet the demands.
  /// Cost: no allocation.
  Choice Select(std::int64_t bytes, Demands demands = {}) const;
  /// The same table with each choice as Select() gives it, for people.
  AlgorithmTable Usable(Demands demands = {}) const;
  /// The same table as far as it fixes the bits of a result: without the ways of shared memory.
  AlgorithmTable WithoutWays() const;

  /// The table in the syntax of With(); equal tables give equal text.
  std::string ToText() const;
  const std::vector<Range>& ranges() const { return ranges_; }

  bool operator==(const AlgorithmTable&) const = default;

 private:
  AlgorithmTable(const Placement& placement, std::vector<Range> ranges)
      : placement_(placement), ranges_(std::move(ranges)) {}

  Placement placement_;
  std::vector<Range> ranges_;
};

}  // namespace slipway::runtime
