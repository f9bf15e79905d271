#include "planner/binomial.h"

#include <algorithm>
#include <cmath>

namespace grpc_resilience::internal {
namespace {

// Not lgamma: it isn't safe to use from several threads at once.
double LogChoose(int n, int k) {
  k = std::min(k, n - k);
  double sum = 0;
  for (int i = 1; i <= k; ++i) {
    sum += std::log(static_cast<double>(n - k + i) / i);
  }
  return sum;
}

}  // namespace

double BinomialProbability(int trials, int successes, double p) {
  if (successes < 0 || successes > trials) return 0;
  if (p <= 0) return successes == 0 ? 1 : 0;
  if (p >= 1) return successes == trials ? 1 : 0;
  return std::exp(LogChoose(trials, successes) + successes * std::log(p) +
                  (trials - successes) * std::log1p(-p));
}

double BinomialUpperTail(int trials, int successes, double p) {
  if (successes <= 0) return 1;
  if (p >= 1) return successes <= trials ? 1 : 0;
  // The tail that's the smaller one, from its largest term outwards: nothing
  // cancels, and the terms fall.
  const bool upper = successes > trials * p;
  const double odds = p / (1 - p);
  int i = upper ? successes : successes - 1;
  double term = BinomialProbability(trials, i, p);
  double sum = 0;
  while (i >= 0 && i <= trials && term > sum * 1e-18) {
    sum += term;
    if (upper) {
      term *= odds * (trials - i) / (i + 1);
      ++i;
    } else {
      term *= i / (odds * (trials - i + 1));
      --i;
    }
  }
  return upper ? sum : 1 - sum;
}

}  // namespace grpc_resilience::internal
