"""What an attempt may not leave: processes, mounts, shared memory, sockets, files.

isolate() runs the test in its own mount and process namespaces, so that tests that run at the same time are not seen."""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
ISOLATED = "FABRICBENCH_TEST_ISOLATED"


def isolate():
    """Starts this program again in its own namespaces; returns in there, or at once on a host that does not allow them. Then
    mounts and shared memory, which belong to the whole host, are not compared."""
    if ISOLATED in os.environ:
        return
    mapping = [] if os.geteuid() == 0 else ["--map-current-user"]
    unshare = ["unshare", *mapping, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
               'mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec "$@"', "sh"]
    try:
        possible = subprocess.run([*unshare, "true"], capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        possible = False
    os.environ[ISOLATED] = "1" if possible else "0"
    if possible:
        os.execvp("unshare", [*unshare, sys.executable, *sys.argv])
    print("no namespaces here: mounts and shared memory are not compared", flush=True)


def isolated():
    return os.environ.get(ISOLATED) == "1"


def parents():
    """Parent, state and name of every process."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                before, _, after = file.read().rpartition(")")
        except OSError:
            continue
        state, parent = after.split()[:2]
        found[int(pid)] = (int(parent), state, before.partition("(")[2])
    return found


def descendants():
    """Live processes that this one or its children have started; a daemon's too, as orphans become children of this one."""
    all_of_them, mine = parents(), {os.getpid()}
    grown = True
    while grown:
        grown = False
        for pid, (parent, _, _) in all_of_them.items():
            if parent in mine and pid not in mine:
                mine.add(pid)
                grown = True
    mine.discard(os.getpid())
    return {pid: all_of_them[pid][2] for pid in mine if all_of_them[pid][1] != "Z"}


def mounts():
    if not isolated():
        return set()
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        return set(file.read().splitlines())


def shared_memory():
    folder = "/dev/shm"
    return {os.path.join(folder, name) for name in os.listdir(folder)} if isolated() else set()


def floods():
    return {os.path.join("/tmp", name) for name in os.listdir("/tmp") if name.startswith("flood.")}


class Watch:
    """From its begin to found(). The attempt must use `environment`."""

    def __init__(self):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.folder = tempfile.mkdtemp(prefix="candidate")
        self.environment = dict(os.environ, TMPDIR=self.folder)
        self.mounts, self.shared, self.floods = mounts(), shared_memory(), floods()

    def found(self):
        # The kernel may still be cleaning up.
        end = time.monotonic() + 30
        while (left := descendants()) and time.monotonic() < end:
            time.sleep(0.05)
        complaints = [f"process {pid} ({name}) is left" for pid, name in left.items()]
        for pid in left:  # descendants, so the attempt's own
            os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        complaints += [f"mount is left: {line}" for line in mounts() - self.mounts]
        complaints += [f"{path} is left" for path in shared_memory() - self.shared]
        complaints += [f"{path} is left" for path in floods() - self.floods]
        for place, folders, files in os.walk(self.folder):
            complaints += [f"{os.path.join(place, name)} is left" for name in folders + files]
        with open("/proc/net/unix", encoding="utf-8") as file:
            complaints += [f"socket {line.split()[-1]} is left" for line in file if self.folder in line]
        shutil.rmtree(self.folder)
        return complaints
