#!/usr/bin/env python3
"""deploy/slurm on a real Slurm; run.sh gives it a network of its own. Usage: test_slurm.py [PATTERN]"""
import json
import os
import re
import signal
import statistics
import sys
import time
import unittest

from cluster import Slurm, harness
from pod import loopback_up

MODEL = "--comment=evenkeel:model=llama3-8b,global-batch=128"
GPUS = "--gpus-per-node=h100:8"
PLAN = re.compile(r"plan-[0-9a-f]{32}")
DOCS = os.path.join(harness.ROOT, "docs", "SLURM.md")
TORCHRUN = '#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done\n'
MOST_ADDED_SECONDS = 0.25


def variables(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(listen=["127.0.0.1:50051"])
        cls.addClassCleanup(cls.server.__exit__)
        cls.slurm = Slurm()
        cls.addClassCleanup(cls.slurm.__exit__)
        cls.configure()
        cls.slurm.start()

    @classmethod
    def configure(cls, **settings):
        cls.slurm.configure(command=harness.CTL, **settings)

    def setUp(self):
        self.configure()

    def refused(self, done, *words):
        self.assertNotEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_job_gets_its_plan(self):
        done = self.slurm.submit(MODEL, GPUS)
        found = variables(self.slurm.output(done))
        plan = self.server.ctl("plan", "--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--gpus", "8",
                               "--global-batch", "128", "--output", "json").stdout
        self.assertEqual(found["EVENKEEL_PLAN_ID"], PLAN.search(plan).group())
        self.assertIn(found["EVENKEEL_PLAN_ID"], done.stderr)
        self.assertIn("AdminComment=evenkeel: " + found["EVENKEEL_PLAN_ID"], self.slurm.job(done.stdout))
        self.assertEqual(found["EVENKEEL_GPUS"], "8")
        degrees = {name: int(found[f"EVENKEEL_{name}_PARALLEL"])
                   for name in ("TENSOR", "PIPELINE", "DATA", "CONTEXT", "EXPERT")}
        self.assertEqual(degrees["TENSOR"] * degrees["PIPELINE"] * degrees["DATA"] * degrees["CONTEXT"], 8)
        self.assertGreaterEqual(int(found["EVENKEEL_VIRTUAL_STAGES"]), 1)
        self.assertEqual(int(found["EVENKEEL_ENCODER_DATA_PARALLEL"]), 1)

    # As in docs/SLURM.md, to which it is held.
    OWN_PLAN = 'eval "EVENKEEL_PLAN_ID=\\$EVENKEEL_PLAN_ID_$SLURM_JOB_NUM_NODES"'

    def test_a_range_of_nodes_has_a_plan_for_each(self):
        with open(DOCS, encoding="utf-8") as file:
            self.assertIn(self.OWN_PLAN, file.read())
        done = self.slurm.submit(MODEL, GPUS, "--nodes=1-2",
                                 script=f'env; {self.OWN_PLAN}; echo "own=$EVENKEEL_PLAN_ID"')
        found = variables(self.slurm.output(done))
        for nodes in (1, 2):
            plan = self.server.ctl("plan", "--model", "llama3-8b", "--gpu", "h100-sxm-80gb", "--gpus", str(8 * nodes),
                                   "--global-batch", "128", "--output", "json").stdout
            self.assertEqual(found[f"EVENKEEL_PLAN_ID_{nodes}"], PLAN.search(plan).group())
        self.assertEqual(found["own"], found["EVENKEEL_PLAN_ID_1"])
        self.assertEqual(found["EVENKEEL_PLAN_ID"], "")
        self.assertIn("seconds per step on 1, 2 nodes: ", done.stderr)
        self.assertIn(f"AdminComment=evenkeel: 1 nodes {found['EVENKEEL_PLAN_ID_1']} to 2 nodes",
                      self.slurm.job(done.stdout))

    def test_a_range_that_does_not_fit_on_few_nodes_is_refused(self):
        self.refused(self.slurm.submit("--comment=evenkeel:model=llama3-70b,tp=8,pp=3", GPUS, "--nodes=2-3", "--hold"),
                     "does not fit on 2 of 2 to 3 nodes", "Nearest change: --nodes=3.")
        self.refused(self.slurm.submit("--comment=evenkeel:model=llama3-70b,save=x.json", GPUS, "--nodes=2-3"),
                     "save= does not go with a range of nodes")

    def test_the_job_can_fetch_its_plan(self):
        done = self.slurm.submit(MODEL, GPUS, script=f'{harness.CTL} get "$EVENKEEL_PLAN_ID"')
        self.assertIn("llama3-8b", self.slurm.output(done))

    def documented_script(self):
        with open(DOCS, encoding="utf-8") as file:
            (script,) = re.findall(r"^```sh\n(#!/bin/sh\n#SBATCH.*?)^```$", file.read(), re.S | re.M)
        return self.slurm.write("home/job.sh", script)

    def run_documented(self, comment, *options):
        """Returns the arguments of torchrun in the script of docs/SLURM.md, which runs unchanged except for these
        options."""
        self.slurm.write("bin/torchrun", TORCHRUN, 0o755)
        path = os.pathsep.join([os.path.join(self.slurm.folder, "bin"), os.path.dirname(harness.CTL),
                                os.environ["PATH"]])
        done = self.slurm.run("sbatch", "--parsable", "--nodes=1", f"--comment={comment}", *options,
                              self.documented_script(), environment={"PATH": path})
        return self.slurm.output(done).splitlines(), PLAN.search(done.stderr).group()

    def test_the_documented_script_trains_by_the_plan(self):
        words, plan = self.run_documented("evenkeel:model=llama3-8b,global-batch=128,launch=megatron,gpus-per-node=4")
        settings = self.server.ctl("launch", "--plan-id", plan, "--framework", "megatron", "--output", "json")
        arguments = json.loads(settings.stdout)["arguments"]
        self.assertIn("--tensor-model-parallel-size", arguments)
        self.assertEqual(words[-len(arguments):], arguments)
        at = words.index("--nnodes")  # with 4 GPUs each, as the description says
        self.assertEqual(words[at:at + 8], ["--nnodes", "2", "--nproc-per-node", "4", "--node-rank", "0",
                                            "--master-addr", self.slurm.host])
        self.assertIn("/opt/megatron/pretrain_gpt.py", words)
        # If the job is given again by flags, it has the same plan with all settings.
        again = self.server.ctl("launch", "--framework", "megatron", "--model", "llama3-8b", "--global-batch", "128",
                                "--gpu", "h100-sxm-80gb", "--gpus", "8", "--gpus-per-node", "4")
        self.assertIn(plan, again.stdout)

    def test_trainers_that_shard_get_their_files(self):
        _, plan = self.run_documented("evenkeel:model=llama3-8b,launch=megatron")
        for trainer in ("fsdp", "torchtitan"):
            done = self.slurm.submit(f"--comment=evenkeel:model=llama3-8b,launch={trainer}", GPUS, "--hold")
            other = PLAN.search(done.stderr).group()
            self.assertNotEqual(other, plan)
            found = self.server.ctl("launch", "--plan-id", other, "--framework", trainer)
            self.assertEqual(found.returncode, 0, found.stderr)
            again = self.server.ctl("launch", "--framework", trainer, "--model", "llama3-8b", "--gpu", "h100-sxm-80gb",
                                    "--gpus", "8", "--gpus-per-node", "8")
            self.assertIn(other, again.stdout)
        self.slurm.run("scancel", "--me")

    def test_keys_are_options_of_plan(self):
        """Checks the list, because evenkeelctl would refuse a misspelt key, but not here."""
        with open(os.path.join(harness.ROOT, "deploy", "slurm", "evenkeel_request.lua"), encoding="utf-8") as file:
            keys = re.search(r"in \(\[\[(.*?)\]\]\)", file.read(), re.S)[1].split()
        options = re.findall(r"--([a-z0-9-]+)", harness.run([harness.CTL, "plan", "--help"]).stdout)
        self.assertGreater(len(keys), 25)
        self.assertEqual(sorted(set(keys) - set(options)), [])
        with open(DOCS, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual([key for key in keys if f"`{key}`" not in text and f"`{key}=" not in text], [])

    def test_arrays(self):
        done = self.slurm.submit(MODEL, GPUS, "--array=1-2", script='echo "$SLURM_ARRAY_TASK_ID $EVENKEEL_PLAN_ID"')
        self.assertEqual(done.returncode, 0, done.stderr)
        number = done.stdout.strip()
        for task in ("1", "2"):
            path = os.path.join(self.slurm.home, f"slurm-{number}_{task}.out")
            self.slurm.wait_for(lambda path=path: os.path.exists(path) and os.path.getsize(path), path)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read().split(), [task, PLAN.search(done.stderr).group()])

    def test_heterogeneous_jobs(self):
        """Only the first part is planned, though the others inherit its comment. They wait: no two share a node."""
        self.addCleanup(self.slurm.run, "scancel", "--me")
        request = {"EVENKEEL_REQUEST": MODEL.partition(":")[2]}
        for unavailable in ("submit", "refuse"):
            self.configure(unavailable=unavailable)
            for options, environment, planned in (
                    (["--gpus=h100:8", ":", "--ntasks=1"], request, [True, False]),
                    ([MODEL, "--gpus=h100:8", ":", "--ntasks=1"], {}, [True, False]),
                    (["--comment=others", ":", MODEL, "--gpus=h100:8"], {}, [False, False])):
                with self.subTest(options=options, unavailable=unavailable):
                    done = self.slurm.run("sbatch", "--parsable", "--hold", *options, "--wrap", "true",
                                          environment=environment)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    plans = PLAN.findall(done.stderr)
                    self.assertEqual(len(plans), sum(planned), done.stderr)
                    parts = re.split(r"(?m)^(?=JobId=)", self.slurm.job(done.stdout))[1:]
                    self.assertEqual(["AdminComment=evenkeel: plan-" in part for part in parts], planned)

    def test_other_ways_to_ask(self):
        by_environment = self.slurm.submit("--gres=gpu:h100:8", "--comment=mine",
                                           environment={"EVENKEEL_REQUEST": "model=llama3-8b,global-batch=128"})
        by_comment = self.slurm.submit("--gpus=h100:8", "--comment='evenkeel:model=llama3-8b,global-batch=128 of ours'")
        ids = {variables(self.slurm.output(done))["EVENKEEL_PLAN_ID"] for done in (by_environment, by_comment)}
        self.assertEqual(len(ids), 1)
        with open(os.path.join(harness.EXAMPLES, "llama3-8b-text.json"), encoding="utf-8") as file:
            job = self.slurm.write("home/job.json", file.read())
        done = self.slurm.submit(f"--comment=evenkeel:job={job},save=plan.json")
        self.assertIn("EVENKEEL_PLAN_ID", self.slurm.output(done))
        self.assertTrue(os.path.exists(os.path.join(self.slurm.home, "plan.json")))

    def test_jobs_that_do_not_ask_are_left_alone(self):
        done = self.slurm.submit("--comment='nothing of ours'")
        self.assertEqual((self.slurm.output(done), done.stderr), ("", ""))

    def test_an_impossible_job_is_refused_with_the_reason(self):
        self.refused(self.slurm.submit("--comment=evenkeel:model=llama3-70b", "--gpus=h100:1"),
                     "does not fit", "it lacks", "Nearest change: 24 GPUs instead of 1")

    def test_bad_input_is_refused_with_what_would_do(self):
        for comment, words in (("evenkeel:model", "is not KEY=VALUE"), ("evenkeel:", "is not KEY=VALUE"),
                               ("evenkeel:modell=a", "unknown key 'modell'"), ("evenkeel:tp=2", "give model=NAME"),
                               ("evenkeel:model=a,model=b", "given twice"),
                               ("evenkeel:model=nosuch", "job.model.name (--model): unknown model"),
                               ("evenkeel:model=llama3-8b,gpus=16", "asks Slurm for 8 GPUs"),
                               ("evenkeel:model=llama3-8b,tp=0", "tp"),
                               ("evenkeel:model=llama3-8b,launch=nemo", "--launch: nemo not in {"),
                               ("evenkeel:model='$(touch pwned)'", "unknown model")):
            with self.subTest(comment=comment):
                self.refused(self.slurm.submit(f'"--comment={comment}"', GPUS), words)
        self.assertFalse(os.path.exists(os.path.join(self.slurm.home, "pwned")))
        for request, words in (("model=llama3-8b, tp=2", "EVENKEEL_REQUEST: has a space in it"),
                               ("modell=a", "EVENKEEL_REQUEST: unknown key 'modell'")):
            self.refused(self.slurm.submit(GPUS, environment={"EVENKEEL_REQUEST": request}), words)
        self.refused(self.slurm.submit(MODEL), "how many GPUs?")
        self.refused(self.slurm.submit(MODEL, "--nodes=1-2"), "how many GPUs?")
        self.refused(self.slurm.submit(MODEL, GPUS, "--ntasks=2"), "how many GPUs?")
        self.refused(self.slurm.submit(MODEL, "--gpus=8"), "which GPUs?")
        self.refused(self.slurm.submit(MODEL, "--gpus=b9000:8"), "no gpu_type.b9000")

    def test_without_a_planner_by_configuration(self):
        nobody = f"127.0.0.1:{harness.free_port()}"
        self.configure(server=nobody)
        done = self.slurm.submit(MODEL, GPUS)
        self.assertEqual(set(variables(self.slurm.output(done)).values()), {""})
        self.assertIn("submitted without a plan: no server at", done.stderr)
        self.assertIn("AdminComment=evenkeel: no plan", self.slurm.job(done.stdout))
        stale = {"EVENKEEL_PLAN_ID": "plan-" + "0" * 32, "EVENKEEL_REQUEST": "model=llama3-8b"}
        done = self.slurm.submit("--gpus=h100:8", environment=stale)
        self.assertEqual(variables(self.slurm.output(done))["EVENKEEL_PLAN_ID"], "")
        self.assertIn("AdminComment=evenkeel: no plan", self.slurm.job(done.stdout))
        self.configure(server=nobody, unavailable="refuse")
        self.refused(self.slurm.submit(MODEL, GPUS), "there is no plan: no server at")

    def test_a_planner_that_hangs_costs_the_timeout(self):
        self.configure(timeout_seconds="1")
        self.server.terminate(signal.SIGSTOP)
        try:
            began = time.monotonic()
            done = self.slurm.submit(MODEL + ",seed=7", GPUS)
            self.assertLess(time.monotonic() - began, 4)
        finally:
            self.server.terminate(signal.SIGCONT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("submitted without a plan", done.stderr)

    def test_wrong_settings_are_said(self):
        for settings, words in (({"unavailable": "ask"}, "must be submit or refuse"),
                                ({"timeout_seconds": "no"}, "must be a number above 0"),
                                ({"sever": "a"}, "unknown line 'sever = a'")):
            self.configure(**settings)
            self.refused(self.slurm.submit(MODEL, GPUS), words)
        self.configure(environment_file=self.slurm.write("client.env", "EVENKEEL_TLS_CA=/no/such/ca\n"))
        self.refused(self.slurm.submit(MODEL, GPUS), "/no/such/ca")
        self.configure(environment_file="/no/such/file")
        self.refused(self.slurm.submit(MODEL, GPUS), "/no/such/file")
        self.slurm.configure(command="/no/such/evenkeelctl")
        self.assertIn("no program /no/such", self.slurm.submit(MODEL, GPUS).stderr)

    def command(self, script):
        """Puts `script` in place of evenkeelctl."""
        self.slurm.configure(command=self.slurm.write("ctl", "#!/bin/sh\n" + script + "\n", 0o755))

    def test_warnings_are_no_part_of_the_answer(self):
        self.command(f"echo 'E0101 ssl_utils.cc: all is well' >&2\nexec {harness.CTL} \"$@\"")
        self.assertRegex(self.slurm.output(self.slurm.submit(MODEL, GPUS)), "EVENKEEL_PLAN_ID=plan-")

    def test_answers_that_are_no_plan(self):
        identity = '"plan_id":"plan-' + "0" * 32 + '"'
        for answer, status in (("", 0), ("not JSON", 0), ("{}", 0), ('{"plan":7}', 0), ('{"plan":{"plan_id":"x"}}', 0),
                               ('{"plan":{%s}}' % identity, 0), ('{"plan":{%s,"misfit":7}}' % identity, 1),
                               ('{"plan":{%s,"subject":{"gpu_count":8},"parallelism":{}}}' % identity, 0)):
            with self.subTest(answer=answer):
                self.command(f"printf %s '{answer}'; exit {status}")
                done = self.slurm.submit(MODEL, GPUS, "--hold")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("submitted without a plan: ", done.stderr)
        self.command("echo of no use >&2; exit 4")
        self.assertIn("submitted without a plan: of no use", self.slurm.submit(MODEL, GPUS, "--hold").stderr)
        self.command("exit 2")
        self.refused(self.slurm.submit(MODEL, GPUS), "exit status 2")
        self.slurm.run("scancel", "--me")

    def test_environments(self):
        stale = {"EVENKEEL_PLAN_ID": "plan-" + "0" * 32, "KEPT": "yes"}
        script = "echo kept=$KEPT; env | grep ^EVENKEEL"
        for options, kept in (((), "yes"), (("--export=KEPT",), "yes"), (("--export=NONE",), "")):
            with self.subTest(options=options):
                found = variables(self.slurm.output(self.slurm.submit(MODEL, GPUS, *options, script=script,
                                                                      environment=stale)))
                self.assertEqual(found["kept"], kept)
                self.assertNotEqual(found["EVENKEEL_PLAN_ID"], stale["EVENKEEL_PLAN_ID"])

    def test_srun(self):
        done = self.slurm.run("srun", MODEL, "--gpus=h100:8", "printenv", "EVENKEEL_PLAN_ID")
        self.assertRegex(done.stdout, PLAN)
        told = self.slurm.run("salloc", MODEL, "--gpus=h100:8", "true").stderr
        self.assertRegex(told, "export EVENKEEL_PLAN_ID=plan-")
        inside = self.slurm.submit(MODEL, GPUS, script="printenv EVENKEEL_PLAN_ID; srun printenv EVENKEEL_PLAN_ID")
        first, second = self.slurm.output(inside).split()
        self.assertEqual(first, second)

    def test_a_job_that_submits_the_next_one(self):
        """The plan of the first is not used for the second."""
        chain = (f"EVENKEEL_REQUEST=model=llama3-8b,seed=5 sbatch --parsable --gpus=h100:8 --wrap "
                 "'printenv EVENKEEL_PLAN_ID' >next; printenv EVENKEEL_PLAN_ID")
        first = self.slurm.output(self.slurm.submit(MODEL, GPUS, script=chain)).split()[-1]
        with open(os.path.join(self.slurm.home, "next"), encoding="utf-8") as file:
            number = file.read().strip()
        self.slurm.wait_for(lambda: "COMPLETED" in self.slurm.job(number), f"job {number}")
        with open(os.path.join(self.slurm.home, f"slurm-{number}.out"), encoding="utf-8") as file:
            self.assertNotEqual(file.read().strip(), first)

    def test_slurmctld_checks_what_goes_past_the_filter(self):
        bypass = self.slurm.write("bypass.conf", "")
        with open(os.path.join(self.slurm.folder, "slurm.conf"), encoding="utf-8") as file:
            self.slurm.write("bypass.conf", file.read().replace("CliFilterPlugins=cli_filter/lua\n", ""))
        plan = {"SLURM_CONF": bypass, "EVENKEEL_PLAN_ID": "plan-" + "1" * 32, "EVENKEEL_GPUS": "8"}
        self.assertEqual(self.slurm.submit(MODEL, GPUS, environment=plan).returncode, 0)
        self.refused(self.slurm.submit(MODEL, GPUS, environment={**plan, "EVENKEEL_PLAN_ID": "plan-1"}), "no plan id")
        self.refused(self.slurm.submit(MODEL, "--gpus-per-node=h100:4", environment=plan), "the plan is for 8 GPUs")
        sizes = {"SLURM_CONF": bypass, "EVENKEEL_PLAN_ID_1": "plan-" + "1" * 32}
        self.refused(self.slurm.submit(MODEL, GPUS, "--nodes=1-2", environment=sizes), "EVENKEEL_PLAN_ID_2 is ''")
        self.configure(unavailable="refuse")
        self.refused(self.slurm.submit(MODEL, GPUS, environment={"SLURM_CONF": bypass}), "has none")
        self.refused(self.slurm.submit(MODEL, GPUS, "--nodes=1-2", environment={"SLURM_CONF": bypass}), "has none")

    def test_what_sbatch_takes_longer(self):
        def seconds(*options):
            began = time.monotonic()
            done = self.slurm.submit("--hold", *options)
            assert done.returncode == 0, done.stderr
            return time.monotonic() - began
        seconds(MODEL, GPUS)  # from now on the plan is known
        plain, planned = [], []
        for _ in range(15):
            plain.append(seconds(GPUS))
            planned.append(seconds(MODEL, GPUS))
        self.slurm.run("scancel", "--me")
        plain, planned = statistics.median(plain), statistics.median(planned)
        print(f"sbatch: {plain * 1000:.0f} ms without, {planned * 1000:.0f} ms with a known plan (medians of 15)")
        self.assertLess(planned - plain, MOST_ADDED_SECONDS)


def main():
    loopback_up()  # with an address outside the loopback, because otherwise Slurm finds no address at which to listen
    loader = unittest.TestLoader()
    if len(sys.argv) > 1:
        loader.testNamePatterns = [f"*{sys.argv[1]}*"]
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(loader.loadTestsFromTestCase(SlurmTest))
    bad = {str(getattr(test, "test_case", test)) for test, _ in [*result.failures, *result.errors]}
    print(f"{max(result.testsRun - len(bad), 0)} passed, {len(bad)} failed")
    sys.exit(0 if not bad and result.testsRun else 1)


if __name__ == "__main__":
    main()
