// Callers that are known by their certificates.

#include "admin/end_to_end/admin_test.h"
#include "grpc_resilience/admin_server.h"
#include "support/test_certificate.h"

namespace grpc_resilience::test {
namespace {

class CertificatesTest : public testing::Test {
 protected:
  /// The test's certificate is of "localhost".
  static absl::StatusOr<std::unique_ptr<AdminServer>> StartServer(
      AdminPeerNames names) {
    grpc::SslServerCredentialsOptions ssl(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    ssl.pem_root_certs = kTestCertificate;
    ssl.pem_key_cert_pairs.push_back({kTestKey, kTestCertificate});
    AdminServerOptions options;
    options.credentials = grpc::SslServerCredentials(ssl);
    options.service.authoriser = *PeerNameAuthoriser(std::move(names));
    options.service.log = [](const AdminLogEntry&) {};
    const auto resilience = *Resilience::Create(Config());
    resilience->registry().GetOrCreate({"a", ""});
    return AdminServer::Start(resilience, std::move(options));
  }
  static grpc::StatusCode Force(const std::string& address) {
    grpc::SslCredentialsOptions ssl;
    ssl.pem_root_certs = kTestCertificate;
    ssl.pem_cert_chain = kTestCertificate;
    ssl.pem_private_key = kTestKey;
    const auto stub = pb::ResilienceAdmin::NewStub(
        grpc::CreateChannel(address, grpc::SslCredentials(ssl)));
    grpc::ClientContext context;
    pb::ForceModeRequest request;
    request.mutable_key()->set_target("a");
    request.set_mode(pb::SHADOW);
    request.set_reason("test");
    pb::ForceModeResponse response;
    return stub->ForceMode(&context, request, &response).error_code();
  }

  Watchdog watchdog_{seconds(60)};
};

TEST_F(CertificatesTest, NamesGiveRights) {
  const auto change = StartServer({{}, {"localhost"}});
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(Force((*change)->address()), grpc::StatusCode::OK);
  const auto read = StartServer({{"localhost"}, {}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Force((*read)->address()), grpc::StatusCode::PERMISSION_DENIED);
  const auto other = StartServer({{"other"}, {"somebody"}});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(Force((*other)->address()), grpc::StatusCode::UNAUTHENTICATED);
}

}  // namespace
}  // namespace grpc_resilience::test
