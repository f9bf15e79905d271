// Remembers and shows what the breaker does, as any observer can.

#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "grpc_resilience/observer.h"
#include "timeline.h"

namespace demo {

using Transitions = std::vector<grpc_resilience::TransitionEvent>;

/// This type is safe to use from several threads at once.
class BreakerLog : public grpc_resilience::CallObserver {
 public:
  explicit BreakerLog(std::shared_ptr<Timeline> timeline)
      : timeline_(std::move(timeline)) {}

  void OnTransition(const grpc_resilience::TransitionEvent& event) override {
    timeline_->PrintTransition(event);
    std::lock_guard<std::mutex> lock(mu_);
    transitions_.push_back(event);
  }

  /// All transitions, oldest first.
  Transitions transitions() const {
    std::lock_guard<std::mutex> lock(mu_);
    return transitions_;
  }

 private:
  const std::shared_ptr<Timeline> timeline_;
  mutable std::mutex mu_;
  Transitions transitions_;
};

}  // namespace demo
