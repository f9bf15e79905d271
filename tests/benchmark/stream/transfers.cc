#include "benchmark/stream/transfers.h"

#include <grpcpp/client_context.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <iostream>
#include <string>

namespace grpc_resilience::bench {
namespace {

void Check(const grpc::Status& status, int moved, int count) {
  if (status.ok() && moved == count) return;
  std::cerr << moved << " of " << count
            << " messages: " << status.error_message() << "\n";
  std::exit(1);
}

Payload PayloadOf(int bytes) {
  Payload payload;
  payload.set_data(std::string(static_cast<std::size_t>(bytes), 'p'));
  return payload;
}

Order OrderOf(int count, int bytes) {
  Order order;
  order.set_count(count);
  order.set_bytes(bytes);
  return order;
}

void DownloadSync(Streams::Stub& stub, int count, int bytes) {
  grpc::ClientContext context;
  const auto reader = stub.Download(&context, OrderOf(count, bytes));
  Payload payload;
  int moved = 0;
  while (reader->Read(&payload)) ++moved;
  Check(reader->Finish(), moved, count);
}

class Downloader : public grpc::ClientReadReactor<Payload> {
 public:
  Downloader(Streams::Stub& stub, Order order) : order_(std::move(order)) {
    stub.async()->Download(&context_, &order_, this);
    StartRead(&payload_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    ++moved_;
    StartRead(&payload_);
  }
  void OnDone(const grpc::Status& status) override { done_.set_value(status); }
  void Wait() {
    const grpc::Status status = done_.get_future().get();
    Check(status, moved_, order_.count());
  }

 private:
  grpc::ClientContext context_;
  const Order order_;
  Payload payload_;
  int moved_ = 0;
  std::promise<grpc::Status> done_;
};

void PingPongSync(Streams::Stub& stub, int count, int bytes) {
  grpc::ClientContext context;
  const auto stream = stub.PingPong(&context);
  Payload payload = PayloadOf(bytes);
  int moved = 0;
  while (moved < count && stream->Write(payload) && stream->Read(&payload)) {
    ++moved;
  }
  stream->WritesDone();
  Check(stream->Finish(), moved, count);
}

class PingPonger : public grpc::ClientBidiReactor<Payload, Payload> {
 public:
  PingPonger(Streams::Stub& stub, int count, int bytes)
      : count_(count), sent_(PayloadOf(bytes)) {
    stub.async()->PingPong(&context_, this);
    StartRead(&received_);
    StartWrite(&sent_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    ++moved_;
    StartRead(&received_);
    Next();
  }
  void OnWriteDone(bool /*ok*/) override { Next(); }
  void OnDone(const grpc::Status& status) override { done_.set_value(status); }
  void Wait() {
    const grpc::Status status = done_.get_future().get();
    Check(status, moved_, count_);
  }

 private:
  // When the last one was both sent and answered.
  void Next() {
    if (halves_.fetch_add(1) % 2 == 0) return;
    if (moved_ < count_) {
      StartWrite(&sent_);
    } else {
      StartWritesDone();
    }
  }

  grpc::ClientContext context_;
  const int count_;
  const Payload sent_;
  Payload received_;
  std::atomic<int> halves_{0};
  int moved_ = 0;
  std::promise<grpc::Status> done_;
};

void UploadSync(Streams::Stub& stub, int count, int bytes) {
  grpc::ClientContext context;
  Payload response;
  const auto writer = stub.Upload(&context, &response);
  const Payload payload = PayloadOf(bytes);
  int moved = 0;
  while (moved < count && writer->Write(payload)) ++moved;
  writer->WritesDone();
  Check(writer->Finish(), moved, count);
}

}  // namespace

std::optional<Transfer> ParseTransfer(std::string_view name) {
  if (name == "ss_sync") return Transfer::kDownloadSync;
  if (name == "ss_reactor") return Transfer::kDownloadReactor;
  if (name == "bd_sync") return Transfer::kPingPongSync;
  if (name == "bd_reactor") return Transfer::kPingPongReactor;
  if (name == "cs_sync") return Transfer::kUploadSync;
  return std::nullopt;
}

void Move(Streams::Stub& stub, Transfer transfer, int count, int bytes) {
  switch (transfer) {
    case Transfer::kDownloadSync:
      return DownloadSync(stub, count, bytes);
    case Transfer::kDownloadReactor: {
      Downloader reactor(stub, OrderOf(count, bytes));
      return reactor.Wait();
    }
    case Transfer::kPingPongSync:
      return PingPongSync(stub, count, bytes);
    case Transfer::kPingPongReactor: {
      PingPonger reactor(stub, count, bytes);
      return reactor.Wait();
    }
    case Transfer::kUploadSync:
      return UploadSync(stub, count, bytes);
  }
}

}  // namespace grpc_resilience::bench
