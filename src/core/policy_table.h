// Which policy applies to a method of a target: config.h's rules, over a config
// that no longer changes.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "grpc_resilience/config.h"

namespace grpc_resilience::internal {

/// Immutable, so safe to use from several threads at once.
class PolicyTable {
 public:
  /// `config` must be valid.
  explicit PolicyTable(Config config) : config_(std::move(config)) {}

  /// A target without its own gets the default target's.
  const TargetConfig& ForTarget(std::string_view target) const;

  struct Match {
    const MethodPolicy* policy;  ///< lives as long as the table
    /// "target payments:443, method /pay.Payments/*"; "library defaults" when
    /// the config says nothing about the method.
    std::string rule;
  };
  Match ForMethod(std::string_view target, std::string_view method) const;

  const Config& config() const { return config_; }
  int max_breakers() const { return config_.max_breakers; }
  std::optional<Duration> breaker_idle_time() const {
    return config_.breaker_idle_time;
  }
  int max_custom_keys() const { return config_.max_custom_keys; }
  std::int64_t max_replay_bytes() const { return config_.max_replay_bytes; }

 private:
  Config config_;
  MethodPolicy library_defaults_;
};

}  // namespace grpc_resilience::internal
