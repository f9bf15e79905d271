#include "core/breaker_identity.h"

#include <algorithm>
#include <new>
#include <string>

namespace grpc_resilience::internal {

BreakerIdentityPtr BreakerIdentity::Make(const BreakerKey& key,
                                         TimePoint made_at) {
  const std::string& first = key.custom.empty() ? key.target : key.custom;
  void* const memory = ::operator new(sizeof(BreakerIdentity) + first.size() +
                                      key.method.size());
  char* const text = static_cast<char*>(memory) + sizeof(BreakerIdentity);
  std::copy(key.method.begin(), key.method.end(),
            std::copy(first.begin(), first.end(), text));
  return BreakerIdentityPtr(new (memory) BreakerIdentity(key, made_at));
}

BreakerIdentity::BreakerIdentity(const BreakerKey& key, TimePoint made_at)
    : made_at_(made_at),
      first_size_(static_cast<std::uint32_t>(key.custom.empty()
                                                 ? key.target.size()
                                                 : key.custom.size()) &
                  0x7fff'ffff),
      is_custom_(key.custom.empty() ? 0 : 1),
      method_size_(static_cast<std::uint32_t>(key.method.size())) {}

BreakerKey BreakerIdentity::key() const {
  return {std::string(target()), std::string(method()), std::string(custom())};
}

void BreakerIdentityDeleter::operator()(const BreakerIdentity* identity) const {
  identity->~BreakerIdentity();
  ::operator delete(const_cast<BreakerIdentity*>(identity));
}

}  // namespace grpc_resilience::internal
