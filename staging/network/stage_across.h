/// Stages a dataset on all nodes of a group: each byte is read from the shared file system once and passed on.
#pragma once

#include <functional>
#include <memory>

#include "staging/generation/stage.h"
#include "staging/network/node_group.h"
#include "staging/network/source_reader.h"

namespace slipway::staging {

struct StagedAcross {
  StagedDataset dataset;
  Bytes read;      ///< by this node from the sources, or from its own copy for the others
  Bytes received;  ///< from the previous node
  Bytes sent;      ///< to the next node
};

/// Makes what this node reads the sources with; by default ReadSources.
using OpenSources = std::function<std::unique_ptr<SourceReader>(const StagingPlan&)>;

/// As Stage(), on every node of the group at the same time with the same dataset; tiers and their roots may differ.
/// Nodes that have the generation adopt it and are the source for the others; when all have it nothing is moved.
///
/// Result: on every node the generation that Stage() would publish there, manifest last. The call returns when all
///         nodes have published.
/// Cost:   of the sources one read altogether, of the network of each node one receive and one send; of memory about
///         42 chunks of 1 MiB and the list of all chunks (24 bytes each).
/// Errors: Error on all nodes, with the name of the node that met the cause: what Stage() throws on any of them; a node
///         that is missing at the join timeout, dies or is silent for the stall timeout; another key or plan; bytes
///         that were damaged on the way. A node publishes only its own complete and verified copy. It does so at once,
///         so a copy may stay published on some nodes when others fail later: the next attempt adopts it there.
///         Error(kUsage) for tier `none`.
StagedAcross StageAcrossNodes(const StagingPlan& plan, const StageOptions& options, const NodeGroup& group,
                              const OpenSources& open_sources = ReadSources);

}  // namespace slipway::staging
