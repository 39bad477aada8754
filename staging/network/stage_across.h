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

/// Creates the reader of the sources for this node; ReadSources by default.
using OpenSources = std::function<std::unique_ptr<SourceReader>(const StagingPlan&)>;

/// Stage() on every node of the group at the same time with the same dataset. Tiers and their roots may differ. Nodes
/// that have the generation adopt it and are the source for the others. When all have it nothing is moved.
///
/// Result: on every node the generation that Stage() would publish there, manifest last. The call returns when all
///         nodes have published.
/// Cost:   one read of the sources in total; one receive and one send on the network of each node. Memory: about 42
///         chunks of 1 MiB, and the list of all chunks (24 bytes each).
/// Errors: an Error on all nodes, with the name of the node where the cause is. Causes: what Stage() throws on any of
///         them; another key or plan; bytes damaged on the way. Also a node that is missing at the join timeout, dies,
///         or is silent for the stall timeout. A node publishes only its own complete and verified copy, and does so at
///         once. So a copy may stay published on some nodes when others fail later; the next attempt adopts it there.
///         Error(kUsage) for tier `none`.
StagedAcross StageAcrossNodes(const StagingPlan& plan, const StageOptions& options, const NodeGroup& group,
                              const OpenSources& open_sources = ReadSources);

}  // namespace slipway::staging
