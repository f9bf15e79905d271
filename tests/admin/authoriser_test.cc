// Who may use the admin service.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "admin/caller.h"
#include "admin/constant_time.h"
#include "grpc_resilience/admin_authoriser.h"

namespace grpc_resilience::internal {
namespace {

using testing::HasSubstr;
using testing::Not;

AdminCaller WithToken(std::string_view token) {
  AdminCaller caller;
  caller.token = token;
  return caller;
}

AdminCaller WithNames(std::vector<std::string> names) {
  AdminCaller caller;
  caller.names = std::move(names);
  return caller;
}

absl::StatusCode CodeOf(const AdminAuthoriserPtr& authoriser,
                        const AdminCaller& caller, AdminRight right) {
  return Authorise(*authoriser, caller, right).status().code();
}

TEST(LocalReadOnlyAuthoriserTest, LocalCallersReadAndNobodyChanges) {
  const AdminAuthoriserPtr authoriser = LocalReadOnlyAuthoriser();
  AdminCaller local;
  local.local = true;
  EXPECT_EQ(CodeOf(authoriser, local, AdminRight::kRead),
            absl::StatusCode::kOk);
  EXPECT_EQ(CodeOf(authoriser, local, AdminRight::kChange),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(CodeOf(authoriser, AdminCaller(), AdminRight::kRead),
            absl::StatusCode::kUnauthenticated);
}

TEST(LocalPeerTest, KnowsWhatIsLocal) {
  for (const char* peer :
       {"unix:", "unix:/run/a.sock", "unix-abstract:a", "inproc",
        "ipv4:127.0.0.1:40312", "ipv4:127.1.2.3:1", "ipv6:%5B::1%5D:40312",
        "ipv6:[::1]:40312", "ipv6:[::ffff:127.0.0.1]:7"}) {
    EXPECT_TRUE(IsLocalPeer(peer)) << peer;
  }
  for (const char* peer :
       {"", "ipv4:10.0.0.1:40312", "ipv4:127.0.0.1.example.com:1",
        "ipv4:127.0.0:1", "ipv4:1270.0.0.1:1", "ipv6:[::2]:40312",
        "ipv6:[2001:db8::1]:1", "ipv6:::1", "ipv6:[::ffff:10.0.0.1]:7",
        "127.0.0.1:1", "unknown"}) {
    EXPECT_FALSE(IsLocalPeer(peer)) << peer;
  }
}

// H01
TEST(StaticTokenAuthoriserTest, EmptyOrUnusableTokensAreErrors) {
  const auto error = [](std::optional<std::string> read,
                        std::optional<std::string> change) {
    const auto authoriser =
        StaticTokenAuthoriser({std::move(read), std::move(change)});
    EXPECT_EQ(authoriser.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(authoriser.status().message());
  };
  EXPECT_THAT(error(std::nullopt, std::nullopt), HasSubstr("neither"));
  EXPECT_THAT(error("", std::nullopt), HasSubstr("tokens.read is empty"));
  EXPECT_THAT(error("r", ""), HasSubstr("tokens.change is empty"));
  EXPECT_THAT(error("same", "same"), HasSubstr("the same"));
  EXPECT_THAT(error(std::nullopt, "s3cret\n"), HasSubstr("line end"));
  EXPECT_THAT(error(std::nullopt, "s3cret\n"), Not(HasSubstr("s3cret")));
}

// H01
TEST(StaticTokenAuthoriserTest, TokensGiveTheirRights) {
  const auto authoriser = StaticTokenAuthoriser({"reader", "changer"});
  ASSERT_TRUE(authoriser.ok()) << authoriser.status();
  struct Case {
    const char* name;
    AdminCaller caller;
    absl::StatusCode read;
    absl::StatusCode change;
  };
  const auto ok = absl::StatusCode::kOk;
  const auto unknown = absl::StatusCode::kUnauthenticated;
  const auto denied = absl::StatusCode::kPermissionDenied;
  const Case cases[] = {
      {"no token", AdminCaller(), unknown, unknown},
      {"empty", WithToken(""), unknown, unknown},
      {"wrong", WithToken("readex"), unknown, unknown},
      {"shorter", WithToken("reade"), unknown, unknown},
      {"longer", WithToken("readerr"), unknown, unknown},
      {"twice", WithToken("readerreader"), unknown, unknown},
      {"other case", WithToken("Reader"), unknown, unknown},
      {"reader", WithToken("reader"), ok, denied},
      {"changer", WithToken("changer"), ok, ok},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(CodeOf(*authoriser, c.caller, AdminRight::kRead), c.read)
        << c.name;
    EXPECT_EQ(CodeOf(*authoriser, c.caller, AdminRight::kChange), c.change)
        << c.name;
  }
}

TEST(StaticTokenAuthoriserTest, AMissingTokenGivesNobodyItsRight) {
  const auto authoriser = StaticTokenAuthoriser({"reader", std::nullopt});
  ASSERT_TRUE(authoriser.ok());
  EXPECT_EQ(CodeOf(*authoriser, WithToken(""), AdminRight::kChange),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(CodeOf(*authoriser, WithToken("reader"), AdminRight::kChange),
            absl::StatusCode::kPermissionDenied);
}

TEST(EqualInConstantTimeTest, SaysWhatOperatorEqualSays) {
  const std::string words[] = {"a",  "b",   "ab",   "ba",
                               "aa", "aaa", "abab", std::string("a\0b", 3)};
  for (const std::string& secret : words) {
    EXPECT_FALSE(EqualInConstantTime(secret, ""));
    for (const std::string& given : words) {
      EXPECT_EQ(EqualInConstantTime(secret, given), secret == given)
          << secret << " " << given;
    }
  }
}

TEST(PeerNameAuthoriserTest, NamesGiveTheirRights) {
  const auto authoriser = PeerNameAuthoriser({{"viewer"}, {"oncall"}});
  ASSERT_TRUE(authoriser.ok());
  EXPECT_EQ(
      CodeOf(*authoriser, WithNames({"x", "oncall"}), AdminRight::kChange),
      absl::StatusCode::kOk);
  EXPECT_EQ(CodeOf(*authoriser, WithNames({"viewer"}), AdminRight::kRead),
            absl::StatusCode::kOk);
  EXPECT_EQ(CodeOf(*authoriser, WithNames({"viewer"}), AdminRight::kChange),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(CodeOf(*authoriser, WithNames({"oncall.evil"}), AdminRight::kRead),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(CodeOf(*authoriser, AdminCaller(), AdminRight::kRead),
            absl::StatusCode::kUnauthenticated);
  EXPECT_FALSE(PeerNameAuthoriser({}).ok());
  EXPECT_FALSE(PeerNameAuthoriser({{""}, {}}).ok());
}

TEST(FunctionAuthoriserTest, FailsClosed) {
  EXPECT_FALSE(FunctionAuthoriser(nullptr).ok());
  const auto with = [](AdminFunction function) {
    const auto authoriser = FunctionAuthoriser(std::move(function));
    EXPECT_TRUE(authoriser.ok());
    return CodeOf(*authoriser, AdminCaller(), AdminRight::kRead);
  };
  EXPECT_EQ(with([](const AdminCaller&, AdminRight) { return "alice"; }),
            absl::StatusCode::kOk);
  EXPECT_EQ(with([](const AdminCaller&, AdminRight) { return ""; }),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(with([](const AdminCaller&, AdminRight) {
              return absl::InternalError("database is gone");
            }),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(
      with([](const AdminCaller&, AdminRight) -> absl::StatusOr<std::string> {
        throw std::runtime_error("oops");
      }),
      absl::StatusCode::kPermissionDenied);
}

TEST(AnyAuthoriserTest, OneYesIsEnough) {
  const auto tokens = StaticTokenAuthoriser({std::nullopt, "changer"});
  const auto any = AnyAuthoriser({LocalReadOnlyAuthoriser(), *tokens});
  ASSERT_TRUE(any.ok());
  AdminCaller local = WithToken("changer");
  local.local = true;
  EXPECT_EQ(CodeOf(*any, local, AdminRight::kChange), absl::StatusCode::kOk);
  local.token = "wrong";
  EXPECT_EQ(CodeOf(*any, local, AdminRight::kRead), absl::StatusCode::kOk);
  // The one that knows the caller says why not.
  EXPECT_EQ(CodeOf(*any, local, AdminRight::kChange),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(CodeOf(*any, WithToken("wrong"), AdminRight::kRead),
            absl::StatusCode::kUnauthenticated);
  EXPECT_FALSE(AnyAuthoriser({}).ok());
  EXPECT_FALSE(AnyAuthoriser({nullptr}).ok());
}

}  // namespace
}  // namespace grpc_resilience::internal
