// Where the service's own server listens.

#include "grpc_resilience/admin_server.h"

#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace grpc_resilience {
namespace {

using testing::HasSubstr;

std::shared_ptr<Resilience> MakeResilience() {
  return *Resilience::Create(Config());
}

AdminServerOptions At(const std::string& address) {
  AdminServerOptions options;
  options.address = address;
  options.service.authoriser = LocalReadOnlyAuthoriser();
  return options;
}

std::string ErrorOf(AdminServerOptions options) {
  const auto server = AdminServer::Start(MakeResilience(), std::move(options));
  EXPECT_FALSE(server.ok());
  return server.status().ToString();
}

// H02
TEST(AdminServerTest, ListensOnThisMachineUnlessToldOtherwise) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "example.com:1", ":1", "",
                              "127.0.0.1.example.com:0", "10.0.0.1:0"}) {
    EXPECT_THAT(ErrorOf(At(address)), HasSubstr("beyond_this_machine"))
        << address;
  }
  AdminServerOptions anywhere = At("0.0.0.0:0");
  anywhere.beyond_this_machine = true;
  EXPECT_THAT(ErrorOf(anywhere), HasSubstr("needs credentials"));
  anywhere.credentials = grpc::InsecureServerCredentials();
  EXPECT_TRUE(AdminServer::Start(MakeResilience(), anywhere).ok());
  const auto server = AdminServer::Start(MakeResilience(), At("127.0.0.1:0"));
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT((*server)->address(), testing::Not(HasSubstr(":0")));
}

TEST(AdminServerTest, AnAddressThatIsTakenIsAnError) {
  const auto first = AdminServer::Start(MakeResilience(), At("localhost:0"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(ErrorOf(At((*first)->address())), HasSubstr("UNAVAILABLE"));
}

TEST(AdminServerTest, ASocketIsForItsOwner) {
  char folder[] = "/tmp/admin_test_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/admin.sock";
  for (int again = 0; again < 2; ++again) {  // also where an old one is left
    const auto server =
        AdminServer::Start(MakeResilience(), At("unix:" + path));
    ASSERT_TRUE(server.ok()) << server.status();
    EXPECT_EQ((*server)->address(), "unix:" + path);
    struct stat info = {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0600u);
  }
  unlink(path.c_str());
  rmdir(folder);
}

}  // namespace
}  // namespace grpc_resilience
