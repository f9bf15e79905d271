#include "config/method_config_export.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/retry_policy_import.h"
#include "core/duration_text.h"
#include "grpc_resilience/outcome.h"

namespace grpc_resilience::internal {
namespace {

google::protobuf::Duration ProtoOf(Duration duration) {
  return google::protobuf::util::TimeUtil::NanosecondsToDuration(
      duration.count());
}

const char* NameOf(Jitter jitter) {
  switch (jitter) {
    case Jitter::kNone:
      return "kNone";
    case Jitter::kFull:
      return "kFull";
    case Jitter::kEqual:
      return "kEqual";
    case Jitter::kDecorrelated:
      return "kDecorrelated";
    case Jitter::kRatio:
      return "kRatio";
  }
  return "?";
}

bool IsSafeForAll(StatusCode code) {
  return code == StatusCode::UNAVAILABLE ||
         code == StatusCode::RESOURCE_EXHAUSTED;
}

std::string NamesOf(const std::set<StatusCode>& codes) {
  return absl::StrJoin(codes, ", ", [](std::string* out, StatusCode code) {
    out->append(StatusCodeName(code));
  });
}

class Exporter {
 public:
  Exporter(const std::string& place, Differences* differences)
      : place_(place), differences_(differences) {}

  void Export(const MethodPolicy& policy, config::v1::MethodConfig* out) {
    if (policy.bypass) return;  // gRPC without a policy does just that
    if (policy.timeout) *out->mutable_timeout() = ProtoOf(*policy.timeout);
    if (policy.message_kind != MessageKind::kDetect) {
      Differs("message_kind", "kBytes", "gRPC needs no such hint");
    }
    const RetryPolicy& retry = policy.retry;
    if (policy.hedging && ExportHedging(policy, out)) return;
    const std::set<StatusCode> codes =
        retry.max_attempts > 1 ? CodesForAll(retry) : std::set<StatusCode>();
    if (!codes.empty()) ExportRetry(retry, codes, out->mutable_retry_policy());
    ReportRest(retry, !codes.empty());
  }

 private:
  void Differs(absl::string_view field, std::string value,
               std::string instead) {
    differences_->push_back({absl::StrCat(place_, ": ", field),
                             std::move(value), std::move(instead)});
  }

  // The codes that gRPC may retry, which asks nobody whether the method is
  // idempotent.
  std::set<StatusCode> CodesForAll(const RetryPolicy& retry) {
    const bool idempotent = retry.idempotency == Idempotency::kIdempotent ||
                            retry.idempotency_key_header.has_value();
    std::set<StatusCode> codes =
        retry.retryable_status_codes.value_or(std::set<StatusCode>{
            StatusCode::UNAVAILABLE, StatusCode::DEADLINE_EXCEEDED});
    if (idempotent) return codes;
    if (!retry.retryable_status_codes) {
      if (retry.idempotency == Idempotency::kFromProto) {
        Differs("retry.idempotency", "kFromProto",
                "no retries: gRPC would retry methods that aren't idempotent "
                "as well");
      }
      return {};
    }
    std::set<StatusCode> left_out;
    for (auto code = codes.begin(); code != codes.end();) {
      if (IsSafeForAll(*code)) {
        ++code;
      } else {
        left_out.insert(*code);
        code = codes.erase(code);
      }
    }
    if (!left_out.empty()) {
      Differs("retry.retryable_status_codes", NamesOf(left_out),
              "not retried: gRPC would retry methods that aren't idempotent as "
              "well");
    }
    return codes;
  }

  // True: hedged there as well, so there are no retries.
  bool ExportHedging(const MethodPolicy& policy,
                     config::v1::MethodConfig* out) {
    const HedgingPolicy& hedging = *policy.hedging;
    if (policy.retry.idempotency != Idempotency::kIdempotent &&
        !policy.retry.idempotency_key_header) {
      Differs("hedging", "set",
              "not hedged: gRPC would hedge methods that aren't idempotent as "
              "well");
      return false;
    }
    config::v1::HedgingPolicy* const written = out->mutable_hedging_policy();
    if (hedging.max_hedged_attempts > kMaxAttemptsOfGrpc) {
      Differs("hedging.max_hedged_attempts",
              absl::StrCat(hedging.max_hedged_attempts),
              absl::StrCat(kMaxAttemptsOfGrpc, ", the most that gRPC makes"));
    }
    written->set_max_attempts(
        std::min(hedging.max_hedged_attempts, kMaxAttemptsOfGrpc));
    *written->mutable_hedging_delay() = ProtoOf(hedging.hedging_delay);
    for (const StatusCode code : hedging.non_fatal_status_codes) {
      written->add_non_fatal_status_codes(StatusCodeName(code));
    }
    if (hedging.delay_quantile) {
      Differs("hedging.delay_quantile", absl::StrCat(*hedging.delay_quantile),
              absl::StrCat("always hedging_delay (",
                           DurationText(hedging.hedging_delay), ")"));
    }
    ReportRest(policy.retry, /*retries=*/true);
    return true;
  }

  void ExportRetry(const RetryPolicy& retry, const std::set<StatusCode>& codes,
                   config::v1::RetryPolicy* out) {
    if (retry.max_attempts > kMaxAttemptsOfGrpc) {
      Differs("retry.max_attempts", absl::StrCat(retry.max_attempts),
              absl::StrCat(kMaxAttemptsOfGrpc, ", the most that gRPC makes"));
    }
    out->set_max_attempts(std::min(retry.max_attempts, kMaxAttemptsOfGrpc));
    const BackoffPolicy& backoff = retry.backoff;
    *out->mutable_initial_backoff() = ProtoOf(backoff.initial_backoff);
    *out->mutable_max_backoff() = ProtoOf(backoff.max_backoff);
    out->set_backoff_multiplier(backoff.backoff_multiplier);
    for (const StatusCode code : codes) {
      out->add_retryable_status_codes(StatusCodeName(code));
    }
    if (backoff.jitter != Jitter::kRatio) {
      Differs("retry.backoff.jitter", NameOf(backoff.jitter),
              "each wait is its delay +-20 %");
    } else if (backoff.jitter_ratio != kJitterOfGrpc) {
      Differs("retry.backoff.jitter_ratio", absl::StrCat(backoff.jitter_ratio),
              "0.2");
    }
  }

  // What gRPC has no field for; the defaults go without saying.
  void ReportRest(const RetryPolicy& retry, bool retries) {
    const RetryPolicy defaults;
    if (retry.per_attempt_timeout) {
      Differs("retry.per_attempt_timeout",
              DurationText(*retry.per_attempt_timeout),
              "an attempt may take all that is left of the call's deadline");
    }
    if (retry.idempotency_key_header) {
      Differs("retry.idempotency_key_header", *retry.idempotency_key_header,
              "no key is sent");
    }
    if (!retries) return;
    if (retry.min_attempt_time != defaults.min_attempt_time) {
      Differs("retry.min_attempt_time", DurationText(retry.min_attempt_time),
              "waits for attempts that the deadline leaves no time for");
    }
    if (retry.reserve != defaults.reserve) {
      Differs("retry.reserve", DurationText(retry.reserve),
              "nothing is kept back of the deadline");
    }
  }

  const std::string& place_;
  Differences* differences_;
};

}  // namespace

void ExportMethodPolicy(const MethodPolicy& policy, const std::string& place,
                        config::v1::MethodConfig* out,
                        Differences* differences) {
  Exporter(place, differences).Export(policy, out);
}

}  // namespace grpc_resilience::internal
