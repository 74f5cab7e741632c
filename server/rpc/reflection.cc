#include "server/rpc/reflection.h"

#include <set>
#include <utility>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/rpc/error_details.pb.h"
#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace evenkeel::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

const FileDescriptor* FindFileOfExtension(const std::string& type_name, int number) {
  const DescriptorPool* pool = DescriptorPool::generated_pool();
  const Descriptor* type = pool->FindMessageTypeByName(type_name);
  const FieldDescriptor* field =
      type == nullptr ? nullptr : pool->FindExtensionByNumber(type, number);
  return field == nullptr ? nullptr : field->file();
}

// Adds the file and all its imports, each once. Without the imports, a caller could not build it.
template <typename Response>
void AddFileAndImports(const FileDescriptor& file, std::set<std::string>* seen,
                       Response* response) {
  if (!seen->insert(file.name()).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  file.CopyJsonNameTo(&proto);  // otherwise clients print field names
  response->mutable_file_descriptor_response()->add_file_descriptor_proto(
      proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) {
    AddFileAndImports(*file.dependency(i), seen, response);
  }
}

template <typename Response>
void SetError(grpc::StatusCode code, const std::string& message, Response* response) {
  response->mutable_error_response()->set_error_code(code);
  response->mutable_error_response()->set_error_message(message);
}

template <typename Response>
void SetFile(const FileDescriptor* file, const std::string& wanted, Response* response) {
  if (file == nullptr) return SetError(grpc::StatusCode::NOT_FOUND, "no " + wanted, response);
  std::set<std::string> seen;
  AddFileAndImports(*file, &seen, response);
}

template <typename Response>
void SetExtensionNumbers(const std::string& type_name, Response* response) {
  const DescriptorPool* pool = DescriptorPool::generated_pool();
  const Descriptor* type = pool->FindMessageTypeByName(type_name);
  if (type == nullptr) {
    return SetError(grpc::StatusCode::NOT_FOUND, "no message " + type_name, response);
  }
  std::vector<const FieldDescriptor*> extensions;
  pool->FindAllExtensions(type, &extensions);
  auto* numbers = response->mutable_all_extension_numbers_response();
  numbers->set_base_type_name(type_name);
  for (const FieldDescriptor* extension : extensions) {
    numbers->add_extension_number(extension->number());
  }
}

template <typename Request, typename Response>
void Reflect(const std::vector<std::string>& services, const Request& request, Response* response) {
  const DescriptorPool* pool = DescriptorPool::generated_pool();
  response->set_valid_host(request.host());
  *response->mutable_original_request() = request;
  switch (request.message_request_case()) {
    case Request::kListServices:
      for (const std::string& name : services) {
        response->mutable_list_services_response()->add_service()->set_name(name);
      }
      return;
    case Request::kFileByFilename:
      return SetFile(pool->FindFileByName(request.file_by_filename()),
                     "file " + request.file_by_filename(), response);
    case Request::kFileContainingSymbol:
      return SetFile(pool->FindFileContainingSymbol(request.file_containing_symbol()),
                     "symbol " + request.file_containing_symbol(), response);
    case Request::kFileContainingExtension: {
      const auto& wanted = request.file_containing_extension();
      return SetFile(FindFileOfExtension(wanted.containing_type(), wanted.extension_number()),
                     "extension of " + wanted.containing_type(), response);
    }
    case Request::kAllExtensionNumbersOfType:
      return SetExtensionNumbers(request.all_extension_numbers_of_type(), response);
    default:
      return SetError(grpc::StatusCode::INVALID_ARGUMENT, "unknown request", response);
  }
}

// Alternately reads a question and writes its answer until the caller is done.
template <typename Request, typename Response>
class ReflectionCall final : public grpc::ServerBidiReactor<Request, Response> {
 public:
  explicit ReflectionCall(const std::vector<std::string>& services) : services_(services) {
    this->StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return this->Finish(grpc::Status::OK);
    response_.Clear();
    Reflect(services_, request_, &response_);
    this->StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return this->Finish(grpc::Status::CANCELLED);
    this->StartRead(&request_);
  }

  void OnDone() override { delete this; }

 private:
  const std::vector<std::string>& services_;
  Request request_;
  Response response_;
};

template <typename Api, typename Request, typename Response>
class ReflectionService final : public Api::CallbackService {
 public:
  explicit ReflectionService(std::vector<std::string> services) : services_(std::move(services)) {}

  grpc::ServerBidiReactor<Request, Response>* ServerReflectionInfo(
      grpc::CallbackServerContext* /*context*/) override {
    return new ReflectionCall<Request, Response>(services_);
  }

 private:
  const std::vector<std::string> services_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeReflectionServices(
    std::vector<std::string> services) {
  namespace alpha = grpc::reflection::v1alpha;
  namespace stable = grpc::reflection::v1;
  // These are referenced here because the linker would otherwise leave out their descriptors:
  // gRPC's health service has none.
  (void)grpc::health::v1::HealthCheckRequest::descriptor();
  (void)google::rpc::ErrorInfo::descriptor();
  services.emplace_back(stable::ServerReflection::service_full_name());
  services.emplace_back(alpha::ServerReflection::service_full_name());
  std::vector<std::unique_ptr<grpc::Service>> made;
  made.push_back(
      std::make_unique<ReflectionService<stable::ServerReflection, stable::ServerReflectionRequest,
                                         stable::ServerReflectionResponse>>(services));
  made.push_back(
      std::make_unique<ReflectionService<alpha::ServerReflection, alpha::ServerReflectionRequest,
                                         alpha::ServerReflectionResponse>>(services));
  return made;
}

}  // namespace evenkeel::server
