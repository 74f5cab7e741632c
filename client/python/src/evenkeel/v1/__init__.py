"""Messages of the contract, proto/evenkeel/v1: `from evenkeel.v1 import job_pb2`."""
