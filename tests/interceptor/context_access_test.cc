#include "interceptor/context_access.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace grpc_resilience::internal {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;

class Factory : public ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return nullptr;
  }
};
class OurFactory : public Factory {};

bool IsOurs(const ClientInterceptorFactoryInterface& factory) {
  return dynamic_cast<const OurFactory*>(&factory) != nullptr;
}

TEST(ContextAccessTest, CarriesWhatTheCallerPutOnAContext) {
  grpc::ClientContext from;
  from.set_wait_for_ready(true);
  from.set_authority("shop.example");
  from.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const auto credentials = grpc::AccessTokenCredentials("token");
  from.set_credentials(credentials);

  grpc::ClientContext to;
  ContextAccess::Carry(from, &to);
  EXPECT_EQ(ContextAccess::InitialMetadataFlags(to),
            ContextAccess::InitialMetadataFlags(from));
  EXPECT_NE(ContextAccess::InitialMetadataFlags(to), 0u);
  EXPECT_EQ(to.credentials(), credentials);
  EXPECT_EQ(to.compression_algorithm(), GRPC_COMPRESS_GZIP);
}

TEST(ContextAccessTest, NoWaitForReadyIsCarriedAsExplicitlySet) {
  grpc::ClientContext unset, off;
  off.set_wait_for_ready(false);
  EXPECT_NE(ContextAccess::InitialMetadataFlags(unset),
            ContextAccess::InitialMetadataFlags(off));
}

TEST(ContextAccessTest, AnOrdinaryContextHasNoParent) {
  grpc::ClientContext context;
  EXPECT_FALSE(ContextAccess::HasParent(context));
}

TEST(ContextAccessTest, SetsTheDebugErrorString) {
  grpc::ClientContext context;
  ContextAccess::SetDebugErrorString(&context, "why");
  EXPECT_EQ(context.debug_error_string(), "why");
}

TEST(ContextAccessTest, FindsAFactoryInItsChannel) {
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<Factory>());
  factories.push_back(std::make_unique<OurFactory>());
  const auto* first = factories.back().get();
  factories.push_back(std::make_unique<OurFactory>());
  const auto* second = factories.back().get();
  factories.push_back(std::make_unique<Factory>());
  const auto channel = grpc::experimental::CreateCustomChannelWithInterceptors(
      "127.0.0.1:1", grpc::InsecureChannelCredentials(),
      grpc::ChannelArguments(), std::move(factories));

  const auto place = ContextAccess::FindFactory(channel.get(), first, &IsOurs);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->index, 1u);
  EXPECT_EQ(place->size, 4u);
  EXPECT_FALSE(place->shadowed);
  EXPECT_TRUE(
      ContextAccess::FindFactory(channel.get(), second, &IsOurs)->shadowed);

  const Factory elsewhere;
  EXPECT_FALSE(ContextAccess::FindFactory(channel.get(), &elsewhere, &IsOurs));
}

}  // namespace
}  // namespace grpc_resilience::internal
