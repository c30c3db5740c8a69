"""What tests of campaigns have in common: a run folder, a model on loopback, the records without what time does to them."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STUB = HERE / "stub_worker.py"
PROVIDER = HERE.parent / "llm" / "fake_provider.py"
KEY = "sk-loopback-0123456789abcdef"


@contextlib.contextmanager
def folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="fb_campaign_"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def provider(answers, log, delay_ms=0):
    """An OpenAI-compatible server; yields its base URL."""
    server = subprocess.Popen([sys.executable, str(PROVIDER), "--port", "0", "--answers", str(answers), "--log", str(log),
                               "--problems", str(HERE.parents[2] / "problems"), "--delay-ms", str(delay_ms)], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().split()[-1]}/v1"
    finally:
        server.terminate()
        server.wait(10)


def environment(**more):
    """The caller's own, with a key and nothing of the user's."""
    env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    env.update({"OPENAI_API_KEY": KEY, "OPENAI_COMPATIBLE_API_KEY": KEY, **{name: str(value) for name, value in more.items()}})
    return env


def start(tool, *words, env=None, **more):
    return subprocess.Popen([tool, "run", "--plain", *map(str, words)], env=env or environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def run(tool, *words, env=None, timeout=300):
    """Exit code, output and errors of `fabricbench run`."""
    process = start(tool, *words, env=env)
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


# What differs from one run to the next although nothing else does.
UNSTEADY = {"seconds", "wall_seconds", "processor_seconds", "cached", "lost"}


def steady(value):
    if isinstance(value, dict):
        return {name: steady(part) for name, part in value.items() if name not in UNSTEADY}
    return [steady(part) for part in value] if isinstance(value, list) else value


def records(run_folder):
    """Path below samples/ → attempt, without times."""
    samples = pathlib.Path(run_folder) / "samples"
    return {str(path.relative_to(samples)): steady(json.loads(path.read_text()))
            for path in sorted(samples.rglob("*.attempt.json"))}


def processes_about(text):
    """Ids of processes whose command line holds the text, other than this one."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if text in (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                found.append(int(entry.name))
    return found


class Checks:
    """Complaints are collected, so that one run shows all of them."""

    def __init__(self):
        self.complaints = []

    def that(self, condition, text):
        if not condition:
            self.complaints.append(text)
            print("FAIL", text, flush=True)

    def same(self, got, expected, text):
        self.that(got == expected, f"{text}: expected {expected!r}, got {got!r}")

    def close(self):
        print(f"{len(self.complaints)} complaints", flush=True)
        sys.exit(1 if self.complaints else 0)


def end(process, sign=signal.SIGKILL):
    process.send_signal(sign)
    return process.wait(60)
