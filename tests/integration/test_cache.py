"""Tests known plans: answered from memory, computed once for all who ask, forgotten when memory is short."""
import threading
import unittest

import grpc
import harness
from harness import Server, error_details, planner_service_pb2


class CacheTest(unittest.TestCase):
    def test_second_request_is_answered_from_memory(self):
        with Server() as server:
            client = server.client()
            first = client.call("PlanJob", harness.job_request())
            second = client.call("PlanJob", harness.job_request())
            self.assertEqual(first.served_from, planner_service_pb2.SERVED_FROM_PLANNER)
            self.assertEqual(second.served_from, planner_service_pb2.SERVED_FROM_MEMORY)
            self.assertEqual(first.plan, second.plan)
            self.assertEqual(server.metric("evenkeel_plans_total"), 1)
            self.assertEqual(server.metric("evenkeel_cache_hits_total"), 1)

    def test_a_hundred_equal_requests_at_once_are_one_computation(self):
        with Server() as server:
            request = harness.job_request(seed=77)
            clients = [server.client(options=[("grpc.use_local_subchannel_pool", 1)]) for _ in range(10)]
            for client in clients:
                client.health()
            gate = threading.Barrier(100)
            answers = []

            def ask(client):
                gate.wait()
                answers.append(client.call("PlanJob", request))
            threads = [threading.Thread(target=ask, args=(clients[i % 10],)) for i in range(100)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(answers), 100)
            self.assertEqual(len({a.plan.SerializeToString(deterministic=True) for a in answers}), 1)
            self.assertEqual(server.metric("evenkeel_plans_total"), 1)

    def test_evicted_plan_is_not_found(self):
        with Server(*SMALL_CACHE) as server:
            client = server.client()
            ids = [client.call("PlanJob", harness.job_request(seed=seed)).plan_id for seed in range(12)]
            self.assertEqual(len(set(ids)), 12)
            with self.assertRaises(grpc.RpcError) as caught:
                client.call("GetPlan", planner_service_pb2.GetPlanRequest(plan_id=ids[0]))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
            details = error_details(caught.exception)
            self.assertEqual(details["ResourceInfo"].resource_name, ids[0])
            self.assertEqual(details["ErrorInfo"].reason, "PLAN_NOT_FOUND")
            newest = client.call("GetPlan", planner_service_pb2.GetPlanRequest(plan_id=ids[-1]))
            self.assertEqual(newest.plan.plan_id, ids[-1])
            self.assertGreater(server.metric("evenkeel_cache_evictions_total"), 0)

    def test_pages_of_the_list(self):
        with Server() as server:
            client = server.client()
            ids = [client.call("PlanJob", harness.job_request(seed=seed)).plan_id for seed in range(5)]
            seen, token = [], ""
            while True:
                page = client.call("ListPlans", planner_service_pb2.ListPlansRequest(page_size=2, page_token=token))
                self.assertLessEqual(len(page.plans), 2)
                seen += [plan.plan_id for plan in page.plans]
                token = page.next_page_token
                if not token:
                    break
            self.assertEqual(seen, ids[::-1])


# Leaves room for only a few plans.
SMALL_CACHE = ("--cache-bytes", "20000")

if __name__ == "__main__":
    unittest.main()
