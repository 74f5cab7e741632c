"""Tests PackDataset and dataset_ref on a real server: answers are checked by sample, nothing is left behind."""
import random
import threading
import time
import unittest

import grpc
import harness
from harness import Server, error_details, wait_for
from evenkeel.v1 import batching_pb2, job_pb2, packing_pb2

CHUNK = 20000
UNIT_CAP, TOKEN_CAP = 9, 4096


def dataset(count, seed=1):
    """Returns samples like visual instruction tuning: 1 to 13 tiles of 256 tokens, and text; some without images."""
    chance = random.Random(seed)
    units = [chance.choice((0, 1, 1, 2, 3, 5, 7)) for _ in range(count)]
    return units, [256 * u + 1 + min(int(chance.expovariate(1 / 150)), 2000) for u in units]


def start(**fields):
    fields.setdefault("data_parallel", 8)
    rule = fields.pop("rule", {})
    message = packing_pb2.PackDatasetRequest(start=packing_pb2.PackDatasetStart(
        rule=batching_pb2.BatchRule(**{"unit_cap": UNIT_CAP, "token_cap": TOKEN_CAP, **rule}), **fields))
    return message


def chunks(units, tokens, size=CHUNK):
    for at in range(0, len(tokens), size):
        yield packing_pb2.PackDatasetRequest(
            chunk=packing_pb2.SampleChunk(units=units[at:at + size], llm_tokens=tokens[at:at + size]))


def serialize(message):
    """Sends bytes unchanged, without a message."""
    return message if isinstance(message, bytes) else message.SerializeToString()


def stream(client, messages, timeout=120):
    call = client.channel.stream_stream(f"/{harness.SERVICE}/PackDataset",
                                        request_serializer=serialize,
                                        response_deserializer=packing_pb2.PackDatasetResponse.FromString)
    return call(iter(messages), timeout=timeout)


class Packed:
    """A whole answer, assembled."""

    def __init__(self, responses):
        self.counts, self.indices, self.order, self.summary = [], [], [], None
        for response in responses:
            assert self.summary is None, "the summary comes last"
            assert response.ByteSize() < 1 << 20
            self.counts += response.packs.sample_count
            self.indices += response.packs.sample_index
            self.order += response.order.pack_index
            if response.HasField("summary"):
                self.summary = response.summary
        self.packs, at = [], 0
        for count in self.counts:
            self.packs.append(self.indices[at:at + count])
            at += count


def pack(client, units, tokens, **fields):
    return Packed(stream(client, [start(**fields), *chunks(units, tokens)]))


class PackCase(unittest.TestCase):
    """One server for all tests of a class, with its flags."""
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.flags)
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client()

    def assert_nothing_is_held(self):
        """Waits a while, because the server learns of a broken call slightly later than its caller."""
        wait_for(lambda: not any(self.server.metric(name) for name in (
            "evenkeel_pack_streams", "evenkeel_pack_reserved_bytes", "evenkeel_inflight")))

    def check(self, packed, units, tokens, ranks=8, packs_per_rank=1):
        """Checks everything that the summary claims and a packing must satisfy, from the samples only."""
        self.assertEqual(sorted(packed.indices), list(range(len(tokens))))
        self.assertTrue(all(packed.counts))
        for members in packed.packs:
            if len(members) > 1:
                self.assertLessEqual(sum(units[i] for i in members), UNIT_CAP)
                self.assertLessEqual(sum(tokens[i] for i in members), TOKEN_CAP)
        row = ranks * packs_per_rank
        self.assertEqual(sorted(i for i in packed.order if i >= 0), list(range(len(packed.packs))))
        steps = -(-len(packed.packs) // row)
        self.assertEqual(len(packed.order), steps * row)
        self.assertNotIn(-1, packed.order[:(steps - 1) * row])
        summary = packed.summary
        self.assertEqual((summary.sample_count, summary.step_count), (len(tokens), steps))
        self.assertEqual(summary.rule.pack_count, len(packed.packs))
        self.assertAlmostEqual(summary.rule.samples_per_pack, len(tokens) / len(packed.packs))
        self.assertAlmostEqual(summary.rule.mean_units, sum(units) / len(packed.packs))
        self.assertAlmostEqual(summary.rule.mean_tokens, sum(tokens) / len(packed.packs))
        volume = max(-(-sum(units) // UNIT_CAP), -(-sum(tokens) // TOKEN_CAP))
        self.assertGreaterEqual(summary.rule.pack_count_lower_bound, volume)
        self.assertLessEqual(summary.rule.pack_count_lower_bound, len(packed.packs))
        # DistRatio of tokens over whole steps is computed a second time.
        ratios = []
        for step in range(steps):
            totals = [sum(tokens[i] for p in packed.order[step * row + r * packs_per_rank:][:packs_per_rank] if p >= 0
                          for i in packed.packs[p]) for r in range(ranks)]
            if min(totals) > 0:
                ratios.append(sum(max(totals) - t for t in totals) / (max(totals) * ranks))
        self.assertAlmostEqual(summary.rule.dist_ratio_tokens, sum(ratios) / len(ratios), places=9)

    def assert_refused(self, messages, code, reason, words=""):
        with self.assertRaises(grpc.RpcError) as caught:
            list(stream(self.client, messages))
        details = error_details(caught.exception)
        self.assertEqual((caught.exception.code(), details["ErrorInfo"].reason), (code, reason))
        self.assertIn(words, caught.exception.details())
        self.assert_nothing_is_held()
        return details

class PackTest(PackCase):
    def test_200k_samples(self):
        units, tokens = dataset(200_000)
        packed = pack(self.client, units, tokens, packs_per_rank=4, epoch=2, sample_count=len(tokens))
        self.check(packed, units, tokens, packs_per_rank=4)
        self.assertEqual(packed.summary.rule.packer, batching_pb2.PACKER_BALANCED)
        self.assertEqual(packed.summary.dataset_ref, "")
        self.assert_nothing_is_held()

    def test_the_same_upload_gets_the_same_answer_whatever_its_chunks(self):
        units, tokens = dataset(5000)
        first = list(stream(self.client, [start(), *chunks(units, tokens, 5000)]))
        again = list(stream(self.client, [start(), *chunks(units, tokens, 7)]))
        self.assertEqual(first, again)
        other = Packed(stream(self.client, [start(epoch=1), *chunks(units, tokens)]))
        self.assertNotEqual(Packed(first).order, other.order)
        self.assertEqual(Packed(first).packs, other.packs)

    def test_every_packer(self):
        units, tokens = dataset(3000)
        counts = {}
        for packer in batching_pb2.Packer.values()[1:]:
            packed = pack(self.client, units, tokens, rule={"packer": packer})
            self.check(packed, units, tokens)
            self.assertEqual(packed.summary.rule.packer, packer)
            counts[packer] = len(packed.packs)
        self.assertEqual(min(counts.values()), counts[batching_pb2.PACKER_BALANCED])

    def test_caps_are_derived_where_none_are_given(self):
        units, tokens = dataset(3000)
        packed = pack(self.client, units, tokens, rule={"unit_cap": 0, "token_cap": 0})
        rule = packed.summary.rule
        self.assertTrue(rule.caps_derived)
        self.assertIn("balanced", rule.caps_reason)
        for members in packed.packs:
            self.assertLessEqual(sum(units[i] for i in members), rule.unit_cap)
            self.assertLessEqual(sum(tokens[i] for i in members), rule.token_cap)
        self.assertEqual(sorted(i for members in packed.packs for i in members), list(range(3000)))

    def test_oversize_samples_alone_or_rejected(self):
        units, tokens = dataset(1000)
        units[17], tokens[500] = UNIT_CAP + 1, TOKEN_CAP + 1
        alone = pack(self.client, units, tokens)
        self.check(alone, units, tokens)
        self.assertEqual(list(alone.summary.oversize_sample_index), [17, 500])
        self.assertIn([17], alone.packs)
        rejected = pack(self.client, units, tokens, rule={"oversize_policy": batching_pb2.OVERSIZE_POLICY_REJECT})
        self.assertEqual(sorted(rejected.indices), [i for i in range(1000) if i not in (17, 500)])
        self.assertEqual(rejected.summary.rejected_sample_count, 2)
        self.assertEqual(list(rejected.summary.oversize_sample_index), [17, 500])

    def test_datasets_apart(self):
        units, tokens = dataset(3000)
        packed = pack(self.client, units, tokens, apart_sample_count=[1000, 2000])
        self.check(packed, units, tokens)
        for members in packed.packs:
            self.assertEqual(len({i < 1000 for i in members}), 1)

    def test_summary_alone_and_nothing_at_all(self):
        units, tokens = dataset(1000)
        full = pack(self.client, units, tokens)
        short = start(result=packing_pb2.PACK_DATASET_RESULT_SUMMARY)
        answer = list(stream(self.client, [short, *chunks(units, tokens)]))
        self.assertEqual([a.summary for a in answer], [full.summary])
        empty = Packed(stream(self.client, [start()]))
        self.assertEqual((empty.packs, empty.order, empty.summary.sample_count), ([], [], 0))

    def test_text_only(self):
        _, tokens = dataset(1000)
        messages = [start(rule={"unit_cap": 0}),
                    packing_pb2.PackDatasetRequest(chunk=packing_pb2.SampleChunk(llm_tokens=tokens))]
        packed = Packed(stream(self.client, messages))
        self.assertEqual(sorted(packed.indices), list(range(1000)))
        self.assertEqual(packed.summary.unit_fill, 0)

    def test_bad_uploads_are_refused_by_path(self):
        good = [*chunks(*dataset(10))]
        bad = packing_pb2.PackDatasetRequest(
            chunk=packing_pb2.SampleChunk(units=[1] * 20, llm_tokens=[5] * 17 + [-3, 5, 0]))
        for messages, field in (
                ([], "start"),
                (good, "start"),
                ([start(data_parallel=0)], "start.data_parallel"),
                ([start(rule={"token_cap": -1})], "start.rule.token_cap"),
                ([start(), *good, start()], "start"),
                ([start(), *good, packing_pb2.PackDatasetRequest()], "chunk[1]"),
                ([start(), *good, *good, bad], "chunk[2].llm_tokens[17]"),
                ([start(sample_count=11), *good], "start.sample_count"),
                ([start(sample_count=9), *good], "chunk[0].llm_tokens"),
                ([start(apart_sample_count=[5, 6]), *good], "start.apart_sample_count")):
            details = self.assert_refused(messages, grpc.StatusCode.INVALID_ARGUMENT, "INVALID_REQUEST", field)
            self.assertEqual(details["BadRequest"].field_violations[0].field, field)

    def test_bytes_that_are_no_message_do_not_pass_for_the_end(self):
        self.assert_refused([start(), *chunks(*dataset(10)), b"\xff" * 50], grpc.StatusCode.INVALID_ARGUMENT,
                            "MALFORMED_REQUEST")

    def test_message_over_a_mebibyte(self):
        units, tokens = dataset(400_000)
        with self.assertRaises(grpc.RpcError) as caught:
            list(stream(self.client, [start(), *chunks(units, tokens, 400_000)]))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assert_nothing_is_held()

    def test_cancelled_uploads_leave_nothing(self):
        units, tokens = dataset(50_000)
        for _ in range(5):
            sent = threading.Event()

            def messages(sent=sent):
                yield start(sample_count=100_000)
                yield from chunks(units, tokens, 5000)
                sent.set()
                time.sleep(60)
            call = stream(self.client, messages())
            sent.wait(20)
            wait_for(lambda: self.server.metric("evenkeel_pack_reserved_bytes"))
            call.cancel()
            self.assert_nothing_is_held()

    def test_cancelled_while_packing_and_while_answering(self):
        units, tokens = dataset(200_000)
        call = stream(self.client, [start(), *chunks(units, tokens)])
        time.sleep(0.3)
        call.cancel()
        call = stream(self.client, [start(), *chunks(units, tokens)])
        next(call)
        call.cancel()
        self.assert_nothing_is_held()

    def test_deadline(self):
        units, tokens = dataset(1000)

        def messages():
            yield start()
            yield from chunks(units, tokens)
            time.sleep(5)
        with self.assertRaises(grpc.RpcError) as caught:
            list(stream(self.client, messages(), timeout=0.3))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assert_nothing_is_held()

    def test_a_client_that_dies_leaves_nothing(self):
        units, tokens = dataset(20_000)
        client = self.server.client()

        def messages():
            yield start()
            yield from chunks(units, tokens)
            time.sleep(60)
        call = stream(client, messages())
        wait_for(lambda: self.server.metric("evenkeel_pack_streams"))
        client.close()
        del call
        self.assert_nothing_is_held()

    def test_20_at_once(self):
        units, tokens = dataset(20_000)
        expected = pack(self.client, units, tokens)
        answers, errors = [], []

        def one():
            client = self.server.client()
            try:
                answers.append(pack(client, units, tokens))
            except grpc.RpcError as error:
                errors.append(error)
            client.close()
        threads = [threading.Thread(target=one) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(answers), errors), (20, []))
        for answer in answers:
            self.assertEqual((answer.packs, answer.order), (expected.packs, expected.order))
        self.assert_nothing_is_held()

    def test_counts(self):
        before = {name: self.server.metric(name) for name in
                  ("evenkeel_packed_samples_total", "evenkeel_pack_seconds_count")}
        received = self.server.metric("grpc_server_msg_received_total", grpc_method="PackDataset")
        sent = self.server.metric("grpc_server_msg_sent_total", grpc_method="PackDataset")
        units, tokens = dataset(1000)
        answer = list(stream(self.client, [start(), *chunks(units, tokens, 100)]))
        self.assert_nothing_is_held()
        count = self.server.metric
        self.assertEqual(count("evenkeel_packed_samples_total"), before["evenkeel_packed_samples_total"] + 1000)
        self.assertEqual(count("evenkeel_pack_seconds_count"), before["evenkeel_pack_seconds_count"] + 1)
        self.assertEqual(count("grpc_server_msg_received_total", grpc_method="PackDataset"), received + 11)
        self.assertEqual(count("grpc_server_msg_sent_total", grpc_method="PackDataset"), sent + len(answer))


class PackLimitsTest(PackCase):
    flags = ("--pack-max-samples=20000", "--pack-max-streams=2", "--pack-memory-bytes=13000000")

    def held(self, count=1):
        """Opens `count` streams that have sent their start and wait."""
        release = threading.Event()

        def messages():
            yield start()
            release.wait(30)
        calls = [stream(self.client, messages()) for _ in range(count)]
        wait_for(lambda: self.server.metric("evenkeel_pack_streams") >= count)
        return calls, release

    def test_too_many_samples(self):
        units, tokens = dataset(20_001)
        exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
        details = self.assert_refused([start(sample_count=20_001)], exhausted, "UPLOAD_TOO_LARGE", "20000 samples")
        self.assertNotIn("RetryInfo", details)
        self.assert_refused([start(), *chunks(units, tokens)], exhausted, "UPLOAD_TOO_LARGE")

    def test_too_many_streams(self):
        calls, release = self.held(2)
        with self.assertRaises(grpc.RpcError) as caught:
            list(stream(self.client, [start()]))
        details = error_details(caught.exception)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(details["ErrorInfo"].reason, "PACKING_BUSY")
        self.assertGreater(details["RetryInfo"].retry_delay.ToMilliseconds(), 0)
        release.set()
        for call in calls:
            self.assertEqual(Packed(call).packs, [])
        self.assert_nothing_is_held()

    def test_too_much_memory(self):
        calls, release = self.held(1)  # 2 MiB + 16384 x 256 bytes; another 20000 samples do not fit with it
        with self.assertRaises(grpc.RpcError) as caught:
            list(stream(self.client, [start(sample_count=20_000)]))
        details = error_details(caught.exception)
        self.assertEqual(details["ErrorInfo"].reason, "PACKING_BUSY")
        self.assertEqual(details["ErrorInfo"].metadata["limit"], "memory")
        self.assertIn("RetryInfo", details)
        release.set()
        list(calls[0])
        units, tokens = dataset(20_000)
        self.check(pack(self.client, units, tokens, sample_count=20_000), units, tokens)
        self.assert_nothing_is_held()
        self.assert_refused([start(data_parallel=65536, packs_per_rank=16)], grpc.StatusCode.RESOURCE_EXHAUSTED,
                            "UPLOAD_TOO_LARGE", "--pack-memory-bytes")


class PackStallTest(PackCase):
    flags = ("--pack-idle-timeout=3",)

    def assert_stalled(self, call):
        with self.assertRaises(grpc.RpcError) as caught:
            list(call)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.ABORTED)
        self.assertEqual(error_details(caught.exception)["ErrorInfo"].reason, "STREAM_STALLED")
        self.assert_nothing_is_held()

    def test_who_sends_nothing_is_cut_off(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def messages(first):
            yield from first
            release.wait(30)
        self.assert_stalled(stream(self.client, messages([])))
        self.assert_stalled(stream(self.client, messages([start(), *chunks(*dataset(10))])))

    def test_who_takes_nothing_is_cut_off(self):
        many = [start(rule={"unit_cap": 0}), *chunks([], [1] * 3_000_000, 300_000)]
        # The window does not grow. Otherwise a quick machine may take the whole answer unread.
        client = self.server.client(options=[("grpc.http2.bdp_probe", 0)])
        call = stream(client, many)
        aborted = self.server.metric("grpc_server_handled_total", grpc_method="PackDataset", grpc_code="Aborted")
        next(call)  # the answer has begun, and is larger than what gRPC holds unread
        wait_for(lambda: not self.server.metric("evenkeel_pack_streams"))
        with self.assertRaises(grpc.RpcError):
            list(call)
        self.assertGreater(self.server.metric_at_rest("grpc_server_handled_total", grpc_method="PackDataset",
                                                      grpc_code="Aborted"), aborted)
        self.assert_nothing_is_held()

    def test_who_keeps_sending_is_not(self):
        def messages():
            yield start()
            for chunk in chunks(*dataset(8), 1):
                time.sleep(0.5)
                yield chunk
        self.assertEqual(sorted(Packed(stream(self.client, messages())).indices), list(range(8)))


class DatasetRefTest(unittest.TestCase):
    def plan(self, client, **data):
        request = harness.job_request()
        request.job.dataset.CopyFrom(job_pb2.Dataset(**data))
        return client.call("PlanJob", request)

    def test_round_trip(self):
        units, tokens = dataset(20_000)
        counts = {}
        for pair in zip(units, tokens):
            counts[pair] = counts.get(pair, 0) + 1
        bins = sorted(counts)
        inline = job_pb2.Histogram(units=[u for u, _ in bins], llm_tokens=[t for _, t in bins],
                                   sample_count=[counts[b] for b in bins])
        with Server() as server:
            client = server.client()
            summary = pack(client, units, tokens, keep_histogram=True,
                           result=packing_pb2.PACK_DATASET_RESULT_SUMMARY).summary
            self.assertRegex(summary.dataset_ref, "^ds-[0-9a-f]{32}$")
            again = pack(client, units[::-1], tokens[::-1], keep_histogram=True)
            self.assertEqual(again.summary.dataset_ref, summary.dataset_ref)
            self.assertEqual(server.metric("evenkeel_dataset_entries"), 1)
            by_ref = self.plan(client, dataset_ref=summary.dataset_ref)
            given = self.plan(client, histogram=inline)
            self.assertEqual(by_ref.plan_id, given.plan_id)
            self.assertEqual(by_ref.plan, given.plan)
            self.assertEqual(by_ref.plan.subject.sample_count, 20_000)

    def test_unknown(self):
        with Server() as server:
            with self.assertRaises(grpc.RpcError) as caught:
                self.plan(server.client(), dataset_ref="ds-" + "0" * 32)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
            details = error_details(caught.exception)
            self.assertEqual(details["ErrorInfo"].reason, "DATASET_NOT_FOUND")
            self.assertEqual(details["ResourceInfo"].resource_name, "ds-" + "0" * 32)
            self.assertIn("job.dataset.dataset_ref", caught.exception.details())
            with self.assertRaises(grpc.RpcError) as caught:
                self.plan(server.client(), dataset_ref="my data")
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)

    def test_the_least_recently_used_is_forgotten(self):
        with Server("--dataset-bytes=131072") as server:
            client = server.client()
            refs = []
            for seed in range(40):
                units, tokens = dataset(3000, seed)
                refs.append(pack(client, units, tokens, keep_histogram=True,
                                 result=packing_pb2.PACK_DATASET_RESULT_SUMMARY).summary.dataset_ref)
            self.assertLessEqual(server.metric("evenkeel_dataset_bytes"), 131072)
            self.assertGreater(server.metric("evenkeel_dataset_evictions_total"), 0)
            self.plan(client, dataset_ref=refs[-1])
            with self.assertRaises(grpc.RpcError) as caught:
                self.plan(client, dataset_ref=refs[0])
            self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)


class DrainTest(unittest.TestCase):
    def test_a_drain_finishes_streams_and_refuses_new_ones(self):
        units, tokens = dataset(1000)
        with Server() as server:
            client = server.client()
            go = threading.Event()

            def messages():
                yield start()
                go.wait(20)
                yield from chunks(units, tokens)
            call = stream(client, messages())
            while server.metric("evenkeel_pack_streams") < 1:
                time.sleep(0.01)
            server.terminate()
            time.sleep(0.2)
            with self.assertRaises(grpc.RpcError) as caught:
                list(stream(client, [start()]))
            self.assertEqual(error_details(caught.exception)["ErrorInfo"].reason, "SHUTTING_DOWN")
            go.set()
            self.assertEqual(len(Packed(call).indices), 1000)
            self.assertEqual(server.wait(), 0)


if __name__ == "__main__":
    unittest.main()
