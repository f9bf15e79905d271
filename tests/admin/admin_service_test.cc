// How the service is made, and what it logs.

#include "grpc_resilience/admin_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace grpc_resilience {
namespace {

using testing::HasSubstr;

std::shared_ptr<Resilience> MakeResilience() {
  return *Resilience::Create(Config());
}

// H01
TEST(AdminServiceTest, ThereIsNoneWithoutAnAuthoriser) {
  AdminOptions options;
  options.max_watchers = 0;
  options.watcher_patience = Duration(0);
  const auto service = AdminService::Create(MakeResilience(), options);
  ASSERT_EQ(service.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string message(service.status().message());
  EXPECT_THAT(message, HasSubstr("authoriser is null"));
  EXPECT_THAT(message, HasSubstr("max_watchers = 0"));
  EXPECT_THAT(message, HasSubstr("watcher_patience = 0 s"));
  options = AdminOptions();
  options.authoriser = LocalReadOnlyAuthoriser();
  EXPECT_FALSE(AdminService::Create(nullptr, options).ok());
}

TEST(AdminLogTest, OneLineSaysWhoWhatAndWhy) {
  AdminLogEntry entry;
  entry.who = "alice\n";
  entry.peer = "unix:";
  entry.action = "ForceMode";
  entry.key.target = "payments:443";
  entry.what = "FORCED_OPEN for 10 min";
  entry.reason = "move";
  EXPECT_EQ(ToString(entry),
            "admin: alice\\n (unix:) ForceMode \"payments:443\" FORCED_OPEN "
            "for 10 min, reason \"move\": OK");
  // What isn't known is left out.
  entry = AdminLogEntry();
  entry.peer = "ipv4:127.0.0.1:1";
  entry.action = "ListBreakers";
  entry.result = absl::UnauthenticatedError("no token");
  entry.not_logged = 3;
  EXPECT_EQ(ToString(entry),
            "admin: (unknown) (ipv4:127.0.0.1:1) ListBreakers: "
            "UNAUTHENTICATED: no token (and 3 refused calls before it)");
}

}  // namespace
}  // namespace grpc_resilience
