// What attempts of the library's own take over from the caller's call.

#include "interceptor/unary_call.h"

namespace grpc_resilience::internal {

void UnaryCall::CaptureRequest(Pass pass) {
  const void* object = pass->GetSendMessage();
  if (object != nullptr && identity_.sent == MessageBase::kProtobuf) {
    request_object_ = static_cast<const google::protobuf::MessageLite*>(object);
  } else if (object != nullptr && identity_.sent == MessageBase::kBytes) {
    request_bytes_ = *static_cast<const grpc::ByteBuffer*>(object);
  } else {
    // Bytes already, or an object that only its own serializer knows.
    request_bytes_ = *pass->GetSerializedSendMessage();
  }
}

bool UnaryCall::HasLaterInterceptors() const {
  return !place_ || place_->index + 1 < place_->size ||
         grpc::internal::g_global_client_interceptor_factory != nullptr;
}

void UnaryCall::PrepareReissue(Pass pass) {
  if (own_call_limit_) {
    OwnCallLimit::RemoveHeader(pass->GetSendInitialMetadata());
  }
  reissue_ = std::make_unique<Reissue>();
  AttemptRoute& route = reissue_->route;
  route.channel = channel_;
  // A predicate looks at the message as well.
  route.observed = HasLaterInterceptors() || plan_->outcome_predicate;
  if (place_) {
    route.position = place_->index + 1;
  } else {
    route.intercepted = pass->GetInterceptedChannel();
  }
  AttemptRequest& request = reissue_->request;
  request.method = plan_->method.c_str();
  request.suffix_for_stats = suffix_for_stats_;
  request.context = context_;
  request.object = request_object_;
  request.bytes = request_bytes_;
  request.metadata =
      own_metadata_ ? &*own_metadata_ : pass->GetSendInitialMetadata();
  if (identity_.received == MessageBase::kProtobuf && received_ != nullptr) {
    request.response_prototype =
        static_cast<const google::protobuf::MessageLite*>(received_);
  } else if (identity_.received != MessageBase::kBytes &&
             identity_.sent != MessageBase::kBytes) {
    request.response_prototype = plan_->types.response;
  }
}

}  // namespace grpc_resilience::internal
