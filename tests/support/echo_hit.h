// What the test server does with one hit of a key, and what it remembers of it.
// Knows nothing of contexts and reactors.

#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "test_service.pb.h"

namespace grpc_resilience::test {

/// What arrived, by key. This type is safe to use from several threads at once.
class HitLog {
 public:
  /// Number of the hit, from 1.
  int Add(const std::string& key, const Observation& observation);
  /// Completes the observation of a hit.
  void End(const std::string& key, int hit, const Observation& observation);
  HitsResponse Get(const std::string& key) const;
  void Clear();

  std::atomic<int> running{0};

 private:
  struct Key {
    int count = 0;
    std::map<int, Observation> hits;
  };
  mutable std::mutex mu_;
  std::map<std::string, Key> keys_;
  int total_ = 0;
};

/// The fault that overrides all scripts. Safe for use from several threads.
class FaultSwitch {
 public:
  void Set(const GlobalFault& fault);
  /// The fault that meets a call of `method`; kind NONE for none.
  GlobalFault Draw(const std::string& method) const;

 private:
  mutable std::mutex mu_;
  GlobalFault fault_;
};

/// One hit from arrival to answer. Not safe for use from several threads at once.
class Hit {
 public:
  using MetadataList = std::vector<std::pair<std::string, std::string>>;

  Hit(HitLog* log, const FaultSwitch* faults, Observation seen);
  /// Completes the log's entry.
  ~Hit();
  Hit(const Hit&) = delete;
  Hit& operator=(const Hit&) = delete;

  /// A request arrived.
  void AddRequest(const EchoRequest& request);
  /// `request` is the one with key and script, and outlives this object.
  void Begin(const EchoRequest& request);

  /// Not to be answered before it is cancelled.
  bool Hangs() const;
  /// To be answered after this time.
  std::chrono::nanoseconds Delay() const;
  bool Fails() const;
  /// OK, or the failure that the script or the global fault asks for; once.
  grpc::Status Verdict();
  void SetCancelled() { seen_.set_cancelled(true); }
  void Fill(EchoResponse* response) const;

  const Script& script() const { return *script_; }
  const MetadataList& initial_metadata() const { return initial_metadata_; }
  /// Complete after Verdict.
  const MetadataList& trailing_metadata() const { return trailing_metadata_; }

 private:
  HitLog* const log_;
  Observation seen_;
  GlobalFault fault_;
  MetadataList initial_metadata_;
  MetadataList trailing_metadata_;
  const Script* script_ = nullptr;
  std::string key_;
  int number_ = 0;  // 0: not logged
  int n_ = 0;
};

}  // namespace grpc_resilience::test
