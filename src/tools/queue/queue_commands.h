// resiliencectl queue: looks into the files of CallQueue.
//
//   resiliencectl queue --file FILE list [--dead] [--target T] [--limit N]
//   resiliencectl queue --file FILE retry ID... | --all
//   resiliencectl queue --file FILE drop ID...
//   resiliencectl queue --file FILE export [--dead]
//
// May be used while other processes have the file open.

#pragma once

#include <functional>
#include <ostream>

#include "absl/status/status.h"
#include "grpc_resilience/queue_store.h"

namespace CLI {
class App;
}

namespace grpc_resilience::tools {

/// One line for each entry, without its request and metadata, and the totals.
absl::Status ListQueue(QueueStore& store, const QueueStore::Filter& filter,
                       std::ostream& out);
/// Dead letters wait for delivery again; all of them when `ids` is empty.
absl::Status RetryQueue(QueueStore& store, const QueueStore::Ids& ids,
                        std::ostream& out);
/// NOT_FOUND when some of them are not there or are being delivered right now.
absl::Status DropFromQueue(QueueStore& store, const QueueStore::Ids& ids,
                           std::ostream& out);
/// Every entry as one line of JSON, the request in Base64. Holds the callers' data.
absl::Status ExportQueue(QueueStore& store, bool only_dead, std::ostream& out);

/// Adds the command "queue" with those four below it. What a command comes to is
/// given to `end`, once, while the arguments are parsed.
void AddQueueCommands(CLI::App& app, std::ostream& out,
                      std::function<void(const absl::Status&)> end);

}  // namespace grpc_resilience::tools
