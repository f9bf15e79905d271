#include "core/breaker_identity.h"

#include <cstring>
#include <new>
#include <string>

namespace grpc_resilience::internal {

BreakerIdentityPtr BreakerIdentity::Make(const BreakerKey& key,
                                         TimePoint made_at) {
  const std::size_t bytes =
      key.target.size() + key.method.size() + key.custom.size();
  void* const memory = ::operator new(sizeof(BreakerIdentity) + bytes);
  char* text = static_cast<char*>(memory) + sizeof(BreakerIdentity);
  for (const std::string* part : {&key.target, &key.method, &key.custom}) {
    std::memcpy(text, part->data(), part->size());
    text += part->size();
  }
  return BreakerIdentityPtr(new (memory) BreakerIdentity(key, made_at));
}

BreakerIdentity::BreakerIdentity(const BreakerKey& key, TimePoint made_at)
    : made_at_(made_at),
      target_size_(static_cast<std::uint32_t>(key.target.size())),
      method_size_(static_cast<std::uint32_t>(key.method.size())),
      custom_size_(static_cast<std::uint32_t>(key.custom.size())) {}

BreakerKey BreakerIdentity::key() const {
  return {std::string(target()), std::string(method()), std::string(custom())};
}

void BreakerIdentityDeleter::operator()(const BreakerIdentity* identity) const {
  identity->~BreakerIdentity();
  ::operator delete(const_cast<BreakerIdentity*>(identity));
}

}  // namespace grpc_resilience::internal
