"""The sync client. `evenkeel.aio.Client` has the same methods as coroutines."""
from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
import numpy.typing as npt
from google.protobuf.message import Message

from . import calls, connection, errors, packing, requests
from .connection import Tls
from .requests import JobLike, NodesLike, PlanLike, ProfileLike, load_job
from .retry import Attempts, RetryPolicy
from .v1 import batching_pb2, catalog_pb2, curve_pb2, packing_pb2, planner_service_pb2, profile_pb2

__all__ = ["Client", "load_job"]


class Client:
    """Calls an Evenkeel server. Threads may share it. Make it after forking, not before.

    Every call has a deadline (`timeout`, or its own value), retries within it as `retry` says, and raises
    EvenkeelError.
    """

    def __init__(self, target: str = "127.0.0.1:50051", *, tls: Tls | grpc.ChannelCredentials | None = None,
                 timeout: float = 30.0, pack_timeout: float = 300.0, retry: RetryPolicy | None = None,
                 wait_for_ready: bool = False, options: Sequence[tuple[str, Any]] = ()) -> None:
        """`target`: HOST:PORT, dns:///NAME:PORT (all replicas behind a headless Service) or unix:PATH. `tls`: None
        means plaintext. `wait_for_ready`: whether to wait, within the timeout, for a server that has not started yet,
        such as a sidecar. `options`: channel options of gRPC, added after ours."""
        policy = retry if retry is not None else RetryPolicy()
        self._settings = calls.Settings(target, timeout, pack_timeout, policy, wait_for_ready)
        given = connection.credentials(tls)
        channel_options = [*connection.channel_options(tls, policy), *options]
        self._channel: grpc.Channel = (
            grpc.insecure_channel(target, options=channel_options) if given is None
            else grpc.secure_channel(target, given, options=channel_options))
        self._stubs = calls.stubs(self._channel)
        self._pack = calls.pack_stub(self._channel)

    @property
    def target(self) -> str:
        return self._settings.target

    def close(self) -> None:
        """Closes the connection. Calls in progress end with CallCancelledError."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def plan_job(self, job: JobLike, *, timeout: float | None = None,
                 **fields: Any) -> planner_service_pb2.PlanJobResponse:
        """Plans a job. `fields` are other fields of PlanJobRequest, such as compare_sizes=True or label="run 7". A job
        that does not fit is not an error: see `response.plan.HasField("misfit")`."""
        request = requests.with_fields(requests.plan_job_request(job), fields)
        return self._call(planner_service_pb2.PlanJobResponse, request, timeout)

    def plan_curve(self, job: JobLike, nodes: NodesLike, *, timeout: float | None = None,
                   **fields: Any) -> curve_pb2.PlanCurveResponse:
        """Plans a job for several numbers of nodes, such as range(1, 65). `fields` are other fields of
        PlanCurveRequest, such as batch=CURVE_BATCH_PER_NODE, batch_nodes=8. `timeout` must suffice for all sizes
        that the server does not know; those planned before it ran out are known to the next call."""
        request = requests.with_fields(requests.plan_curve_request(job, nodes), fields)
        return self._call(curve_pb2.PlanCurveResponse, request, timeout)

    def evaluate_plan(self, job: JobLike, plan: PlanLike, *, include_timeline: bool = False,
                      evaluate_only: bool = False, min_calibration_revision: int = 0,
                      timeout: float | None = None) -> planner_service_pb2.EvaluatePlanResponse:
        """Predicts the caller's plan next to ours. With `evaluate_only`, our plan is not computed, which is quicker."""
        request = planner_service_pb2.EvaluatePlanRequest(
            job=requests.plan_job_request(job).job, plan=requests.plan_of(plan), include_timeline=include_timeline,
            evaluate_only=evaluate_only, min_calibration_revision=min_calibration_revision)
        return self._call(planner_service_pb2.EvaluatePlanResponse, request, timeout)

    def get_plan(self, plan_id: str, *, timeout: float | None = None) -> planner_service_pb2.GetPlanResponse:
        """Reads a stored plan. After a NotFoundError, plan_job computes it again, under the same id."""
        return self._call(planner_service_pb2.GetPlanResponse,
                          planner_service_pb2.GetPlanRequest(plan_id=plan_id), timeout)

    def list_plans(self, *, page_size: int = 0,
                   timeout: float | None = None) -> Iterator[planner_service_pb2.PlanSummary]:
        """Lists stored plans, newest first, fetching pages on demand. `timeout` applies to each page."""
        token = ""
        while True:
            request = planner_service_pb2.ListPlansRequest(page_size=page_size, page_token=token)
            page = self._call(planner_service_pb2.ListPlansResponse, request, timeout)
            yield from page.plans
            token = page.next_page_token
            if not token:
                return

    def record_profile(self, profile: ProfileLike, *, dry_run: bool | None = None,
                       timeout: float | None = None) -> profile_pb2.RecordProfileResponse:
        """Records measurements. Implausible ones are returned in `response.refused`, which is not an error."""
        request = profile_pb2.RecordProfileRequest()
        request.CopyFrom(requests.profile_request(profile))
        if dry_run is not None:
            request.dry_run = dry_run
        return self._call(profile_pb2.RecordProfileResponse, request, timeout)

    def list_profiles(self, *, page_size: int = 0, model_filter: str = "", active_only: bool = False,
                      include_measurements: bool = False,
                      timeout: float | None = None) -> Iterator[profile_pb2.ProfileRevision]:
        """Lists the history of profiles, newest first. `timeout` applies to each page."""
        token = ""
        while True:
            page = self._call(profile_pb2.ListProfilesResponse, profile_pb2.ListProfilesRequest(
                page_size=page_size, page_token=token, model_filter=model_filter, active_only=active_only,
                include_measurements=include_measurements), timeout)
            yield from page.revisions
            token = page.next_page_token
            if not token:
                return

    def roll_back_profile(self, *, to_revision: int | None = None, remove_revision: int | None = None,
                          author: str = "", timeout: float | None = None) -> profile_pb2.RollBackProfileResponse:
        """Takes profiles out of force. Give exactly one of the two revisions."""
        return self._call(profile_pb2.RollBackProfileResponse, profile_pb2.RollBackProfileRequest(
            to_revision=to_revision, remove_revision=remove_revision, author=author), timeout)

    def list_models(self, *, timeout: float | None = None) -> catalog_pb2.ListModelsResponse:
        """Lists the models of the catalogue."""
        return self._call(catalog_pb2.ListModelsResponse, catalog_pb2.ListModelsRequest(), timeout)

    def list_gpu_types(self, *, timeout: float | None = None) -> catalog_pb2.ListGpuTypesResponse:
        """Lists the GPU types of the catalogue."""
        return self._call(catalog_pb2.ListGpuTypesResponse, catalog_pb2.ListGpuTypesRequest(), timeout)

    def list_trainers(self, *, timeout: float | None = None) -> catalog_pb2.ListTrainersResponse:
        """Lists the trainers whose defaults are known."""
        return self._call(catalog_pb2.ListTrainersResponse, catalog_pb2.ListTrainersRequest(), timeout)

    def pack_dataset(self, rule: packing.RuleLike, tokens: npt.ArrayLike, units: npt.ArrayLike | None = None, *,
                     loss_tokens: npt.ArrayLike | None = None, data_parallel: int | None = None,
                     packs_per_rank: int | None = None, epoch: int = 0, sequence_parallel_group: int = 1,
                     apart: Sequence[int] = (), groups: Sequence[batching_pb2.PackingGroup] = (),
                     curriculum_steps: int | None = None, summary_only: bool = False, keep_histogram: bool = False,
                     timeout: float | None = None) -> packing.Packing:
        """Packs samples by a rule or a plan. `tokens` (visual ones included) has one value per sample, as has `units`
        (tiles) if the model has an encoder; with several, `units` is an array (N, encoders). Arguments that are None
        come from the plan. The other arguments are the fields of PackDatasetStart."""
        start = packing.start_message(
            packing.settings_of(rule), data_parallel=data_parallel, packs_per_rank=packs_per_rank, epoch=epoch,
            sequence_parallel_group=sequence_parallel_group, apart=apart, groups=groups,
            curriculum_steps=curriculum_steps, summary_only=summary_only, keep_histogram=keep_histogram)
        return self.pack_start(start, packing.Samples.of(tokens, units, loss_tokens), timeout=timeout)

    def pack_start(self, start: packing_pb2.PackDatasetStart, samples: packing.Samples, *,
                   timeout: float | None = None) -> packing.Packing:
        """Packs like pack_dataset, from the given first message of the upload."""
        settings = self._settings
        attempts = Attempts(settings.retry, settings.pack_timeout if timeout is None else timeout,
                            retry_unavailable=True)
        while True:
            request_id = calls.new_request_id()
            answer = packing.Answer(start)
            try:
                for message in self._pack(packing.upload(start, samples), timeout=attempts.remaining(),
                                          wait_for_ready=settings.wait_for_ready,
                                          metadata=(("x-request-id", request_id),)):
                    answer.add(message)
                return answer.result()
            except grpc.RpcError as rpc_error:
                error = errors.from_rpc_error(rpc_error, "PackDataset", request_id, settings.target)
                delay = attempts.delay(error)
                if delay is None:
                    raise error from rpc_error
            time.sleep(delay)

    def _call(self, response: type[calls.M], request: Message, timeout: float | None) -> calls.M:
        settings, method = self._settings, calls.method_of(response)
        attempts = Attempts(settings.retry, settings.timeout if timeout is None else timeout, retry_unavailable=False)
        while True:
            request_id = calls.new_request_id()
            try:
                answer: calls.M = self._stubs[method](
                    request, timeout=attempts.remaining(), wait_for_ready=settings.wait_for_ready,
                    metadata=(("x-request-id", request_id),))
                return answer
            except grpc.RpcError as rpc_error:
                error = errors.from_rpc_error(rpc_error, method, request_id, settings.target)
                delay = attempts.delay(error)
                if delay is None:
                    raise error from rpc_error
            time.sleep(delay)
