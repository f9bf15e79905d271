// The binomial distribution, right down to the smallest probabilities.

#pragma once

namespace grpc_resilience::internal {

/// Probability of exactly `successes` in `trials`; `p` in [0, 1].
double BinomialProbability(int trials, int successes, double p);

/// Probability of at least `successes` in `trials`; `p` in [0, 1].
double BinomialUpperTail(int trials, int successes, double p);

}  // namespace grpc_resilience::internal
