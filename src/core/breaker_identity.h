// Who a breaker is and since when, in one small block of memory: three strings
// of their own would cost an idle breaker more than all the rest.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/transition.h"

namespace grpc_resilience::internal {

class BreakerIdentity;
struct BreakerIdentityDeleter {
  void operator()(const BreakerIdentity* identity) const;
};
using BreakerIdentityPtr =
    std::unique_ptr<const BreakerIdentity, BreakerIdentityDeleter>;

/// Immutable, so safe to use from several threads at once.
class BreakerIdentity {
 public:
  static BreakerIdentityPtr Make(const BreakerKey& key, TimePoint made_at);

  BreakerIdentity(const BreakerIdentity&) = delete;
  BreakerIdentity& operator=(const BreakerIdentity&) = delete;

  std::string_view target() const { return {text(), target_size_}; }
  std::string_view method() const {
    return {text() + target_size_, method_size_};
  }
  std::string_view custom() const {
    return {text() + target_size_ + method_size_, custom_size_};
  }
  BreakerKey key() const;
  TimePoint made_at() const { return made_at_; }

 private:
  friend struct BreakerIdentityDeleter;
  BreakerIdentity(const BreakerKey& key, TimePoint made_at);
  ~BreakerIdentity() = default;

  /// The strings follow the object, one after another.
  const char* text() const { return reinterpret_cast<const char*>(this + 1); }

  TimePoint made_at_;
  std::uint32_t target_size_;
  std::uint32_t method_size_;
  std::uint32_t custom_size_;
};

}  // namespace grpc_resilience::internal
