"""The requests of the callers of steady.py: every method of the contract, in a fixed mix."""
import itertools

import grpc
import harness
from evenkeel.v1 import catalog_pb2, curve_pb2, packing_pb2, profile_pb2
from harness import planner_service_pb2
from test_plan_store import small_job

NEW_EVERY = 20  # calls of a caller from one new plan to the next
RECORD_EVERY = 1000  # calls of a caller from one recorded outcome to the next
SAMPLES = 500  # of an upload
# The job whose steps are reported. No other call plans its model, because what is recorded changes later plans of it.
REPORTED = {"model": {"name": "qwen3-8b"}, "cluster": {"pools": [{"gpu_type": "a100-sxm-80gb", "gpu_count": 16}]},
            "training": {"global_batch_samples": 64}, "constraints": {"tensor_parallel": {"min": 8}}}


def message(kind, values):
    return harness.json_format.ParseDict(values, kind())


class Calls:
    """The calls of one caller, by number. Kinds other than known plans come once or twice in 100 calls."""

    def __init__(self, chance, caller):
        self.chance = chance
        self.first_seed = 1_000_000 * (caller + 1)
        self.newest = ""
        self.outcomes = itertools.count(1)
        self.kinds = {7: self.list_plans, 13: self.upload, 17: self.bad_request, 23: self.cancelled, 27: self.evaluate,
                      33: self.curve, 37: self.drift, 47: self.get_newest, 53: self.list_profiles, 57: self.catalogue,
                      63: self.dataset_by_reference, 67: self.offers}

    def is_known_plan(self, number):
        return number % NEW_EVERY != 0 and number % 100 not in self.kinds

    def one(self, client, number):
        if number % RECORD_EVERY == 0:
            self.record(client)
        elif number % NEW_EVERY == 0:
            self.newest = client.call("PlanJob", small_job(self.first_seed + number)).plan_id
        elif (kind := self.kinds.get(number % 100)) is not None:
            kind(client, number)
        else:
            client.call("PlanJob", small_job(self.chance.randrange(100)))

    def list_plans(self, client, _):
        client.call("ListPlans", planner_service_pb2.ListPlansRequest(page_size=20))

    def upload(self, client, _, **start):
        """Packs random samples. Returns the summary."""
        call = client.channel.stream_stream(
            f"/{harness.SERVICE}/PackDataset", request_serializer=packing_pb2.PackDatasetRequest.SerializeToString,
            response_deserializer=packing_pb2.PackDatasetResponse.FromString)
        first = packing_pb2.PackDatasetRequest(start=packing_pb2.PackDatasetStart(data_parallel=4, **start))
        first.start.rule.unit_cap, first.start.rule.token_cap = 9, 4096
        second = packing_pb2.PackDatasetRequest()
        for _ in range(SAMPLES):
            units = self.chance.randint(1, 9)
            second.chunk.units.append(units)
            second.chunk.llm_tokens.append(256 * units + self.chance.randint(1, 500))
        summary = next(a.summary for a in call(iter([first, second]), timeout=30) if a.HasField("summary"))
        assert summary.sample_count == SAMPLES
        return summary

    def dataset_by_reference(self, client, number):
        request = small_job(number % 10)
        request.job.model.name = "internvl-chat-v1.5"
        request.job.dataset.dataset_ref = self.upload(client, number, keep_histogram=True).dataset_ref
        answer = client.call("PlanJob", request)
        assert answer.plan.subject.sample_count == SAMPLES

    def bad_request(self, client, _):
        bad = small_job(1)
        bad.job.cluster.pools[0].gpu_count = -1
        try:
            client.call("PlanJob", bad)
            raise AssertionError("a bad request was taken")
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.INVALID_ARGUMENT:
                raise

    def cancelled(self, client, number):
        client.method("PlanJob").future(small_job(2_000_000_000 + self.first_seed + number), timeout=10).cancel()

    def evaluate(self, client, number):
        request = planner_service_pb2.EvaluatePlanRequest(job=small_job(number % 50).job, include_timeline=True)
        request.plan.parallelism.tensor = 8
        request.plan.parallelism.pipeline = request.plan.parallelism.data = 1
        assert client.call("EvaluatePlan", request).timeline.stages

    def curve(self, client, number):
        """Two of three curves are known."""
        request = curve_pb2.PlanCurveRequest(job=small_job(number if number % 3 == 0 else 3).job)
        request.job.cluster.pools[0].ClearField("gpu_count")
        request.nodes.add(min=1, max=4)
        assert len(client.call("PlanCurve", request).curves[0].points) == 4

    def outcome(self, client, **more):
        planned = client.call("PlanJob", message(planner_service_pb2.PlanJobRequest, {"job": REPORTED}))
        seconds = planned.plan.predictions.step.total_seconds * self.chance.uniform(0.98, 1.02)
        ranks = [profile_pb2.RankSteps(rank=r, p50_seconds=seconds, forward_seconds=seconds / 4) for r in range(16)]
        steps = profile_pb2.StepOutcome(plan_id=planned.plan_id, step_seconds=seconds, step_count=100, ranks=ranks)
        return profile_pb2.RecordProfileRequest(model=REPORTED["model"]["name"], gpu_type="a100-sxm-80gb",
                                                step_outcomes=[steps], **more)

    def drift(self, client, _):
        answer = client.call("RecordProfile", self.outcome(client, dry_run=True))
        assert len(answer.drifts) == 1

    def record(self, client):
        """Records an outcome; every second one is taken back."""
        number = next(self.outcomes)
        answer = client.call("RecordProfile", self.outcome(client, note=f"steps {number}"))
        assert answer.outcome_count == 1
        if number % 2 == 0:
            client.call("RollBackProfile", profile_pb2.RollBackProfileRequest(remove_revision=answer.revision))

    def get_newest(self, client, _):
        if self.newest:
            found = client.call("GetPlan", planner_service_pb2.GetPlanRequest(plan_id=self.newest))
            assert found.plan.plan_id == self.newest

    def list_profiles(self, client, _):
        client.call("ListProfiles", profile_pb2.ListProfilesRequest(page_size=20, include_measurements=True))

    def catalogue(self, client, _):
        assert client.call("ListModels", catalog_pb2.ListModelsRequest()).models
        assert client.call("ListGpuTypes", catalog_pb2.ListGpuTypesRequest()).gpus
        assert client.call("ListTrainers", catalog_pb2.ListTrainersRequest()).trainers

    def offers(self, client, number):
        request = small_job(number % 50)
        request.job.cluster.pools.add(gpu_type="a100-sxm-80gb", gpu_count=8)
        assert len(client.call("PlanJob", request).offers) == 2
