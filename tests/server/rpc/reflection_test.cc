#include <set>

#include "google/protobuf/descriptor.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "tests/server/rpc/server_fixture.h"

namespace evenkeel::server {
namespace {

template <typename Api>
struct ReflectionApi;
template <>
struct ReflectionApi<grpc::reflection::v1::ServerReflection> {
  using Request = grpc::reflection::v1::ServerReflectionRequest;
  using Response = grpc::reflection::v1::ServerReflectionResponse;
};
template <>
struct ReflectionApi<grpc::reflection::v1alpha::ServerReflection> {
  using Request = grpc::reflection::v1alpha::ServerReflectionRequest;
  using Response = grpc::reflection::v1alpha::ServerReflectionResponse;
};

template <typename Api>
class ReflectionTest : public ServerFixture {
 protected:
  using Request = typename ReflectionApi<Api>::Request;
  using Response = typename ReflectionApi<Api>::Response;

  Response Ask(const Request& request) {
    auto stub = Api::NewStub(channel_);
    grpc::ClientContext context;
    auto stream = stub->ServerReflectionInfo(&context);
    Response response;
    stream->Write(request);
    EXPECT_TRUE(stream->Read(&response));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return response;
  }
};

using Apis = testing::Types<grpc::reflection::v1::ServerReflection,
                            grpc::reflection::v1alpha::ServerReflection>;
TYPED_TEST_SUITE(ReflectionTest, Apis);

TYPED_TEST(ReflectionTest, ListsTheServices) {
  typename TestFixture::Request request;
  request.set_list_services("*");
  const auto response = this->Ask(request);
  std::set<std::string> names;
  for (const auto& service : response.list_services_response().service()) {
    names.insert(service.name());
  }
  EXPECT_EQ(names, (std::set<std::string>{"evenkeel.v1.PlannerService", "grpc.health.v1.Health",
                                          "grpc.reflection.v1.ServerReflection",
                                          "grpc.reflection.v1alpha.ServerReflection"}));
}

// Each comes with all the files that it needs, so that a caller can build its descriptors.
TYPED_TEST(ReflectionTest, DescribesServicesAndErrorDetails) {
  for (const char* symbol :
       {"evenkeel.v1.PlannerService", "grpc.health.v1.Health", "google.rpc.BadRequest",
        "evenkeel.v1.Plan", "grpc.reflection.v1.ServerReflection"}) {
    typename TestFixture::Request request;
    request.set_file_containing_symbol(symbol);
    const auto response = this->Ask(request);
    std::set<std::string> files, imports;
    for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      ASSERT_TRUE(file.ParseFromString(bytes));
      files.insert(file.name());
      imports.insert(file.dependency().begin(), file.dependency().end());
    }
    EXPECT_FALSE(files.empty()) << symbol;
    for (const std::string& import : imports) EXPECT_TRUE(files.count(import)) << import;
  }
}

TYPED_TEST(ReflectionTest, SaysWhatItDoesNotKnow) {
  typename TestFixture::Request request;
  request.set_file_containing_symbol("no.such.Thing");
  EXPECT_EQ(this->Ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  request.set_file_by_filename("no/such.proto");
  EXPECT_EQ(this->Ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  request.clear_message_request();
  EXPECT_EQ(this->Ask(request).error_response().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TYPED_TEST(ReflectionTest, IsAbsentWhenSwitchedOff) {
  this->options_.reflection = false;
  this->Start();
  auto stub = TypeParam::NewStub(this->channel_);
  grpc::ClientContext context;
  EXPECT_EQ(stub->ServerReflectionInfo(&context)->Finish().error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace evenkeel::server
