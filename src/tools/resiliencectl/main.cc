// resiliencectl: looks at and steers the circuit breakers of running processes, and
// the files of their call queues.

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tools/resiliencectl/commands.h"
#ifdef GRPC_RESILIENCE_WITH_QUEUE
#include "tools/queue/queue_commands.h"
#endif

namespace grpc_resilience::tools {
namespace {

using Command = std::function<ExitCode(const Options&, const Processes&)>;

constexpr const char* kFooter = R"(
Addresses are gRPC's: host:port, unix:/path. Given more than once, all processes are
asked and shown together. Default: $RESILIENCECTL_ADDRESS, else localhost:9901.
The token is read from --token-file, else from $RESILIENCECTL_TOKEN.

Exit status: 0 done; 1 no process has that breaker; 2 wrong arguments; 3 a process
can't be reached or takes too long; 4 not allowed; 5 anything else.)";

// "10m", "90s", "1h30m".
CLI::Option* AddDuration(CLI::App* app, const std::string& name,
                         Duration* duration, const std::string& what) {
  return app->add_option_function<std::string>(
      name,
      [duration, name](const std::string& text) {
        absl::Duration parsed;
        if (!absl::ParseDuration(text, &parsed) ||
            parsed <= absl::ZeroDuration()) {
          throw CLI::ValidationError(
              name, "\"" + text + "\" is no time like 90s, 10m, 1h30m");
        }
        *duration = absl::ToChronoNanoseconds(parsed);
      },
      what);
}

void AddConnection(CLI::App* app, Options* options) {
  app->add_option("-a,--address", options->addresses, "A process")
      ->envname("RESILIENCECTL_ADDRESS")
      ->expected(1)
      ->take_all();
  app->add_option("--token-file", options->token_file,
                  "File that holds the token");
  app->add_flag("--tls", options->tls, "Use TLS");
  app->add_option("--ca", options->ca_file, "PEM file of the authority")
      ->needs("--tls");
  app->add_option("--cert", options->certificate_file,
                  "PEM file of the own certificate")
      ->needs("--tls");
  app->add_option("--key", options->key_file, "PEM file of its key")
      ->needs("--cert");
  app->add_option("--server-name", options->server_name,
                  "Name in the server's certificate")
      ->needs("--tls");
  AddDuration(app, "--timeout", &options->timeout,
              "Limit of each question (5s)");
  app->add_flag("--json", options->json,
                "One line of JSON for each process (watch: each event)");
  app->add_option("--color", options->color, "When to use colours")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

void AddFilter(CLI::App* app, Options* options) {
  app->add_option_function<std::string>(
      "contains",
      [options](const std::string& part) {
        options->filter.set_contains(part);
      },
      "Part of a name");
  app->add_option_function<std::vector<std::string>>(
         "--state",
         [options](const std::vector<std::string>& names) {
           for (const std::string& name : names) {
             pb::State state = pb::STATE_UNSPECIFIED;
             pb::State_Parse(name, &state);
             options->filter.add_states(state);
           }
         },
         "CLOSED, OPEN or HALF_OPEN; may be given more than once")
      ->transform(
          CLI::IsMember({"CLOSED", "OPEN", "HALF_OPEN"}, CLI::ignore_case));
  app->add_flag_function(
      "--noteworthy",
      [options](std::int64_t) { options->filter.set_noteworthy(true); },
      "Only what isn't CLOSED in AUTO");
}

void AddKey(CLI::App* app, Options* options) {
  auto* const target = app->add_option_function<std::string>(
      "target",
      [options](const std::string& name) { options->key.set_target(name); },
      "The target, as the process calls it");
  app->add_option_function<std::string>(
      "method",
      [options](const std::string& name) { options->key.set_method(name); },
      "/pkg.Service/Method, where each method has a breaker");
  app->add_option_function<std::string>(
         "--custom",
         [options](const std::string& name) { options->key.set_custom(name); },
         "The breaker of a custom key instead")
      ->excludes(target);
}

void AddReason(CLI::App* app, Options* options) {
  app->add_option("--reason", options->reason, "For the log and for colleagues")
      ->required();
}

void AddMode(CLI::App* app, Options* options) {
  app->add_option_function<std::string>(
         "mode",
         [options](const std::string& name) {
           pb::Mode mode = pb::MODE_UNSPECIFIED;
           const bool full = pb::Mode_Parse(name, &mode);
           if (!full) pb::Mode_Parse("FORCED_" + name, &mode);
           options->mode = mode;
         },
         "OPEN (rejects everything), CLOSED (admits everything), SHADOW (only "
         "counts) or AUTO (as usual)")
      ->required()
      ->transform(CLI::IsMember(
          {"OPEN", "CLOSED", "SHADOW", "AUTO", "FORCED_OPEN", "FORCED_CLOSED"},
          CLI::ignore_case));
}

/// The subcommands. Not safe for use from several threads at once.
class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.footer(kFooter);
    AddConnection(&app_, &options_);
    AddFilter(Add("list", "All breakers", List), &options_);
    AddKey(Add("get", "One breaker", Get), &options_);
    auto* const watch =
        Add("watch", "Breakers and their transitions, live", Watch);
    AddFilter(watch, &options_);
    AddDuration(watch, "--for", &options_.length, "Ends by itself");
    AddKey(Add("explain", "Why a breaker is as it is", Explain), &options_);
    AddKey(Add("transitions", "The last transitions of a breaker", Transitions),
           &options_);
    AddChanges();
    auto* const policy = Add(
        "policy", "All rules, or what applies to a method of a target", Policy);
    AddKey(policy, &options_);
    AddKey(Add("outcomes", "What a recording holds", Outcomes), &options_);
#ifdef GRPC_RESILIENCE_WITH_QUEUE
    AddQueueCommands(app_, std::cout,
                     [this](const absl::Status& end) { queue_end_ = end; });
#endif
  }

  int Run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? kOk : kUsage;
    }
    if (queue_end_) return EndOfQueue();
    if (needs_key_ && options_.key.target().empty() &&
        options_.key.custom().empty()) {
      std::cerr << "resiliencectl: say which breaker: a target, or --custom\n";
      return kUsage;
    }
    const auto processes = Connect(options_);
    if (!processes.ok()) {
      std::cerr << "resiliencectl: " << processes.status().message() << "\n";
      return kUsage;
    }
    return command_(options_, *processes);
  }

 private:
  int EndOfQueue() const {
    if (queue_end_->ok()) return kOk;
    std::cerr << "resiliencectl: " << queue_end_->message() << "\n";
    return absl::IsNotFound(*queue_end_) ? kNotFound : kFailed;
  }

  void AddChanges() {
    auto* const force = Add("force", "Sets the mode of a breaker", Force);
    AddMode(force, &options_);
    AddKey(force, &options_);
    AddDuration(force, "--for", &options_.length, "Then AUTO (for good)");
    AddReason(force, &options_);
    auto* const reset =
        Add("reset", "Back to CLOSED with nothing counted", Reset);
    AddKey(reset, &options_);
    AddReason(reset, &options_);
    auto* const record =
        Add("record", "Keeps the last outcomes of a breaker", Record);
    AddKey(record, &options_);
    record->add_option("--capacity", options_.capacity, "So many (100)");
    AddDuration(record, "--for", &options_.length, "Then forgets them (1m)");
    record->add_flag("--stop", options_.stop, "Forgets them now");
    AddReason(record, &options_);
  }

  CLI::App* Add(const std::string& name, const std::string& what,
                Command command) {
    CLI::App* const app = app_.add_subcommand(name, what);
    const bool needs_key =
        name != "list" && name != "watch" && name != "policy";
    app->callback([this, needs_key, command = std::move(command)] {
      command_ = command;
      needs_key_ = needs_key;
    });
    return app;
  }

  CLI::App app_{
      "Looks at and steers the circuit breakers of running processes.",
      "resiliencectl"};
  Options options_;
  Command command_;
  bool needs_key_ = false;
  std::optional<absl::Status> queue_end_;  // set: it was one of its commands
};

}  // namespace
}  // namespace grpc_resilience::tools

int main(int argc, char** argv) {
  return grpc_resilience::tools::CommandLine().Run(argc, argv);
}
