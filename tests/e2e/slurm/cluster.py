#!/usr/bin/env python3
"""A Slurm cluster on one host, for tests: munged, slurmctld and four slurmd, all on 127.0.0.1, all in one temporary folder.

    cluster.py run -- sinfo -N          runs a command with SLURM_CONF set
    cluster.py self-test                an array of 20 tasks, one node dies

In Python:

    with Cluster() as cluster:
        subprocess.run(["sinfo"], env=cluster.environment)
        cluster.kill_node("n2")

Nothing outside the folder is read or written, nothing is left running. The daemons belong to a process of their own, the
keeper, which ends them all and removes the folder when its standard input ends: with the context manager, or with the
test's process, however that dies. Works as root and as an ordinary user. There are no cgroups and no accounting.
"""

import ctypes
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NODE_VARIABLE = "FB_TEST_CLUSTER_NODE"  # tells which node a process belongs to; a node's slurmstepd inherit it
PATH = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"

CONFIGURATION = """\
ClusterName=fabricbench_test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
# A task that was lost with its node starts again when its credential has run out: 120 s if nothing else is said.
AuthInfo=socket={folder}/munge/socket,cred_expire={credential_seconds}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
PlugStackConfig={folder}/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,sched_min_interval=0
SlurmdParameters=config_overrides
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout={node_seconds}
MessageTimeout=5
TCPTimeout=2
KillWait=2
InactiveLimit=0
MinJobAge={forget_seconds}
JobRequeue=1
"""


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def processes():
    """pid → (parent's pid, state), also of those that have ended and wait to be reaped."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                found[int(entry)] = (int(parent), state.decode())
            except OSError:
                pass  # it has just ended
    return found


def descendants(of):
    """Those that are alive: pid → state."""
    alive = {pid: what for pid, what in processes().items() if what[1] not in "ZX"}
    found = {of}
    grown = True
    while grown:
        more = {pid for pid, (parent, _) in alive.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return {pid: alive[pid][1] for pid in found - {of}}


def node_of(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            for entry in file.read().split(b"\0"):
                name, _, value = entry.partition(b"=")
                if name == NODE_VARIABLE.encode():
                    return value.decode()
    except OSError:
        pass
    return None


def send(pids, what):
    for pid in pids:
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            pass


def halt(find):
    """Stops the processes that find() tells (pid → state), until none of them goes on."""
    end = time.monotonic() + 5
    while True:
        victims = find()
        going = [pid for pid, state in victims.items() if state not in "Tt"]
        if not going or time.monotonic() > end:
            return victims
        send(going, signal.SIGSTOP)
        time.sleep(0.002)


def kill_at_once(find):
    """Ends the processes that find() tells. They are halted first: one that outlives another by a moment, as a shell its
    `sleep`, would go on to what it does next."""
    victims = halt(find)
    send(victims, signal.SIGKILL)
    return sorted(victims)


def runs(pid, word):
    """Whether this is a word of the process's command; one that has ended has none."""
    try:
        return word.encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


class Keeper:
    """Starts the daemons and ends them. Runs in a process of its own and is told what to do by lines of JSON."""

    def __init__(self, folder, nodes, settings):
        self.folder = pathlib.Path(folder)
        self.nodes = nodes
        self.settings = settings
        self.daemons = {}  # name → Popen

    def spawn(self, name, command, **more):
        environment = {"PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf"), **more}
        with open(self.folder / "log" / f"{name}.out", "ab") as output:
            self.daemons[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                                  env=environment, cwd=self.folder, start_new_session=True)

    def start(self):
        # What daemons leave behind (slurmstepd are orphans by design) becomes this process's child, and so can be found.
        PR_SET_CHILD_SUBREAPER = 36
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for name in ("munge", "state", "spool", "log"):
            (self.folder / name).mkdir(mode=0o755)
        munge = self.folder / "munge"
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o400)
        (self.folder / "plugstack.conf").write_text("")
        self.spawn("munged", ["munged", "--foreground", f"--socket={munge}/socket", f"--key-file={munge}/key",
                              f"--log-file={munge}/log", f"--pid-file={munge}/pid", f"--seed-file={munge}/seed"])
        self.wait_for(lambda: (munge / "socket").exists(), 10, "munged has no socket")

        control_port, *ports = free_ports(1 + len(self.nodes))
        host = socket.gethostname().split(".")[0]
        text = CONFIGURATION.format(host=host, folder=self.folder, control_port=control_port,
                                    user=pwd.getpwuid(os.getuid()).pw_name, **self.settings)
        for node, port in zip(self.nodes, ports):
            text += f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN\n"
        text += "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        (self.folder / "slurm.conf").write_text(text)

        self.start_controller()
        for node in self.nodes:
            self.start_node(node)
        self.wait_for(lambda: self.idle() == len(self.nodes), 40, "the nodes are not idle")

    def start_controller(self):
        self.spawn("slurmctld", ["slurmctld", "-D", "-i"])

    def start_node(self, node):
        self.spawn(f"slurmd-{node}", ["slurmd", "-D", "-N", node], **{NODE_VARIABLE: node})

    def idle(self):
        try:
            shown = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], capture_output=True, text=True, timeout=10,
                                   env={"PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")})
        except subprocess.TimeoutExpired:
            return 0
        return shown.stdout.split().count("idle")

    def wait_for(self, condition, seconds, complaint):
        end = time.monotonic() + seconds
        while not condition():
            ended = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            if ended or time.monotonic() > end:
                raise RuntimeError(f"{complaint}; ended: {ended}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        text = ""
        for path in sorted((self.folder / "log").glob("*.out")):
            text += f"== {path.name}\n" + "".join(path.open(errors="replace").readlines()[-15:])
        return text

    def kill_node(self, node, doing=None):
        """The node's slurmd, its slurmstepd and all their tasks: as when a machine loses its power. `doing`: only if one of them
        runs a command with this word; else nothing happens, without a message."""
        def find():
            alive = descendants(os.getpid())
            found = {pid: state for pid, state in alive.items() if node_of(pid) == node}
            for pid in list(found):
                found |= descendants(pid)
            return found

        if doing is not None:
            halted = halt(find)
            if not any(runs(pid, doing) for pid in halted):
                send(halted, signal.SIGCONT)
                return []
        victims = kill_at_once(find)
        self.daemons.pop(f"slurmd-{node}").wait()
        self.reap()
        return victims

    def kill_daemon(self, name):
        """The daemon alone: what it has started goes on."""
        daemon = self.daemons.pop(name)
        daemon.kill()
        daemon.wait()
        return [daemon.pid]

    def stop_controller(self):
        """As for an upgrade. One that is killed forgets the last seconds, and Slurm drains nodes that know more than it."""
        daemon = self.daemons.pop("slurmctld")
        daemon.terminate()
        daemon.wait()
        return [daemon.pid]

    def reap(self):
        own = {daemon.pid for daemon in self.daemons.values()}
        for pid, (parent, _) in processes().items():
            if parent == os.getpid() and pid not in own:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass

    def stop(self):
        # First the daemons that would start others; then all that is left.
        for daemon in self.daemons.values():
            if daemon.poll() is None:
                daemon.terminate()
        end = time.monotonic() + 3
        while time.monotonic() < end and any(daemon.poll() is None for daemon in self.daemons.values()):
            time.sleep(0.05)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if not kill_at_once(lambda: descendants(os.getpid())):
                break
            for daemon in self.daemons.values():
                daemon.poll()
            self.reap()
            time.sleep(0.05)
        shutil.rmtree(self.folder, ignore_errors=True)


def keep(folder, nodes, settings):
    # Signals of a terminal are for the test; the keeper ends when its input does.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    keeper = Keeper(folder, nodes, settings)

    def answer(**what):
        try:
            print(json.dumps(what), flush=True)
        except OSError:
            pass  # no reader; the input has ended too

    try:
        keeper.start()
        answer(ready=True)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                if "kill_node" in request:
                    answer(pids=keeper.kill_node(request["kill_node"], request.get("doing")))
                elif "kill_daemon" in request:
                    answer(pids=keeper.kill_daemon(request["kill_daemon"]))
                elif "stop_controller" in request:
                    answer(pids=keeper.stop_controller())
                elif "start_controller" in request:
                    keeper.start_controller()
                    answer(started=True)
                elif "start_node" in request:
                    keeper.start_node(request["start_node"])
                    answer(started=True)
            except KeyError as problem:
                answer(error=f"not running: {problem}")
    except RuntimeError as problem:
        answer(error=str(problem))
    finally:
        keeper.stop()


def missing():
    """What this host lacks, or None."""
    lacks = [name for name in ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
             if shutil.which(name, path=PATH) is None]
    return "not installed: " + ", ".join(lacks) if lacks else None


class Cluster:
    def __init__(self, nodes=4, node_seconds=6, credential_seconds=5, forget_seconds=300):
        self.nodes = [f"n{number + 1}" for number in range(nodes)]
        self.settings = dict(node_seconds=node_seconds, credential_seconds=credential_seconds,
                             forget_seconds=forget_seconds)
        self.folder = None
        self.keeper = None

    def __enter__(self):
        # Not below TMPDIR: paths of sockets are short, and munged trusts only folders that others can't write to.
        self.folder = tempfile.mkdtemp(prefix="fb-slurm-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        self.keeper = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "keep", self.folder, json.dumps(self.nodes), json.dumps(self.settings)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            self._read()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        self.keeper.stdin.close()
        self.keeper.wait()
        self.keeper.stdout.close()

    def _read(self):
        line = self.keeper.stdout.readline()
        answer = json.loads(line) if line else {"error": "the keeper of the cluster has ended"}
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def _ask(self, **request):
        self.keeper.stdin.write(json.dumps(request) + "\n")
        self.keeper.stdin.flush()
        return self._read()

    @property
    def configuration(self):
        return os.path.join(self.folder, "slurm.conf")

    @property
    def environment(self):
        return {**os.environ, "SLURM_CONF": self.configuration}

    def command(self, *words):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=60, check=True).stdout

    def states(self):
        """node → idle, allocated, down*, …"""
        return dict(line.split() for line in self.command("sinfo", "-h", "-N", "-o", "%N %T").splitlines())

    def kill_node(self, node, doing=None):
        return self._ask(kill_node=node, doing=doing)["pids"]

    def kill_slurmd(self, node):
        return self._ask(kill_daemon=f"slurmd-{node}")["pids"]

    def stop_controller(self):
        return self._ask(stop_controller=True)["pids"]

    def start_controller(self):
        self._ask(start_controller=True)

    def start_node(self, node):
        self._ask(start_node=node)


def self_test():
    """What the executor relies on, shown on the cluster itself."""
    began = time.monotonic()
    with Cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        print(f"four nodes idle after {time.monotonic() - began:.1f} s: {cluster.states()}")
        script = pathlib.Path(folder, "script")
        script.write_text("#!/bin/sh\n"
                          f"echo \"$SLURMD_NODENAME ${{SLURM_RESTART_COUNT:-0}}\" >> {folder}/begun-$SLURM_ARRAY_TASK_ID\n"
                          # The task whose node is to die waits for that.
                          "case $SLURM_ARRAY_TASK_ID.${SLURM_RESTART_COUNT:-0} in 2.0) sleep 600 ;; *) sleep 2 ;; esac\n"
                          f"echo $SLURMD_NODENAME > {folder}/ended-$SLURM_ARRAY_TASK_ID\n")
        job = cluster.command("sbatch", "--parsable", "--array=1-20", "--requeue", "--output=/dev/null", str(script)).strip()
        end = time.monotonic() + 120
        first = pathlib.Path(folder, "begun-2")
        while not (first.exists() and first.read_text().endswith("\n")):
            assert time.monotonic() < end
            time.sleep(0.1)
        node = first.read_text().split()[0]
        killed, at = cluster.kill_node(node), time.monotonic()
        print(f"{node} is dead: processes {killed}")
        assert not pathlib.Path(folder, "ended-2").exists(), "the task went on while its node died"
        seen = None
        while len(list(pathlib.Path(folder).glob("ended-*"))) < 20:
            assert time.monotonic() < end, cluster.command("squeue", "-r", "-t", "all")
            now = cluster.command("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%K %T %N %r")
            mine = [line for line in now.splitlines() if line.split()[0] == "2"]
            if mine != seen:
                seen = mine
                print(f"  {time.monotonic() - at:5.1f} s  task 2: {mine}  node: {cluster.states()[node]}")
            time.sleep(0.2)
        begun = first.read_text().splitlines()
        print(f"all 20 tasks have ended {time.monotonic() - at:.1f} s after that; task 2 ran on {begun}")
        assert len(begun) == 2 and begun[1].split()[0] != node, begun
        cluster.start_node(node)
        while cluster.states()[node] != "idle":
            assert time.monotonic() < end
            time.sleep(0.2)
        print(f"{node} is back")
        left = cluster.folder
    assert not os.path.exists(left)
    print("ok")


def main(arguments):
    if arguments[:1] == ["keep"]:
        keep(arguments[1], json.loads(arguments[2]), json.loads(arguments[3]))
        return 0
    if missing():
        print(missing(), file=sys.stderr)
        return 77
    if arguments == ["self-test"]:
        self_test()
        return 0
    if arguments[:2] == ["run", "--"] and len(arguments) > 2:
        with Cluster() as cluster:
            try:
                return subprocess.run(arguments[2:], env=cluster.environment).returncode
            except KeyboardInterrupt:
                return 130
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
