// A client that knows nothing of our messages asks the server for them.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <set>

#include "admin/end_to_end/admin_test.h"

namespace grpc_resilience::test {
namespace {

namespace proto = google::protobuf;
using testing::Contains;

constexpr char kReflection[] =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr char kService[] = "grpc_resilience.admin.v1.ResilienceAdmin";

grpc::ByteBuffer ToBytes(const proto::Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  EXPECT_TRUE((grpc::GenericSerialize<grpc::ProtoBufferWriter, proto::Message>(
                   message, &bytes, &own))
                  .ok());
  return bytes;
}

void Parse(grpc::ByteBuffer* bytes, proto::Message* message) {
  EXPECT_TRUE(
      (grpc::GenericDeserialize<grpc::ProtoBufferReader, proto::Message>(
           bytes, message))
          .ok());
}

// The message in which servers describe themselves; the library with the reflection
// service has it.
std::unique_ptr<proto::Message> NewReflectionMessage(const std::string& name) {
  const proto::Descriptor* const type =
      proto::DescriptorPool::generated_pool()->FindMessageTypeByName(
          "grpc.reflection.v1alpha." + name);
  return std::unique_ptr<proto::Message>(
      proto::MessageFactory::generated_factory()->GetPrototype(type)->New());
}

class GenericClientTest : public AdminTest {
 protected:
  grpc::ByteBuffer Call(const std::string& method,
                        const proto::Message& request,
                        grpc::ClientContext* context) {
    grpc::CompletionQueue queue;
    grpc::GenericStub stub(channel_);
    const auto call =
        stub.PrepareUnaryCall(context, method, ToBytes(request), &queue);
    grpc::ByteBuffer response;
    grpc::Status status;
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    Next(&queue);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // One question, one answer.
  std::unique_ptr<proto::Message> Reflect(const std::string& field,
                                          const std::string& value) {
    const auto request = NewReflectionMessage("ServerReflectionRequest");
    request->GetReflection()->SetString(
        request.get(), request->GetDescriptor()->FindFieldByName(field), value);
    const auto context = With("");
    grpc::CompletionQueue queue;
    grpc::GenericStub stub(channel_);
    const auto call = stub.PrepareCall(context.get(), kReflection, &queue);
    call->StartCall(nullptr);
    Next(&queue);
    call->Write(ToBytes(*request), nullptr);
    Next(&queue);
    grpc::ByteBuffer bytes;
    call->Read(&bytes, nullptr);
    Next(&queue);
    auto response = NewReflectionMessage("ServerReflectionResponse");
    Parse(&bytes, response.get());
    context->TryCancel();
    grpc::Status status;
    call->Finish(&status, nullptr);
    Next(&queue);
    return response;
  }

  static void Next(grpc::CompletionQueue* queue) {
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue->Next(&tag, &ok));
  }

  const std::shared_ptr<grpc::Channel> channel_ =
      NewChannel(subject().address());
};

TEST_F(GenericClientTest, FindsTheServiceAndListsBreakers) {
  const auto services = Reflect("list_services", "*");
  EXPECT_THAT(services->DebugString(), testing::HasSubstr(kService));

  // All files that the service needs, from the server alone.
  const auto files = Reflect("file_containing_symbol", kService);
  const auto* const field =
      files->GetDescriptor()->FindFieldByName("file_descriptor_response");
  const proto::Message& file_list =
      files->GetReflection()->GetMessage(*files, field);
  const auto* const each =
      file_list.GetDescriptor()->FindFieldByName("file_descriptor_proto");
  proto::SimpleDescriptorDatabase database;
  std::set<std::string> names;
  for (int i = 0; i < file_list.GetReflection()->FieldSize(file_list, each);
       ++i) {
    proto::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(
        file_list.GetReflection()->GetRepeatedString(file_list, each, i)));
    names.insert(file.name());
    database.Add(file);
  }
  EXPECT_THAT(names, Contains("grpc_resilience/admin/v1/admin.proto"));
  proto::DescriptorPool pool(&database);
  const proto::ServiceDescriptor* const service =
      pool.FindServiceByName(kService);
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service->method_count(), 11);

  const auto* const method = service->FindMethodByName("ListBreakers");
  ASSERT_NE(method, nullptr);
  proto::DynamicMessageFactory factory(&pool);
  const std::unique_ptr<proto::Message> request(
      factory.GetPrototype(method->input_type())->New());
  const std::unique_ptr<proto::Message> response(
      factory.GetPrototype(method->output_type())->New());
  grpc::ByteBuffer bytes = Call(std::string("/") + kService + "/ListBreakers",
                                *request, With(kReadToken).get());
  Parse(&bytes, response.get());
  EXPECT_THAT(response->DebugString(),
              testing::HasSubstr("target: \"" + backend().target() + "\""));
}

}  // namespace
}  // namespace grpc_resilience::test
