// The names of all metrics, in one place. README says what each one counts and
// which labels it has.

#pragma once

namespace grpc_resilience {

// Of calls and attempts; labels target, method.

inline constexpr char kCallsMetric[] = "grpc_resilience_calls_total";
inline constexpr char kAttemptsMetric[] = "grpc_resilience_attempts_total";
inline constexpr char kRetriesMetric[] = "grpc_resilience_retries_total";
inline constexpr char kRejectedMetric[] = "grpc_resilience_rejected_total";
inline constexpr char kBudgetRefusalsMetric[] =
    "grpc_resilience_budget_refusals_total";
inline constexpr char kHedgesMetric[] = "grpc_resilience_hedges_total";
inline constexpr char kFallbacksMetric[] = "grpc_resilience_fallbacks_total";
inline constexpr char kCallDurationMetric[] =
    "grpc_resilience_call_duration_seconds";
inline constexpr char kAttemptDurationMetric[] =
    "grpc_resilience_attempt_duration_seconds";

// Of breakers; labels target, and method or key where the breaker has one.

inline constexpr char kBreakerStateMetric[] = "grpc_resilience_breaker_state";
inline constexpr char kBreakerModeMetric[] = "grpc_resilience_breaker_mode";
inline constexpr char kBreakerTransitionsMetric[] =
    "grpc_resilience_breaker_transitions_total";
inline constexpr char kIgnoredOutcomesMetric[] =
    "grpc_resilience_ignored_outcomes_total";
inline constexpr char kWouldHaveRejectedMetric[] =
    "grpc_resilience_would_have_rejected_total";
inline constexpr char kWouldHaveRejectedSucceededMetric[] =
    "grpc_resilience_would_have_rejected_succeeded_total";

// Of all breakers together.

inline constexpr char kBreakersMetric[] = "grpc_resilience_breakers";

/// The value of a label when there are too many different ones.
inline constexpr char kOtherLabel[] = "other";

}  // namespace grpc_resilience
