// What the demo found out: a table, and checks of what it claims.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "breaker_log.h"
#include "call_log.h"

namespace demo {

/// All that was recorded, for the report. `plain` and `ours` must outlive it.
struct Findings {
  const CallLog* plain;
  const CallLog* ours;
  int calls_per_second;
  Transitions transitions;
  Period healthy;
  Period down;      ///< from the kill until the new backend accepts connections
  Period recovery;  ///< from then on
  Period failing;
  Period end;
  /// Requests that the backend received on our channel in `failing`.
  std::int64_t requests_seen_while_failing = 0;
};

/// A promise of the demo and whether it was kept. A value type.
struct Check {
  std::string name;
  bool kept;
  std::string found;
};

void PrintTable(const Findings& findings);
std::vector<Check> MakeChecks(const Findings& findings);
/// Names every broken promise; true when there is none.
bool PrintChecks(const std::vector<Check>& checks);

}  // namespace demo
