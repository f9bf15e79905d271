// What the caller put on its context is on every attempt, no more and no less.

#include "support/counting_interceptor.h"
#include "support/end_to_end_test.h"

namespace grpc_resilience::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Ne;
using testing::SizeIs;

class MetadataTest : public WayTest {};

// A17.
TEST_P(MetadataTest, UserMetadataIsTheSameOnEveryAttempt) {
  const EchoRequest request = FailingRequest(3);
  grpc::ClientContext context;
  context.AddMetadata("a", "1");
  context.AddMetadata("b-bin", std::string("\0\1", 2));
  context.AddMetadata("a", "2");
  EchoResponse response;
  EXPECT_TRUE(Call(NewChannel(RetryConfig(4)), EchoMethod::kIdempotent,
                   &context, request, &response)
                  .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(4));
  for (const Observation& hit : hits.hits()) {
    EXPECT_THAT(Seen(hit, "a"), ElementsAre("1", "2"));
    EXPECT_THAT(Seen(hit, "b-bin"), ElementsAre(std::string("\0\1", 2)));
  }
}

// A17. No header is added again by a later attempt.
TEST_P(MetadataTest, InterceptorsHeadersArriveOncePerAttempt) {
  InterceptorFactories factories;
  factories.push_back(std::make_unique<AddMetadataFactory>("h", "before"));
  factories.push_back(CreateInterceptorFactory(MakeResilience(RetryConfig()),
                                               backend().target()));
  factories.push_back(std::make_unique<AddMetadataFactory>("i", "after"));
  const EchoRequest request = FailingRequest(2);
  EXPECT_TRUE(
      Call(NewChannelOf(std::move(factories)), EchoMethod::kIdempotent, request)
          .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(3));
  for (const Observation& hit : hits.hits()) {
    EXPECT_THAT(Seen(hit, "h"), ElementsAre("before"));
    EXPECT_THAT(Seen(hit, "i"), ElementsAre("after"));
  }
}

// B16.
TEST_P(MetadataTest, PreviousAttemptsAreCounted) {
  const EchoRequest request = FailingRequest(2);
  EXPECT_TRUE(Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, request)
                  .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(3));
  const char* const key = "grpc-previous-rpc-attempts";
  EXPECT_THAT(Seen(hits.hits(0), key), IsEmpty());
  EXPECT_THAT(Seen(hits.hits(1), key), ElementsAre("1"));
  EXPECT_THAT(Seen(hits.hits(2), key), ElementsAre("2"));
}

// B16. The count is ours; a caller's value is dropped.
TEST_P(MetadataTest, CallersPreviousAttemptsAreDropped) {
  const EchoRequest request = FailingRequest(1);
  const char* const key = "grpc-previous-rpc-attempts";
  grpc::ClientContext context;
  context.AddMetadata(key, "7");
  EchoResponse response;
  EXPECT_TRUE(Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, &context,
                   request, &response)
                  .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(2));
  EXPECT_THAT(Seen(hits.hits(0), key), IsEmpty());
  EXPECT_THAT(Seen(hits.hits(1), key), ElementsAre("1"));
}

// One random key per call, on all its attempts; it makes the method idempotent.
TEST_P(MetadataTest, IdempotencyKey) {
  Config config = RetryConfig();
  config.DefaultMethod().retry.idempotency_key_header = "idempotency-key";
  const auto channel = NewChannel(std::move(config));
  std::string last;
  for (int call = 0; call < 2; ++call) {
    const EchoRequest request = FailingRequest(2);
    EXPECT_TRUE(Call(channel, EchoMethod::kUnary, request).status.ok());
    const HitsResponse hits = Hits(request);
    ASSERT_THAT(hits.hits(), SizeIs(3));
    const auto keys = Seen(hits.hits(0), "idempotency-key");
    ASSERT_THAT(keys, SizeIs(1));
    EXPECT_THAT(keys[0], MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                                      "[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
    EXPECT_EQ(Seen(hits.hits(1), "idempotency-key"), keys);
    EXPECT_EQ(Seen(hits.hits(2), "idempotency-key"), keys);
    EXPECT_THAT(keys[0], Ne(last));
    last = keys[0];
  }
}

TEST_P(MetadataTest, CallersIdempotencyKeyIsKept) {
  Config config = RetryConfig();
  config.DefaultMethod().retry.idempotency_key_header = "idempotency-key";
  const EchoRequest request = FailingRequest(1);
  grpc::ClientContext context;
  context.AddMetadata("idempotency-key", "mine");
  EchoResponse response;
  EXPECT_TRUE(Call(NewChannel(std::move(config)), EchoMethod::kUnary, &context,
                   request, &response)
                  .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(2));
  for (const Observation& hit : hits.hits()) {
    EXPECT_THAT(Seen(hit, "idempotency-key"), ElementsAre("mine"));
  }
}

// Compression of the first attempt is compression of all.
TEST_P(MetadataTest, CompressionHoldsOnEveryAttempt) {
  EchoRequest request = FailingRequest(2);
  request.set_data(std::string(10000, 'z'));
  const auto compress = [](grpc::ClientContext* context) {
    context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
  };
  EchoRequest plain_request = request;
  plain_request.set_key(request.key() + "plain");
  grpc::ClientContext plain_context;
  compress(&plain_context);
  EchoResponse response;
  Call(PlainChannel(), EchoMethod::kIdempotent, &plain_context, plain_request,
       &response);
  const Observation plain = Hits(plain_request).hits(0);
  EXPECT_EQ(plain.encoding(), "gzip");

  grpc::ClientContext context;
  compress(&context);
  EXPECT_TRUE(Call(NewChannel(RetryConfig()), EchoMethod::kIdempotent, &context,
                   request, &response)
                  .status.ok());
  const HitsResponse hits = Hits(request);
  ASSERT_THAT(hits.hits(), SizeIs(3));
  for (const Observation& hit : hits.hits()) {
    EXPECT_EQ(hit.encoding(), "gzip");
    EXPECT_EQ(hit.compressed(), plain.compressed());
    EXPECT_EQ(Seen(hit, "grpc-internal-encoding-request"),
              Seen(plain, "grpc-internal-encoding-request"));
  }
}

INSTANTIATE_TEST_SUITE_P(, MetadataTest, AllWays(), WayName);

}  // namespace
}  // namespace grpc_resilience::test
