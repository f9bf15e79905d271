#include "grpc_resilience/window_threshold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_format.h"

namespace grpc_resilience {
namespace {

using ::testing::HasSubstr;

std::string ThreeDigits(double value) { return absl::StrFormat("%.3g", value); }

TEST(WindowThresholdTest, ThresholdTable) {
  struct Row {
    int window_calls;
    double failure_rate_threshold;
    int failures_to_open;
    double p_open_at_1pct;
    double p_open_at_5pct;
  };
  for (const Row& row : {
           Row{5, 0.2, 1, 0.049, 0.226},
           Row{5, 0.5, 3, 9.85e-06, 0.00116},
           Row{10, 0.2, 2, 0.00427, 0.0861},
           Row{10, 0.5, 5, 2.42e-08, 6.37e-05},
           Row{20, 0.2, 4, 4.26e-05, 0.0159},
           Row{20, 0.5, 10, 1.69e-15, 1.13e-08},
           Row{50, 0.2, 10, 7.13e-11, 0.000159},
           Row{50, 0.5, 25, 9.93e-37, 1.1e-19},
       }) {
    SCOPED_TRACE(absl::StrFormat("%d calls, %g", row.window_calls,
                                 row.failure_rate_threshold));
    const WindowThreshold window{row.window_calls, row.failure_rate_threshold};
    EXPECT_EQ(FailuresToOpen(window).value(), row.failures_to_open);
    EXPECT_EQ(ThreeDigits(OpenProbability(window, 0.01).value()),
              ThreeDigits(row.p_open_at_1pct));
    EXPECT_EQ(ThreeDigits(OpenProbability(window, 0.05).value()),
              ThreeDigits(row.p_open_at_5pct));
  }
}

TEST(WindowThresholdTest, FalseOpensOfSeparateWindowsPerDay) {
  struct Row {
    int window_calls;
    double failure_rate_threshold;
    double steady_failure_rate;
    const char* per_day;
  };
  for (const Row& row : {
           Row{5, 0.2, 0.01, "16937.8388"},
           Row{5, 0.2, 0.05, "78181.3080"},
           Row{10, 0.2, 0.01, "737.1994"},
           Row{10, 0.2, 0.05, "14884.7079"},
           Row{10, 0.5, 0.01, "0.0042"},
           Row{10, 0.5, 0.05, "11.0056"},
           Row{20, 0.5, 0.01, "0.0000"},
           Row{20, 0.5, 0.05, "0.0010"},
       }) {
    const WindowThreshold window{row.window_calls, row.failure_rate_threshold};
    EXPECT_EQ(absl::StrFormat("%.4f", FalseOpensOfSeparateWindowsPerDay(
                                          window, row.steady_failure_rate, 20)
                                          .value()),
              row.per_day);
  }
}

// 0.29 * 100 is a little less than 29, and 29 / 100 is 0.29 all the same.
TEST(WindowThresholdTest, FailuresToOpenAreRoundedAsTheBreakerDivides) {
  for (int calls = 1; calls <= 300; ++calls) {
    for (int failures = 1; failures <= calls; ++failures) {
      const double threshold = static_cast<double>(failures) / calls;
      ASSERT_EQ(FailuresToOpen({calls, threshold}).value(), failures) << calls;
    }
  }
  EXPECT_EQ(FailuresToOpen({100, 1e-9}).value(), 1);
}

TEST(WindowThresholdTest, EndsOfTheRange) {
  EXPECT_EQ(OpenProbability({10, 0.5}, 0).value(), 0);
  EXPECT_EQ(OpenProbability({10, 0.5}, 1).value(), 1);
  EXPECT_NEAR(OpenProbability({1, 1}, 0.25).value(), 0.25, 1e-15);
  EXPECT_NEAR(OpenProbability({3, 0.1}, 0.9).value(), 0.999, 1e-15);
  // Even odds on an odd number of calls: one half, whatever the size.
  EXPECT_NEAR(OpenProbability({99'999, 0.5}, 0.5).value(), 0.5, 1e-9);
  EXPECT_EQ(FalseOpensOfSeparateWindowsPerDay({10, 0.5}, 0.5, 0).value(), 0);
}

TEST(WindowThresholdTest, SaysWhatIsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const absl::Status status =
      FalseOpensOfSeparateWindowsPerDay({0, 1.5}, nan, -1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "window: window_calls = 0: must be in [1, 100000]\n"
            "window: failure_rate_threshold = 1.5: must be in (0, 1]\n"
            "calls: failure_rate = nan: must be in [0, 1]\n"
            "calls: calls_per_second = -1: must be in [0, 1e+09]");
  EXPECT_THAT(std::string(OpenProbability({10, 0.5}, 1.1).status().message()),
              HasSubstr("failure_rate = 1.1"));
  EXPECT_FALSE(FailuresToOpen({10, 0}).ok());
  EXPECT_FALSE(FailuresToOpen({10, nan}).ok());
}

}  // namespace
}  // namespace grpc_resilience
