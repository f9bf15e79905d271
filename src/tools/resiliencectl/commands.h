// What resiliencectl can do; each returns the exit status.

#pragma once

#include "tools/resiliencectl/options.h"
#include "tools/resiliencectl/processes.h"

namespace grpc_resilience::tools {

ExitCode List(const Options& options, const Processes& processes);
ExitCode Get(const Options& options, const Processes& processes);
ExitCode Watch(const Options& options, const Processes& processes);
ExitCode Explain(const Options& options, const Processes& processes);
ExitCode Transitions(const Options& options, const Processes& processes);
/// All rules, or the one that applies to options.key.
ExitCode Policy(const Options& options, const Processes& processes);
ExitCode Outcomes(const Options& options, const Processes& processes);

ExitCode Force(const Options& options, const Processes& processes);
ExitCode Reset(const Options& options, const Processes& processes);
ExitCode Record(const Options& options, const Processes& processes);

/// The last word of a command about options.key: names that are near when no
/// process has a breaker of that name.
class Report;
ExitCode Finish(const Report& report, const Options& options,
                const Processes& processes);

}  // namespace grpc_resilience::tools
