// A19. Call credentials are asked for every attempt, over TLS.

#include <atomic>

#include "support/end_to_end_test.h"
#include "support/test_certificate.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Gives T1, T2, T3, …; fails from call `fail_from` on.
class TokenPlugin : public grpc::MetadataCredentialsPlugin {
 public:
  TokenPlugin(std::atomic<int>* calls, int fail_from)
      : calls_(calls), fail_from_(fail_from) {}
  grpc::Status GetMetadata(
      grpc::string_ref /*service_url*/, grpc::string_ref /*method*/,
      const grpc::AuthContext& /*context*/,
      std::multimap<std::string, std::string>* metadata) override {
    const int call = ++*calls_;
    if (call >= fail_from_) {
      return {grpc::StatusCode::UNAUTHENTICATED, "no token"};
    }
    metadata->emplace("token", "T" + std::to_string(call));
    return grpc::Status::OK;
  }

 private:
  std::atomic<int>* const calls_;
  const int fail_from_;
};

class CredentialsTest : public WayTest {
 protected:
  static void SetUpTestSuite() {
    tls_ = BackendProcess::Start(BackendPath(), {"--tls"});
  }
  static void TearDownTestSuite() { tls_.reset(); }

  static std::shared_ptr<grpc::ChannelCredentials> Ssl() {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = kTestCertificate;
    return grpc::SslCredentials(options);
  }
  static std::shared_ptr<grpc::ChannelCredentials> SslFor(
      const std::shared_ptr<grpc::CallCredentials>& credentials) {
    return grpc::CompositeChannelCredentials(Ssl(), credentials);
  }
  std::shared_ptr<grpc::CallCredentials> Tokens(int fail_from = 1000) {
    return grpc::MetadataCredentialsFromPlugin(
        std::make_unique<TokenPlugin>(&calls_, fail_from));
  }
  std::shared_ptr<grpc::Channel> TlsChannel(
      const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    return CreateChannel(MakeResilience(RetryConfig()), tls_->target(),
                         credentials);
  }
  void ExpectTokensOnThreeAttempts(const EchoRequest& request) {
    EXPECT_EQ(calls_, 3);
    const HitsResponse hits = tls_->Hits(request.key());
    ASSERT_THAT(hits.hits(), SizeIs(3));
    EXPECT_THAT(Seen(hits.hits(0), "token"), ElementsAre("T1"));
    EXPECT_THAT(Seen(hits.hits(1), "token"), ElementsAre("T2"));
    EXPECT_THAT(Seen(hits.hits(2), "token"), ElementsAre("T3"));
  }

  inline static std::unique_ptr<BackendProcess> tls_;
  std::atomic<int> calls_{0};
};

TEST_P(CredentialsTest, CallersCredentialsAreAskedPerAttempt) {
  const EchoRequest request = FailingRequest(2);
  grpc::ClientContext context;
  context.set_credentials(Tokens());
  EchoResponse response;
  const CallResult result = Call(TlsChannel(Ssl()), EchoMethod::kIdempotent,
                                 &context, request, &response);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  ExpectTokensOnThreeAttempts(request);
}

TEST_P(CredentialsTest, ChannelsCallCredentialsAreAskedPerAttempt) {
  const EchoRequest request = FailingRequest(2);
  const CallResult result =
      Call(TlsChannel(SslFor(Tokens())), EchoMethod::kIdempotent, request);
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  ExpectTokensOnThreeAttempts(request);
}

TEST_P(CredentialsTest, PluginFailureOnASecondAttemptEndsAsCoreSays) {
  const EchoRequest request = FailingRequest(2);
  grpc::ClientContext context;
  context.set_credentials(Tokens(/*fail_from=*/2));
  EchoResponse response;
  const CallResult result = Call(TlsChannel(Ssl()), EchoMethod::kIdempotent,
                                 &context, request, &response);
  EXPECT_THAT(
      result.status.error_code(),
      testing::AnyOf(StatusCode::UNAUTHENTICATED, StatusCode::UNAVAILABLE));
  EXPECT_THAT(result.status.error_message(), testing::HasSubstr("no token"));
  EXPECT_EQ(tls_->Hits(request.key()).count(), 1);
}

INSTANTIATE_TEST_SUITE_P(, CredentialsTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test
