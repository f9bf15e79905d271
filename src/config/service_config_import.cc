#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/json_place.h"
#include "config/retry_policy_import.h"
#include "grpc_resilience/service_config.h"

namespace grpc_resilience {
namespace internal {
namespace {

// Three decimals are kept: anything less is no token at all.
constexpr double kLeastTokenRatio = 0.001;
constexpr double kMostTokenRatio = 1000;

// Protobuf's message has the text on a second line and a caret on a third.
std::string ParserMessage(absl::string_view message) {
  const std::vector<absl::string_view> lines = absl::StrSplit(message, '\n');
  const absl::string_view what = absl::StripAsciiWhitespace(lines[0]);
  if (lines.size() < 2) return std::string(what);
  return absl::StrCat(what, " Near: ", absl::StripAsciiWhitespace(lines[1]));
}

// Where a methodConfig applies.
struct MethodName {
  std::string service;
  std::string method;

  std::string Pattern() const {
    return absl::StrCat("/", service, "/", method.empty() ? "*" : method);
  }
};

class Importer {
 public:
  explicit Importer(ImportReport* report) : report_(report) {}

  Config Run(const JsonPlace& root) {
    for (const JsonPlace& entry : root.Field("methodConfig").Elements()) {
      ImportMethodConfig(entry);
    }
    // gRPC retries only where a retryPolicy says so.
    if (!config_.default_method())
      config_.DefaultMethod().retry.max_attempts = 1;
    ImportThrottle(root.Field("retryThrottling"));
    root.NameFieldsBeyond({"methodConfig", "retryThrottling"});
    return std::move(config_);
  }

 private:
  void ImportMethodConfig(const JsonPlace& place) {
    if (!place.IsObject()) return;
    const std::vector<MethodName> names = ImportNames(place.Field("name"));
    const MethodPolicy policy = ImportPolicy(place);
    if (names.empty() && report_->faults.empty()) {
      place.Differs("applies to no method, for want of a name");
    }
    for (const MethodName& name : names) {
      MethodPolicy& target = name.service.empty()
                                 ? config_.DefaultMethod()
                                 : config_.Method(name.Pattern());
      target = policy;
    }
  }

  std::vector<MethodName> ImportNames(const JsonPlace& place) {
    std::vector<MethodName> names;
    for (const JsonPlace& element : place.Elements()) {
      if (!element.IsObject()) continue;
      element.NameFieldsBeyond({"service", "method"});
      MethodName name;
      if (!ImportName(element, "service", &name.service) ||
          !ImportName(element, "method", &name.method)) {
        continue;
      }
      if (name.service.empty() && !name.method.empty()) {
        element.Fault("a method needs its service");
        continue;
      }
      const auto [before, is_new] =
          places_.emplace(name.Pattern(), element.path());
      if (!is_new) {
        element.Fault(
            absl::StrCat("must be there once; it is ", before->second, " too"));
        continue;
      }
      names.push_back(std::move(name));
    }
    return names;
  }

  // False after a fault.
  bool ImportName(const JsonPlace& parent, absl::string_view field,
                  std::string* name) {
    const JsonPlace place = parent.Field(field);
    if (!place.present()) return true;
    const std::optional<std::string> text = place.String();
    if (!text) return false;
    for (const unsigned char c : *text) {
      if (c <= ' ' || c == 0x7f || c == '/' || c == '*') {
        place.Fault("must be without '/', '*' and space");
        return false;
      }
    }
    *name = *text;
    return true;
  }

  MethodPolicy ImportPolicy(const JsonPlace& place) {
    MethodPolicy policy;
    policy.timeout = place.Field("timeout").PositiveDuration();
    const JsonPlace wait = place.Field("waitForReady");
    if (wait.Bool().value_or(false)) {
      wait.Differs(
          "not waited for, unless a call asks by "
          "ClientContext::set_wait_for_ready(true)");
    }
    const JsonPlace retry = place.Field("retryPolicy");
    const JsonPlace hedging = place.Field("hedgingPolicy");
    policy.retry = ImportRetryPolicy(retry);
    if (hedging.present() && hedging.IsObject()) {
      if (retry.present()) {
        hedging.Fault("can't be beside a retryPolicy");
      } else {
        policy.hedging = ImportHedgingPolicy(hedging);
        policy.retry.idempotency = Idempotency::kIdempotent;
      }
    }
    place.NameFieldsBeyond(
        {"name", "timeout", "waitForReady", "retryPolicy", "hedgingPolicy"});
    return policy;
  }

  void ImportThrottle(const JsonPlace& place) {
    if (!place.present() || !place.IsObject()) return;
    RetryThrottlePolicy& throttle = config_.DefaultTarget().throttle;
    const auto tokens = place.Field("maxTokens")
                            .Required("a whole number in [1, 1000]")
                            .WholeNumber(1, 1000);
    if (tokens) throttle.max_tokens = *tokens;

    const JsonPlace ratio = place.Field("tokenRatio");
    const auto number = ratio.Required("a number > 0").Number();
    if (number && !(*number >= kLeastTokenRatio)) {
      ratio.Fault("must be >= 0.001");
    } else if (number) {
      throttle.token_ratio = std::min(*number, kMostTokenRatio);
      if (*number > kMostTokenRatio) {
        ratio.Differs("1000, which fills any bucket at once as well");
      }
    }
    place.NameFieldsBeyond({"maxTokens", "tokenRatio"});
    if (!tokens || !number) return;
    const double share = throttle.token_ratio / (1 + throttle.token_ratio);
    place.Differs(absl::StrFormat(
        "also the default trip rule of the circuit breaker, which gRPC doesn't "
        "have: it opens when more than about %.3g %% of the attempts keep "
        "failing; breaker.failure_rate_threshold, say, chooses another rule",
        100 * share));
  }

  ImportReport* report_;
  Config config_;
  std::map<std::string, std::string> places_;  // of the patterns so far
};

}  // namespace
}  // namespace internal

absl::StatusOr<ServiceConfigImport> ImportServiceConfig(std::string_view json) {
  google::protobuf::Value root;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()),
      root.mutable_struct_value());
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("$: must be a JSON object: ",
                     internal::ParserMessage(absl::string_view(
                         parsed.message().data(), parsed.message().size()))));
  }
  internal::ImportReport report;
  ServiceConfigImport result;
  result.config =
      internal::Importer(&report).Run(internal::JsonPlace(root, &report));
  if (!report.faults.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(report.faults, "\n"));
  }
  // Says nothing new unless a range there is narrower than here.
  if (absl::Status status = result.config.Validate(); !status.ok()) {
    return status;
  }
  result.differences = std::move(report.differences);
  return result;
}

std::string ToString(const ServiceConfigDifference& difference) {
  return absl::StrCat(difference.path, " = ", difference.value, ": ",
                      difference.instead);
}

}  // namespace grpc_resilience
