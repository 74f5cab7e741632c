"""Tests profiles with real processes: nothing acknowledged is lost, whatever kills the server or fills its disk."""
import json
import os
import random
import resource
import signal
import subprocess
import tempfile
import threading
import unittest

import grpc
import harness
from evenkeel.v1 import profile_pb2, stage_pb2
from harness import Server, error_details


def profile(number, seconds=0.0062):
    """Returns a distinct profile for each number."""
    return profile_pb2.RecordProfileRequest(
        model="internvl-chat-v1.5", gpu_type="a100-sxm-80gb", tensor_parallel=2, note=f"number {number}",
        layer_times=[profile_pb2.LayerTime(layer_kind=stage_pb2.LAYER_KIND_ENCODER, units=9,
                                           forward_seconds=seconds)])


class ProfilesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="evenkeel-profiles-")
        self.addCleanup(self.folder.cleanup)
        self.store = os.path.join(self.folder.name, "profiles")

    def server(self, **options):
        return Server("--profile-store", self.store, **options)

    def notes(self, client):
        """Returns revision -> note of everything in the history."""
        notes, token = {}, ""
        while True:
            page = client.call("ListProfiles", profile_pb2.ListProfilesRequest(
                page_size=1000, page_token=token, include_measurements=True))
            notes.update({r.revision: r.profile.note for r in page.revisions})
            token = page.next_page_token
            if not token:
                return notes

    def test_kill_9_loses_nothing_acknowledged(self):
        acknowledged, number = {}, 0
        rounds = 8
        for _ in range(rounds):
            with self.server() as server:
                self.assertEqual({r: n for r, n in self.notes(server.client()).items() if r in acknowledged},
                                 acknowledged)
                killer = threading.Timer(random.Random(number).uniform(0.02, 0.2), server.process.kill)
                killer.start()
                client = server.client()
                try:
                    while True:
                        number += 1
                        answer = client.call("RecordProfile", profile(number), timeout=5)
                        acknowledged[answer.revision] = f"number {number}"
                except grpc.RpcError:
                    pass
                killer.join()
                server.process.wait()
        self.assertGreater(len(acknowledged), rounds)
        with self.server() as server:
            found = self.notes(server.client())
            self.assertEqual({r: found.get(r) for r in acknowledged}, acknowledged)
            # At most one call of each round, which was never answered, comes in addition.
            self.assertLessEqual(len(found), len(acknowledged) + rounds)
            self.assertEqual(sorted(found), list(range(1, len(found) + 1)))

    def test_a_full_disk_is_an_error_and_no_loss(self):
        with self.server() as server:
            client = server.client()
            self.assertEqual(client.call("RecordProfile", profile(1)).revision, 1)
            plan_id = client.call("PlanJob", harness.job_request()).plan_id
            pid = server.process.pid
            limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (os.path.getsize(self.store), limits[1]))
            codes = set()
            for number in range(2, 60):
                try:
                    client.call("RecordProfile", profile(number))
                except grpc.RpcError as error:
                    codes.add((error.code(), error_details(error)["ErrorInfo"].reason))
                    break
            self.assertEqual(codes, {(grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")})
            recorded = len(self.notes(client))
            self.assertTrue(server.alive())
            self.assertGreaterEqual(server.metric("evenkeel_profile_store_errors_total"), 1)
            client.call("PlanJob", harness.job_request(seed=9))
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
            self.assertEqual(client.call("RecordProfile", profile(100)).revision, recorded + 1)
            client.call("RollBackProfile", profile_pb2.RollBackProfileRequest(to_revision=1))
            self.assertEqual(client.call("PlanJob", harness.job_request()).plan_id, plan_id)
        with self.server() as server:
            self.assertEqual(len(self.notes(server.client())), recorded + 2)
            self.assertEqual(server.client().call("PlanJob", harness.job_request()).plan_id, plan_id)

    def test_one_server_owns_the_file(self):
        with self.server():
            second = harness.run([harness.SERVER, "--listen", f"unix:{self.folder.name}/other.sock",
                                  "--metrics-address", "off", "--profile-store", self.store])
        self.assertEqual(second.returncode, 1)
        self.assertIn("another process has it open", second.stderr)

    def test_a_damaged_file_is_refused(self):
        with self.server() as server:
            for number in range(20):
                server.client().call("RecordProfile", profile(number))
            server.terminate()
            server.wait()
        with open(self.store, "r+b") as file:
            data = file.read()  # free pages hold it too
            file.seek(0)
            file.write(data.replace(b"number 7", b"number 8"))
        refused = harness.run([harness.SERVER, "--listen", f"unix:{self.folder.name}/other.sock",
                               "--metrics-address", "off", "--profile-store", self.store])
        self.assertEqual(refused.returncode, 1)
        self.assertIn("is damaged", refused.stderr)

    def test_a_backup_of_the_running_store_restores_a_damaged_one(self):
        backup = os.path.join(self.folder.name, "backup")
        tool = os.path.join(os.path.dirname(harness.SERVER), "evenkeel-store")
        with self.server() as server:
            client = server.client()
            client.call("RecordProfile", profile(1))
            subprocess.run([tool, "dump", self.store, backup], check=True)
            client.call("RecordProfile", profile(2))
            server.terminate(signal.SIGKILL)
            server.process.wait()
        with open(self.store, "r+b") as file:
            file.truncate(os.path.getsize(self.store) - 3)
        arguments = [harness.SERVER, "--listen", f"unix:{self.folder.name}/other.sock", "--metrics-address", "off",
                     "--profile-store", self.store]
        refused = harness.run(arguments)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("cut short", refused.stderr)
        saved = os.path.join(self.folder.name, "saved")
        done = subprocess.run([tool, "salvage", self.store, saved], check=True, capture_output=True, text=True)
        self.assertIn("1 revisions", done.stdout)
        self.assertIn("What follows is lost", done.stdout)
        command = refused.stderr.split("made: ")[1].split(" . ")[0]
        subprocess.run(command.replace("evenkeel-store", tool).replace("BACKUP", backup), shell=True, check=True)
        with self.server() as server:
            self.assertEqual(self.notes(server.client()), {1: "number 1"})

    def test_what_is_no_file_is_refused_and_nothing_is_left(self):
        before = set(os.listdir("/dev"))
        refused = harness.run([harness.SERVER, "--listen", f"unix:{self.folder.name}/other.sock",
                               "--metrics-address", "off", "--profile-store", "/dev/null"])
        self.assertEqual(refused.returncode, 1)
        self.assertIn("/dev/null: is not a regular file", refused.stderr)
        self.assertEqual({name for name in set(os.listdir("/dev")) - before if name.startswith("null")}, set())

    def test_the_command_line(self):
        path = os.path.join(self.folder.name, "profile.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"model": "internvl-chat-v1.5", "gpu_type": "a100-sxm-80gb", "tensor_parallel": 2,
                       "layer_times": [{"layer_kind": "LAYER_KIND_ENCODER", "units": 9, "forward_seconds": 0.0062},
                                       {"layer_kind": "LAYER_KIND_ENCODER", "units": 9, "forward_seconds": 0.5}]}, file)
        with self.server() as server:
            dry = server.ctl("profile", "record", path, "--dry-run")
            self.assertIn("A dry run: nothing was recorded.", dry.stdout)
            done = server.ctl("profile", "record", path, "--author", "somebody")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Recorded as revision 1.", done.stdout)
            self.assertIn("layer_times[1]  out of bounds", done.stdout)
            self.assertIn("somebody", server.ctl("profile", "list").stdout)
            measured = server.ctl("plan", "--job", harness.JOB).stdout
            self.assertIn("layer_times.encoder", measured)
            self.assertIn("(profile revisions 1)", measured)
            self.assertIn("No longer in force: 1", server.ctl("profile", "roll-back", "0").stdout)
            self.assertIn("changes nothing", server.ctl("profile", "roll-back", "0").stdout)
            self.assertIn("In force again: 1", server.ctl("profile", "roll-back", "2", "--remove").stdout)
            self.assertEqual(server.ctl("profile", "roll-back", "77").returncode, 4)
            self.assertNotIn("layer_times.encoder", server.ctl("plan", "--local", "--job", harness.JOB).stdout)

    def test_outputs_of_nccl_tests(self):
        """Measured collectives change the predicted communication the way they should, and plans say so."""
        def output(name, ratio, sizes=(1 << 20, 1 << 24, 1 << 28)):
            # 64 GPUs of 8 nodes at `ratio` of 400 Gb/s per GPU.
            lines = [f"# Collective test starting: {name}_perf", "# nThread 1 nGpus 1 minBytes 1048576"]
            lines += [f"#  Rank {rank:2} Group  0 Pid 7 on node-{rank // 8} device {rank % 8} [0000:8d:00] "
                      "NVIDIA H100 80GB HBM3" for rank in range(64)]
            lines.append("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong")
            for size in sizes:
                micros = 60 + size * 63 / 64 / (8 * 50e9 * ratio) * 1e6
                lines.append(f"{size} {size // 4} float sum -1 {micros:.2f} 1 1 0 {micros:.2f} 1 1 N/A")
            path = os.path.join(self.folder.name, f"{name}-{ratio}.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
            return path

        job = ["--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--gpus", "64", "--inter-node-gbps", "400",
               "--global-batch", "256", "--tp", "1", "--pp", "1", "--output", "json"]

        def planned(server):
            answer = json.loads(server.ctl("plan", *job).stdout)
            step = answer["plan"]["predictions"]["step"]
            said = [figure for figure in answer["plan"]["provenance"]["figures"]
                    if figure["figure"] == "network.collectives"]
            return step["total_seconds"], said, answer["plan_id"]

        with self.server() as server:
            model, said, first_id = planned(server)
            self.assertEqual(said, [])
            seconds = {}
            for ratio in (0.25, 0.9):
                done = server.ctl("profile", "record", output("all_gather", ratio), output("reduce_scatter", ratio))
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                self.assertIn("Accepted: 2 collectives", done.stdout)
                seconds[ratio], said, _ = planned(server)
                self.assertEqual(said[0]["basis"], "BASIS_MEASURED")
                self.assertIn("all-gather over 64 ranks (8 per node)", said[0]["detail"])
            self.assertGreater(seconds[0.25], seconds[0.9])
            self.assertGreater(seconds[0.25], model)
            self.assertIn("2 collectives", server.ctl("profile", "list").stdout)
        with self.server() as server:  # after a restart
            self.assertEqual(planned(server)[0], seconds[0.9])
            # Nobody else's plan has another id, and a roll-back gives the former one.
            self.assertEqual(server.ctl("profile", "roll-back", "0").returncode, 0)
            self.assertEqual(planned(server)[::2], (model, first_id))
            bound = server.ctl("profile", "record", output("all_gather", 0.25), "--inter-node-gbps", "200")
            self.assertEqual(bound.returncode, 0, bound.stderr)
            self.assertEqual(planned(server)[::2], (model, first_id))
            broken = os.path.join(self.folder.name, "broken.txt")
            with open(broken, "w", encoding="utf-8") as file:
                file.write("# nThread 1\n# size count type redop root time algbw busbw #wrong\n1048576 262144 float\n")
            refused = server.ctl("profile", "record", broken)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("broken.txt:3: 3 columns, where 9 are named", refused.stderr)
            quick = server.ctl("profile", "record", output("all_gather", 40))
            self.assertEqual(quick.returncode, 2)
            self.assertIn("collectives[0]  impossible", quick.stdout)

    def test_the_command_needs_a_server(self):
        local = harness.run([harness.CTL, "profile", "list", "--local"])
        self.assertEqual(local.returncode, 2)
        self.assertIn("--server", local.stderr)


if __name__ == "__main__":
    unittest.main()
