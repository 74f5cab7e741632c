"""A one-node Slurm from this machine's packages, with deploy/slurm installed as docs/SLURM.md says, and a user."""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import harness  # noqa: E402  pylint: disable=wrong-import-position
from pod import ADDRESS  # noqa: E402  pylint: disable=wrong-import-position

SOURCE = os.path.join(harness.ROOT, "deploy", "slurm")
USER = 65534
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
CliFilterPlugins=cli_filter/lua
JobSubmitPlugins=job_submit/lua
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} Gres=gpu:h100:8 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """Use it in a with statement. `configure` writes evenkeel.conf."""

    def __init__(self):
        self._owner = tempfile.TemporaryDirectory(prefix="evenkeel-slurm-")
        self.folder = self._owner.name
        os.chmod(self.folder, 0o755)
        self.host = socket.gethostname().split(".")[0]
        # These mounts are only for this process and what it starts, because run.sh gave it a separate mount namespace.
        # Slurm resolves the host's name, and the job script of docs/SLURM.md that of the planner. The planner has both
        # of its addresses, so that nobody waits for a name server to report the other.
        hosts = self.write("hosts", "127.0.0.1 localhost planner\n::1 planner\n"
                           f"{ADDRESS} {socket.gethostname()} {self.host}\n")
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)
        self.home = os.path.join(self.folder, "home")
        for name, owner in (("state", 0), ("spool", 0), ("home", USER), ("munge", 0), ("bin", 0)):
            os.mkdir(os.path.join(self.folder, name))
            os.chown(os.path.join(self.folder, name), owner, owner)
        self.write("slurm.conf", CONF.format(host=self.host, folder=self.folder, cpus=os.cpu_count()))
        self.write("gres.conf", f"Name=gpu Type=h100 File={self.folder}/gpu[0-7]\n")
        for at in range(8):
            self.write(f"gpu{at}", "")
        self.write("cgroup.conf", "CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n")
        for name in os.listdir(SOURCE):
            shutil.copy(os.path.join(SOURCE, name), self.folder)
        self.environment = {"PATH": os.environ["PATH"], "SLURM_CONF": os.path.join(self.folder, "slurm.conf"),
                            "HOME": self.home, "LC_ALL": "C.UTF-8"}
        self.daemons = []

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def configure(self, **settings):
        """Writes deploy/slurm/evenkeel.conf with these settings. None leaves a setting out."""
        with open(os.path.join(SOURCE, "evenkeel.conf"), encoding="utf-8") as file:
            lines = [line for line in file if line.split("=")[0].strip() not in settings]
        self.write("evenkeel.conf", "".join(lines) + "".join(f"{key} = {value}\n" for key, value in settings.items()))

    def daemon(self, *command):
        with open(os.path.join(self.folder, os.path.basename(command[0]) + ".out"), "wb") as log:
            self.daemons.append(subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                                 stderr=log, cwd=self.folder))

    def start(self):
        key = os.path.join(self.folder, "munge", "key")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o600)
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket",
                    f"--pid-file={self.folder}/munge/pid", f"--seed-file={self.folder}/munge/seed",
                    f"--log-file={self.folder}/munge/log", "--num-threads=2")
        self.wait_for(lambda: os.path.exists(f"{self.folder}/munge.socket"), "munged")
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D")
        self.wait_for(lambda: self.run("sinfo", "-h", "-o", "%t").stdout.strip() == "idle", "slurm")

    def wait_for(self, reached, what, seconds=40):
        end = time.monotonic() + seconds
        while not (found := reached()):
            if time.monotonic() > end:
                raise AssertionError(f"{what} after {seconds} s: {self.logs()}")
            time.sleep(0.05)
        return found

    def logs(self):
        text = ""
        for name in ("munged.out", "slurmctld.out", "slurmd.out"):
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text += f"\n== {name}\n" + "".join(file.readlines()[-20:])
        return text

    def run(self, *command, environment=None):
        """Runs a command as the user, in their home."""
        return subprocess.run(["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", *command],
                              env={**self.environment, **(environment or {})}, cwd=self.home, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def submit(self, *options, script="env | grep '^EVENKEEL' | sort", environment=None):
        """Runs sbatch. Slurm's lines are among `options`."""
        path = os.path.join(self.home, "job.sh")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + "".join(f"#SBATCH {option}\n" for option in options) + script + "\n")
        return self.run("sbatch", "--parsable", path, environment=environment)

    def output(self, submitted):
        """Returns the output of the job, once it has ended."""
        assert submitted.returncode == 0, submitted.stderr
        number = submitted.stdout.strip()
        self.wait_for(lambda: re.search("JobState=(COMPLETED|FAILED)", self.job(number)), f"job {number}")
        with open(os.path.join(self.home, f"slurm-{number}.out"), encoding="utf-8") as file:
            text = file.read()
        assert "JobState=COMPLETED" in self.job(number), text
        return text

    def job(self, number):
        return self.run("scontrol", "show", "job", number.strip()).stdout

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self._owner.cleanup()
