// The command line tool against real processes.

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "admin/end_to_end/admin_test.h"

namespace grpc_resilience::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const char kEscape[] = "\x1b";

class ResiliencectlTest : public AdminTest {
 protected:
  void TearDown() override {
    backend().Reset();
    EXPECT_TRUE(Force(pb::AUTO).ok());
    EXPECT_TRUE(Reset().ok());
  }

  /// As the owner of that token; "": by the Unix socket.
  static Finished Run(const std::string& token,
                      std::vector<std::string> words) {
    const std::string address =
        token.empty() ? subject().socket_address() : subject().address();
    words.insert(words.begin(), {ResiliencectlPath(), "--address=" + address});
    std::vector<std::string> environment;
    if (!token.empty()) environment.push_back("RESILIENCECTL_TOKEN=" + token);
    return RunProgram(words, environment);
  }
  static std::string Target() { return backend().target(); }

  static std::vector<google::protobuf::Struct> JsonLines(
      const std::string& text) {
    std::vector<google::protobuf::Struct> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      google::protobuf::Struct json;
      EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &json).ok())
          << line;
      lines.push_back(json);
    }
    return lines;
  }
};

TEST_F(ResiliencectlTest, ListGetAndExplainShowTheBreaker) {
  const Finished list = Run("", {"list"});
  EXPECT_EQ(list.exit_status, 0) << list.err;
  EXPECT_THAT(list.out, AllOf(StartsWith("TARGET"), HasSubstr(Target()),
                              HasSubstr("CLOSED"), Not(HasSubstr(kEscape)),
                              Not(HasSubstr("ADDRESS"))));
  EXPECT_EQ(Run("", {"get", Target()}).out.find("TARGET"), 0u);
  const Finished none = Run("", {"list", "--noteworthy"});
  EXPECT_EQ(none.exit_status, 0);
  EXPECT_EQ(none.out, "");
  const Finished explained = Run("", {"explain", Target()});
  EXPECT_EQ(explained.exit_status, 0);
  EXPECT_THAT(explained.out, HasSubstr("opens when 5 failed in a row"));
  EXPECT_THAT(Run("", {"policy"}).out,
              AllOf(HasSubstr("default target"),
                    HasSubstr("method /grpc_resilience.test.Echo/*")));
  EXPECT_THAT(
      Run("", {"policy", Target(), "/grpc_resilience.test.Echo/Unary"}).out,
      AllOf(HasSubstr("calls: method /grpc_resilience.test.Echo/*"),
            HasSubstr("breaker: default target")));
}

TEST_F(ResiliencectlTest, ForceAndResetChangeIt) {
  const Finished forced = Run(kChangeToken, {"force", "OPEN", Target(), "--for",
                                             "10m", "--reason", "move"});
  EXPECT_EQ(forced.exit_status, 0) << forced.err;
  EXPECT_THAT(forced.out,
              AllOf(HasSubstr("FORCED_OPEN"), HasSubstr("change token: move")));
  EXPECT_EQ(Get().mode(), pb::FORCED_OPEN);
  EXPECT_THAT(Run("", {"list", "--noteworthy"}).out, HasSubstr(Target()));
  EXPECT_THAT(Run("", {"transitions", Target()}).out,
              HasSubstr("mode FORCED_OPEN: FORCED_OPEN for 600 s"));
  EXPECT_EQ(Run(kChangeToken, {"force", "AUTO", Target(), "--reason", "done"})
                .exit_status,
            0);
  EXPECT_EQ(Get().mode(), pb::AUTO);
  EXPECT_EQ(
      Run(kChangeToken, {"reset", Target(), "--reason", "done"}).exit_status,
      0);
  EXPECT_EQ(Run(kChangeToken,
                {"record", Target(), "--for", "10s", "--reason", "look"})
                .exit_status,
            0);
  StatsOf(20);
  EXPECT_THAT(Run(kReadToken, {"outcomes", Target()}).out,
              AllOf(HasSubstr("SUCCESS"), HasSubstr("Echo/Unary")));
}

TEST_F(ResiliencectlTest, ErrorsSayWhatIsWrong) {
  const Finished unknown = Run("", {"get", Target() + "0"});
  EXPECT_EQ(unknown.exit_status, 1);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no breaker of " + Target() + "0"),
                                 HasSubstr("did you mean: " + Target())));
  const Finished denied =
      Run(kReadToken, {"force", "OPEN", Target(), "--reason", "x"});
  EXPECT_EQ(denied.exit_status, 4);
  EXPECT_THAT(denied.err, HasSubstr("not allowed: may read, not change"));
  EXPECT_EQ(Run("wrong", {"list"}).exit_status, 4);
  EXPECT_THAT(Run("wrong", {"list"}).err, Not(HasSubstr("Bearer")));

  const auto plain = [](std::vector<std::string> words) {
    words.insert(words.begin(), ResiliencectlPath());
    return RunProgram(words);
  };
  EXPECT_EQ(plain({}).exit_status, 2);
  EXPECT_EQ(plain({"--help"}).exit_status, 0);
  EXPECT_THAT(plain({"--help"}).out, HasSubstr("Exit status"));
  EXPECT_EQ(plain({"get"}).exit_status, 2);
  EXPECT_EQ(plain({"force", "OPEN", "a"}).exit_status, 2);  // no reason
  EXPECT_EQ(plain({"force", "UP", "a", "--reason", "x"}).exit_status, 2);
  EXPECT_EQ(plain({"force", "OPEN", "a", "--for", "soon", "--reason", "x"})
                .exit_status,
            2);
  const Finished nobody = plain({"--address=unix:/nowhere/admin.sock", "list"});
  EXPECT_EQ(nobody.exit_status, 3);
  EXPECT_THAT(nobody.err, HasSubstr("not reachable"));
  // The backend is a server, without an admin service.
  const Finished other = plain({"--address=" + Target(), "list"});
  EXPECT_EQ(other.exit_status, 5);
  EXPECT_THAT(other.err, HasSubstr("no admin service there"));
}

TEST_F(ResiliencectlTest,
       ATokenComesFromAFileAndNeverGoesInClearBeyondTheMachine) {
  const std::string path = testing::TempDir() + "/resiliencectl_token";
  std::ofstream(path) << kReadToken << "\n";
  const Finished list =
      RunProgram({ResiliencectlPath(), "--address=" + subject().address(),
                  "--token-file=" + path, "list"});
  EXPECT_EQ(list.exit_status, 0) << list.err;
  const Finished refused =
      RunProgram({ResiliencectlPath(), "--address=10.255.255.1:1",
                  "--token-file=" + path, "list"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, HasSubstr("in clear: use --tls"));
  std::remove(path.c_str());
  EXPECT_EQ(RunProgram({ResiliencectlPath(), "--token-file=" + path, "list"})
                .exit_status,
            2);
}

TEST_F(ResiliencectlTest, SeveralProcessesAreMerged) {
  const Subject second(backend().target(), 3);
  const std::vector<std::string> both = {ResiliencectlPath(), "-a",
                                         subject().socket_address(), "-a",
                                         second.socket_address()};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), both.begin(), both.end());
    return RunProgram(words);
  };
  const Finished list = run({"list"});
  EXPECT_EQ(list.exit_status, 0) << list.err;
  EXPECT_THAT(
      list.out,
      AllOf(StartsWith("ADDRESS"), HasSubstr(subject().socket_address()),
            HasSubstr(second.socket_address()), HasSubstr("idle2")));
  // One has it: fine.
  EXPECT_EQ(run({"get", "idle0"}).exit_status, 0);
  const Finished near = run({"get", "idel0"});
  EXPECT_EQ(near.exit_status, 1);
  EXPECT_THAT(near.err, HasSubstr("did you mean: idle0"));

  const auto json = JsonLines(run({"list", "--json"}).out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1].fields().at("address").string_value(),
            second.socket_address());
  EXPECT_EQ(json[1]
                .fields()
                .at("result")
                .struct_value()
                .fields()
                .at("breakers")
                .list_value()
                .values_size(),
            4);
  const auto errors = JsonLines(run({"get", "idle0", "--json"}).out);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0]
                .fields()
                .at("error")
                .struct_value()
                .fields()
                .at("code")
                .string_value(),
            "NOT_FOUND");
}

TEST_F(ResiliencectlTest, WatchShowsTransitionsAsLinesOrJson) {
  ASSERT_TRUE(Force(pb::AUTO).ok());
  backend().SetGlobalFault(GlobalFault::FAIL, 14);
  const Finished lines = Run("", {"watch", "--for", "2s"});
  EXPECT_EQ(lines.exit_status, 0) << lines.err;
  EXPECT_THAT(lines.out,
              AllOf(HasSubstr("watching 1 breakers"),
                    HasSubstr("OPEN -> HALF_OPEN"), Not(HasSubstr(kEscape))));
  const auto json = JsonLines(Run("", {"watch", "--json", "--for", "1s"}).out);
  ASSERT_GE(json.size(), 2u);
  EXPECT_EQ(
      json[0].fields().at("result").struct_value().fields().count("snapshot"),
      1u);
}

TEST_F(ResiliencectlTest, ColoursAndTheLiveTableAreForTerminals) {
  const std::vector<std::string> start = {ResiliencectlPath(), "-a",
                                          subject().socket_address()};
  const auto on_terminal = [&](std::vector<std::string> words) {
    words.insert(words.begin(), start.begin(), start.end());
    return RunOnTerminal(words);
  };
  EXPECT_THAT(on_terminal({"list"}).out, HasSubstr("\x1b[32mCLOSED\x1b[0m"));
  EXPECT_THAT(on_terminal({"--color=never", "list"}).out,
              Not(HasSubstr(kEscape)));
  EXPECT_THAT(Run("", {"--color=always", "list"}).out, HasSubstr(kEscape));
  const Finished watch = on_terminal({"watch", "--for", "1500ms"});
  EXPECT_EQ(watch.exit_status, 0) << watch.err;
  EXPECT_THAT(watch.out,
              AllOf(HasSubstr("\x1b[H\x1b[2J"), HasSubstr(Target())));
}

}  // namespace
}  // namespace grpc_resilience::test
