// The fixture of the streams' end-to-end tests: every form and kind.

#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "grpc_resilience/stream_policy.h"
#include "support/end_to_end_test.h"
#include "support/stream_forms.h"

namespace grpc_resilience::test {

/// What the caller of a whole stream is left with. A value type.
struct StreamResult {
  grpc::Status status;
  int written = 0;  ///< writes that succeeded
  std::vector<EchoResponse> responses;
  MetadataMap initial_metadata;
  MetadataMap trailing_metadata;
  std::chrono::nanoseconds elapsed{0};

  StatusCode code() const { return status.error_code(); }
  std::vector<std::string> Trailing(const std::string& key) const {
    std::vector<std::string> values;
    const auto [begin, end] = trailing_metadata.equal_range(key);
    for (auto it = begin; it != end; ++it) values.push_back(it->second);
    return values;
  }
  std::vector<std::string> Initial(const std::string& key) const {
    std::vector<std::string> values;
    const auto [begin, end] = initial_metadata.equal_range(key);
    for (auto it = begin; it != end; ++it) values.push_back(it->second);
    return values;
  }
};

inline MetadataMap CopyOf(
    const std::multimap<grpc::string_ref, grpc::string_ref>& from) {
  MetadataMap copy;
  for (const auto& [key, value] : from) {
    copy.emplace(std::string(key.data(), key.size()),
                 std::string(value.data(), value.size()));
  }
  return copy;
}

/// Retries of every method, without breaker, waits of 2 ms.
inline Config StreamRetryConfig(int max_attempts = 3) {
  Config config = RetryConfig(max_attempts);
  config.DefaultMethod().retry.idempotency = Idempotency::kIdempotent;
  return config;
}

class StreamTestBase : public EndToEndTest {
 protected:
  using EndToEndTest::EndToEndTest;

  /// The messages of a client's side: the first carries key and script.
  static std::vector<EchoRequest> Messages(const EchoRequest& first,
                                           int count) {
    std::vector<EchoRequest> messages = {first};
    for (int i = 1; i < count; ++i) {
      messages.emplace_back().add_payload("message " + std::to_string(i));
    }
    return messages;
  }

  struct Options {
    int messages = 3;
    bool corked = false;
    bool write_last = false;
    bool wait_for_headers = false;
  };

  /// A whole stream: everything is written, then everything read.
  static StreamResult Run(StreamShape shape,
                          const std::shared_ptr<grpc::Channel>& channel,
                          grpc::ClientContext* context,
                          const EchoRequest& request, const Options& options) {
    const auto start = std::chrono::steady_clock::now();
    StreamResult result;
    auto stream = StartStream(shape, channel, context, request, options.corked);
    if (options.wait_for_headers && !options.corked &&
        shape.kind == StreamKind::kServer) {
      stream->WaitForInitialMetadata();
    }
    if (shape.kind != StreamKind::kServer) {
      const auto messages = Messages(request, options.messages);
      for (std::size_t i = 0; i < messages.size(); ++i) {
        const bool last = options.write_last && i + 1 == messages.size();
        if (!stream->Write(messages[i], last)) break;
        ++result.written;
      }
      if (!options.write_last) stream->WritesDone();
      if (options.wait_for_headers) stream->WaitForInitialMetadata();
    }
    if (shape.kind != StreamKind::kClient) {
      EchoResponse response;
      while (stream->Read(&response)) result.responses.push_back(response);
    }
    result.status = stream->Finish();
    if (shape.kind == StreamKind::kClient && result.status.ok()) {
      result.responses.push_back(stream->response());
    }
    result.elapsed = std::chrono::steady_clock::now() - start;
    result.initial_metadata = CopyOf(context->GetServerInitialMetadata());
    result.trailing_metadata = CopyOf(context->GetServerTrailingMetadata());
    return result;
  }

  /// FNV-1a over the serialized messages, as the server counts it.
  static std::uint64_t HashOf(const std::vector<EchoRequest>& messages) {
    std::uint64_t hash = 14695981039346656037u;
    for (const EchoRequest& message : messages) {
      for (const char c : message.SerializeAsString()) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
      }
    }
    return hash;
  }
};

class StreamTest
    : public StreamTestBase,
      public testing::WithParamInterface<std::tuple<StreamForm, StreamKind>> {
 protected:
  using StreamTestBase::StreamTestBase;

  StreamForm form() const { return std::get<0>(GetParam()); }
  StreamKind kind() const { return std::get<1>(GetParam()); }
  StreamShape shape() const { return {form(), kind()}; }
  bool is_reactor() const {
    return form() == StreamForm::kReactor ||
           form() == StreamForm::kGenericReactor;
  }
  std::string method() const { return StreamMethod(kind()); }

  /// `responses` messages come from the server in all.
  EchoRequest NewStreamRequest(int responses = 3) const {
    EchoRequest request = NewRequest();
    request.mutable_script()->set_responses(responses);
    return request;
  }
  EchoRequest FailingStream(int times, int messages_before_failure = 0,
                            StatusCode code = StatusCode::UNAVAILABLE) const {
    EchoRequest request = NewStreamRequest();
    Script* script = request.mutable_script();
    script->set_fail_times(times);
    script->set_code(code);
    script->set_message("hit # failed");
    script->set_messages_before_failure(messages_before_failure);
    return request;
  }

  StreamResult Run(const std::shared_ptr<grpc::Channel>& channel,
                   const EchoRequest& request, const Options& options) {
    grpc::ClientContext context;
    return Run(channel, &context, request, options);
  }
  StreamResult Run(const std::shared_ptr<grpc::Channel>& channel,
                   const EchoRequest& request) {
    return Run(channel, request, Options());
  }
  StreamResult Run(const std::shared_ptr<grpc::Channel>& channel,
                   grpc::ClientContext* context, const EchoRequest& request) {
    return Run(channel, context, request, Options());
  }
  StreamResult Run(const std::shared_ptr<grpc::Channel>& channel,
                   grpc::ClientContext* context, const EchoRequest& request,
                   const Options& options) {
    return StreamTestBase::Run(shape(), channel, context, request, options);
  }

  /// Everything came, once and in order, from `hit`.
  void ExpectWhole(const StreamResult& result, const EchoRequest& request,
                   int hit, int messages = 3) {
    EXPECT_TRUE(result.status.ok()) << result.status.error_message();
    const auto sent = Messages(request, messages);
    std::vector<std::string> items;
    for (const EchoResponse& response : result.responses) {
      EXPECT_EQ(response.hit(), hit);
      items.insert(items.end(), response.items().begin(),
                   response.items().end());
    }
    std::vector<std::string> expected;
    if (kind() == StreamKind::kServer) {
      for (int i = 0; i < request.script().responses(); ++i) {
        expected.push_back(std::to_string(i));
      }
    } else {
      EXPECT_EQ(result.written, messages);
      for (const EchoRequest& message : sent) {
        expected.insert(expected.end(), message.payload().begin(),
                        message.payload().end());
      }
    }
    EXPECT_EQ(items, expected);
    // What the server got is byte for byte what was written.
    const HitsResponse hits = Hits(request);
    EXPECT_EQ(hits.count(), hit);
    if (hits.hits_size() != hit) return;
    EXPECT_EQ(
        hits.hits(hit - 1).request_hash(),
        HashOf(kind() == StreamKind::kServer ? std::vector<EchoRequest>{request}
                                             : sent));
  }
};

inline auto AllStreams() {
  return testing::Combine(
      testing::Values(StreamForm::kSync, StreamForm::kAsyncCq,
                      StreamForm::kReactor, StreamForm::kGenericCq,
                      StreamForm::kGenericReactor),
      testing::Values(StreamKind::kServer, StreamKind::kClient,
                      StreamKind::kBidi));
}
inline std::string StreamName(
    const testing::TestParamInfo<std::tuple<StreamForm, StreamKind>>& info) {
  return ToString(std::get<0>(info.param)) + ToString(std::get<1>(info.param));
}

}  // namespace grpc_resilience::test
