// What the administered process knows and no answer may hold.

#pragma once

namespace grpc_resilience::test {

inline constexpr char kMetadataSecret[] = "metadata-hunter2";
inline constexpr char kBodySecret[] = "body-hunter2";
inline constexpr char kReadToken[] = "reader-hunter2";
inline constexpr char kChangeToken[] = "changer-hunter2";

}  // namespace grpc_resilience::test
