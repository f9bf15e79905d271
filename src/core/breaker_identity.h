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

  // Either a target with its method, or a custom key: never both.
  std::string_view target() const { return is_custom_ ? "" : First(); }
  std::string_view method() const {
    return {text() + first_size_, method_size_};
  }
  std::string_view custom() const { return is_custom_ ? First() : ""; }
  BreakerKey key() const;
  TimePoint made_at() const { return made_at_; }

 private:
  friend struct BreakerIdentityDeleter;
  BreakerIdentity(const BreakerKey& key, TimePoint made_at);
  ~BreakerIdentity() = default;

  /// The strings follow the object, one after another.
  const char* text() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view First() const { return {text(), first_size_}; }

  TimePoint made_at_;
  std::uint32_t first_size_ : 31;
  std::uint32_t is_custom_ : 1;
  std::uint32_t method_size_;
};

}  // namespace grpc_resilience::internal
