#!/usr/bin/env python3
"""`fabricbench check` as a user meets it. Whatever a case does, the command leaves nothing behind.

Usage: check_test.py FABRICBENCH CASE          exit code 77: the case can't be tried here
       check_test.py --list
"""
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "candidates"))
import edits  # noqa: E402
from left_behind import Watch, isolate  # noqa: E402

SKIPPED = 77
PROBLEMS = os.path.join(HERE, "..", "..", "..", "problems")
REFERENCE = os.path.join(PROBLEMS, "comm", "p2p", "push_copy", "reference.cu")
SHORT = "flag_ping_pong"  # its full check is short
SHORT_REFERENCE = os.path.join(PROBLEMS, "comm", "p2p", SHORT, "reference.cu")
# What a program of ours says when it was not meant to end so.
CRASHES = ("terminate called", "internal error", "Segmentation", "what():")


class Skip(Exception):
    pass


class Ran:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"exit code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"

    def verdict(self):
        return json.loads(self.out)


def run(*words, prefix=(), folder=None, limit=120, text=None, **changes):
    """Runs fabricbench; changes of the environment by name, None removes."""
    watch = Watch()
    environment = {**watch.environment, **{k: v for k, v in changes.items() if v is not None}}
    for name in [name for name, value in changes.items() if value is None]:
        environment.pop(name, None)
    done = subprocess.run([*prefix, TOOL, *words], input=text or "", capture_output=True, text=True, timeout=limit,
                          cwd=folder, env=environment)
    left = watch.found()
    ran = Ran(done.returncode, done.stdout, done.stderr)
    assert not left, f"{words} left: {left}\n{ran}"
    assert not any(crash in ran.out + ran.err for crash in CRASHES), ran
    return ran


def expect(ran, code, *parts, verdict=None):
    assert ran.code == code, f"expected exit code {code}: {ran}"
    for part in parts:
        assert part in ran.out + ran.err, f"expected {part!r}: {ran}"
    if verdict:
        assert ran.out.startswith(verdict + "  "), f"expected {verdict}: {ran}"
    return ran


def template():
    path = os.path.join(FOLDER, "mine.cu")
    if not os.path.exists(path):
        expect(run("template", "push_copy", "-o", path), 0)
    return path


def case_first_steps():
    """From the list of problems to a first verdict."""
    expect(run("list"), 0, "push_copy", SHORT)
    expect(run("show", "push_copy"), 0, "Copy by storing into a peer", "uint32_t* out")
    expect(run("template", "push_copy", "-o", "mine.cu", folder=FOLDER), 0)
    expect(run("template", "push_copy", "-o", "mine.cu", folder=FOLDER), 2, "exists")
    ran = expect(run("check", "--quick", "push_copy", "mine.cu", folder=FOLDER), 1, "Rank 0 never wrote `out`",
                 "Again: fabricbench check --seed ", verdict="wrong")
    # The command that is printed does the same again.
    again = next(line for line in ran.out.splitlines() if line.startswith("Again: ")).split()[2:]
    assert run(*again, folder=FOLDER).out == ran.out
    expect(run("check", "--quick", "push_copy", REFERENCE), 0, "2 sessions", verdict="PASS")


def case_full():
    """A full check has times and a speed."""
    expect(run("check", SHORT, SHORT_REFERENCE), 0, "Speed 1.00 of the reference", verdict="PASS")
    verdict = expect(run("check", "--json", "--no-reference", SHORT, SHORT_REFERENCE), 0).verdict()
    assert verdict["speed"] is None and verdict["timings"] and verdict["timings"][0]["seconds"] > 0, verdict
    assert verdict["speed_range"] is None, verdict
    for t in verdict["timings"]:
        assert t["range"]["low"] < t["seconds"] < t["range"]["high"] < 2 * t["seconds"], t


def case_intervals():
    """Times with intervals, and what bounds them. A candidate that is the reference is as fast, whatever the constants are."""
    text = expect(run("check", SHORT, SHORT_REFERENCE), 0, "bound by a chain of latencies (", "links at ", "sol ").out
    assert re.search(r" us \([0-9.]+–[0-9.]+\)   reference [0-9.]+ us   speed 1\.00 \(1\.00–1\.00\)", text), text
    verdict = expect(run("check", "--json", SHORT, SHORT_REFERENCE), 0).verdict()
    assert abs(verdict["speed_range"]["low"] - 1) < 1e-6 and abs(verdict["speed_range"]["high"] - 1) < 1e-6, verdict
    for t in verdict["timings"]:
        groups = t["sensitivity"]
        assert set(groups) == {"latency", "bandwidth", "in_flight", "issue", "launch"}, t
        # If all is slower by the same factor, so is the time.
        assert 0.9 < sum(groups.values()) < 1.1, t
        assert max(groups, key=groups.get) == "latency", t
        assert t["moved"]["peer_out"] > 0 and t["moved"]["peer_in"] > 0 and 0 < t["link_use"] < 0.1, t


def case_json():
    """The verdict for programs."""
    verdict = expect(run("check", "--quick", "--json", "push_copy", template()), 1).verdict()
    assert verdict["class"] == "wrong" and verdict["problem"] == "push_copy", verdict
    assert verdict["thoroughness"] == "quick" and verdict["sandbox"] == "bubblewrap", verdict
    assert verdict["location"]["size"] == "one" and verdict["location"]["world"] == 4 and verdict["location"]["call"] == 0, verdict
    assert 0 <= int(verdict["seed"]) < 2**64 and verdict["candidate_hash"] and verdict["problem_hash"], verdict
    assert verdict["version"] and verdict["backend"] == "virtual" and verdict["platform"] == "h100x8", verdict
    verdict = expect(run("check", "--quick", "--json", "push_copy", REFERENCE), 0).verdict()
    assert verdict["class"] == "pass" and verdict["sessions"] == 2 and verdict["values"] > 0, verdict


def case_replay():
    """A seed gives the same verdict; no seed gives a new one."""
    def judged(*words):
        verdict = run("check", "--quick", "--json", *words, "push_copy", template()).verdict()
        return [verdict[key] for key in ("class", "summary", "explanation", "location", "seed")]
    first = judged()
    assert judged("--seed", first[4]) == first
    assert judged("--seed", first[4]) == first
    assert judged()[4] != first[4]
    last = str(2**64 - 1)
    assert judged("--seed", last)[4] == last


def case_race():
    """What a race has made wrong is called a race, in every schedule: wrong values alone do not tell why."""
    with open(os.path.join(PROBLEMS, "comm", "collective", "all_reduce_one_shot", "reference.cu"), encoding="utf-8") as file:
        right = file.read()
    racy = right.replace("store(epoch, cuda::memory_order_release)", "store(epoch, cuda::memory_order_relaxed)")
    assert racy != right
    path = os.path.join(FOLDER, "racy.cu")
    with open(path, "w", encoding="utf-8") as file:
        file.write(racy)
    for seed in range(1, 9):
        expect(run("check", "--quick", "--seed", str(seed), "all_reduce_one_shot", path), 1, "published without release",
               verdict="race")


def case_verbose():
    deadlock = os.path.join(FOLDER, "deadlock_any_sync.cu")
    with open(deadlock, "w", encoding="utf-8") as file:
        file.write(edits.read(os.path.join(HERE, "..", "candidates", "deadlock_any_sync.toml"))[1])
    words = ("check", "--quick", "--seed", "1", "all_reduce_one_shot", deadlock)
    cut, whole = run(*words), run(*words, "--verbose")
    expect(cut, 1, "more lines)")
    expect(whole, 1, "deadlock")
    assert "more lines)" not in whole.out and len(whole.out) > len(cut.out), str(whole)


def case_usage():
    """Mistakes of the user: exit code 2 and one line that says what to do."""
    def refused(*words, says):
        ran = expect(run(*words), 2, says)
        assert not ran.out, f"standard output is for verdicts: {ran}"
        assert len(ran.err.strip().splitlines()) <= 2, f"that is too much: {ran}"
    refused("check", "push_cop", template(), says="did you mean 'push_copy'")
    refused("check", "push_copy", "no_such_file.cu", says="cannot read no_such_file.cu: there is no such file (`fabricbench template push_copy -o ")
    refused("check", "push_copy", FOLDER, says=f"cannot read {FOLDER}: it is a folder; name the file of the solution")
    refused("check", "push_copy", "/dev/zero", says="/dev/zero has more than 256 MiB: that is no solution")
    for seed in ("-1", "0x10", "1e3", "18446744073709551616", "seven", ""):
        refused("check", "--seed", seed, "push_copy", template(), says="--seed")
    refused("check", "--quick", "--full", "push_copy", template(), says="--full")
    refused("check", "--jobs", "-3", "push_copy", template(), says="--jobs")
    refused("check", "--backend", "cuda", "push_copy", template(), says="fabricbench export PROBLEM --solution FILE")
    refused("check", "--problems", "/no/such/pack", "push_copy", template(), says="/no/such/pack")
    refused("template", "push_copy", "-o", "/no/such/folder/mine.cu", says="/no/such/folder/mine.cu")


def case_no_temporary_folder():
    """A failure of ours is a verdict, too."""
    verdict = expect(run("check", "--quick", "--json", "push_copy", REFERENCE, TMPDIR="/no/such/folder"), 2).verdict()
    assert verdict["class"] == "infra" and "No such file" in verdict["summary"], verdict


def case_no_platform():
    """A platform that is not there."""
    ran = expect(run("check", "--quick", "--platform", "abacus", "push_copy", REFERENCE), 2, "'abacus'; known: b300x8 ")
    assert not ran.out, f"standard output is for verdicts: {ran}"


def case_stdin():
    """An answer from a pipe."""
    with open(REFERENCE, encoding="utf-8") as file:
        text = file.read()
    expect(run("check", "--quick", "push_copy", "-", text=text), 0, verdict="PASS")
    expect(run("check", "--quick", "push_copy", "-", text=""), 1, verdict="compile_error")
    expect(run("check", "--quick", "push_copy", "-", text="I can't do that."), 1, verdict="compile_error")


def case_compile_error():
    """Places in the user's own file."""
    path = os.path.join(FOLDER, "broken.cu")
    with open(template(), encoding="utf-8") as file:
        lines = file.read().splitlines()
    at = next(k for k, line in enumerate(lines) if "TODO" in line)
    lines[at] = "    this is no C++;"
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    expect(run("check", "--quick", "push_copy", path), 1, f"broken.cu:{at + 1}:", verdict="compile_error")


def case_trace():
    """A timeline of the first session, or of the timed calls with what the verdict says of them."""
    path = os.path.join(FOLDER, "run.json")
    expect(run("check", "--quick", "--trace", path, "push_copy", REFERENCE), 0)
    with open(path, encoding="utf-8") as file:
        assert len(json.load(file)["traceEvents"]) > 10
    expect(run("check", "--quick", "--trace", "here.json", "push_copy", REFERENCE, folder=FOLDER), 0)
    assert os.path.exists(os.path.join(FOLDER, "here.json"))
    expect(run("check", "--trace", path, SHORT, SHORT_REFERENCE), 0)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    timed = [e for e in events if e.get("args", {}).get("bound")]
    assert timed and all(e["args"]["bound"].startswith("bound by ") and e["args"]["bound"] in e["name"] for e in timed), timed
    for e in timed:
        assert e["args"]["at_least_us"] < e["args"]["microseconds"] < e["args"]["at_most_us"], e
        assert abs(e["dur"] - e["args"]["microseconds"]) < 0.05 * e["dur"] and e["args"]["speed"] > 0, e
        inside = [k for k in events if k["ph"] == "X" and e["ts"] <= k["ts"] and k["ts"] + k["dur"] <= e["ts"] + e["dur"]]
        assert len(inside) > 2, "the call's kernels are below it"
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    launches = {e["args"]["launch"]: e for e in events if e["ph"] == "X" and "blocks" in e["args"]}
    blocks = [e for e in events if e["ph"] == "X" and rows[e["pid"], e["tid"]].startswith("SM ")]
    assert blocks and all(launches[b["args"]["launch"]]["ts"] <= b["ts"] for b in blocks), "blocks are inside of their kernels"
    hang = os.path.join(HERE, "..", "candidates", "deadlock_flag.cu")
    expect(run("check", "--quick", "--trace", path, "push_copy", hang), 1, verdict="deadlock")
    with open(path, encoding="utf-8") as file:
        waiting = [e for e in json.load(file)["traceEvents"] if e.get("args", {}).get("ended") == "deadlock"]
    assert waiting and all("[never ended]" in e["name"] for e in waiting), waiting
    for wrong in ("/no/such/folder/run.json", FOLDER):
        expect(run("check", "--quick", "--trace", wrong, "push_copy", REFERENCE), 2, f"cannot write {wrong}: ")


def case_no_bubblewrap():
    """Without a sandbox nothing is run."""
    expect(run("check", "--quick", "push_copy", REFERENCE, PATH=FOLDER), 2, "bubblewrap", "apt install",
           "--unsafe-no-sandbox", verdict="infra")


def case_unsafe():
    """Unless the user wants it; the verdict says so."""
    expect(run("check", "--quick", "--unsafe-no-sandbox", "push_copy", REFERENCE), 0, "without a sandbox", verdict="PASS")
    verdict = run("check", "--quick", "--json", "--unsafe-no-sandbox", "push_copy", template()).verdict()
    assert verdict["class"] == "wrong" and verdict["sandbox"] == "none", verdict


def case_other_user():
    """A user without rights."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    other_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    readable = subprocess.run([*other_user, TOOL, "list"], capture_output=True, check=False)
    if readable.returncode != 0:
        raise Skip("the build is not readable by others")
    home = os.path.join(FOLDER, "home")
    os.makedirs(home)
    os.chmod(FOLDER, 0o755)
    mine = shutil.copy(template(), home)
    os.chmod(mine, 0o644)
    for path in (home, mine):
        os.chown(path, 65534, 65534)
    own = {"HOME": home, "FABRICBENCH_CACHE": home + "/cache", "TMPDIR": home}
    expect(run("check", "--quick", "push_copy", mine, prefix=other_user, **own), 1, "never wrote", verdict="wrong")
    expect(run("check", "--quick", "push_copy", REFERENCE, prefix=other_user, **own), 0, verdict="PASS")
    assert sorted(os.listdir(home)) == ["cache", "mine.cu"], os.listdir(home)


def interrupted(signal_, delay, group, *words):
    watch = Watch()
    process = subprocess.Popen([TOOL, "check", *words, "push_copy", REFERENCE], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=watch.environment,
                               start_new_session=True)
    time.sleep(delay)
    begun = time.monotonic()
    (os.killpg if group else os.kill)(process.pid, signal_)
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    seconds = time.monotonic() - begun
    left = watch.found()
    what = f"{signal_.name} after {delay} s: {process.returncode}, {seconds:.1f} s, {out!r} {err!r}"
    print(what)
    assert not left, f"{what}: {left}"
    assert process.returncode == -signal_, what


def case_interrupted():
    """Ctrl-C, at whatever moment."""
    expect(run("check", "--quick", "push_copy", REFERENCE), 0)  # compiled
    for delay in (0.05, 0.3, 0.8):
        interrupted(signal.SIGINT, delay, True)
        interrupted(signal.SIGINT, delay, False)
    interrupted(signal.SIGTERM, 0.3, False)
    interrupted(signal.SIGHUP, 0.3, True)
    for delay in (0.1, 0.6):  # while it is compiled
        interrupted(signal.SIGINT, delay, True, "--no-cache")


def case_interrupted_is_no_verdict():
    """SIGTERM at moments of a whole full check with an empty cache, the measurement of the reference included: no verdict is
    printed or kept; the next check is whole, and removes what a killed one left."""
    whole = ("check", "--json", "--seed", "7", SHORT, SHORT_REFERENCE)
    cache = os.path.join(FOLDER, "whole_cache")
    begin = time.monotonic()
    expected = expect(run(*whole, FABRICBENCH_CACHE=cache), 0).verdict()
    length = time.monotonic() - begin
    assert expected["speed"] == 1, expected
    cache = os.path.join(FOLDER, "disturbed_cache")
    steps = 6
    for step in range(steps):
        sign = signal.SIGKILL if step % 3 == 2 else signal.SIGTERM
        watch = Watch()
        process = subprocess.Popen([TOOL, *whole], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**watch.environment, "FABRICBENCH_CACHE": cache}, text=True)
        try:
            # The cache fills, so later lives are shorter.
            out, _ = process.communicate(timeout=length * (step + 1) / (steps + 1))
        except subprocess.TimeoutExpired:
            process.send_signal(sign)
            out, _ = process.communicate(timeout=60)
            if process.returncode == -sign:
                assert out == "", f"a verdict after {sign!r}: {out}"
        if process.returncode == 0:
            assert json.loads(out)["speed"] == 1, f"a pass without its speed: {out}"
        if sign == signal.SIGKILL:  # what it left goes with the next
            done = subprocess.run([TOOL, "check", "--quick", SHORT, SHORT_REFERENCE], capture_output=True, check=False,
                                  env={**watch.environment, "FABRICBENCH_CACHE": cache})
            assert done.returncode == 0, done
        left = [path for path in watch.found() if ".fabricbench-new." not in path]
        assert not left, left
    again = expect(run(*whole, FABRICBENCH_CACHE=cache), 0).verdict()
    for verdict in (expected, again):
        verdict.pop("wall_seconds")
        verdict.pop("processor_seconds")
    assert again == expected, f"{again}\n{expected}"


def case_bench():
    """Where the processor time of a verdict goes: the parts are all of it, and none is missing."""
    cache = os.path.join(FOLDER, "bench_cache")
    first, again = (json.loads(expect(run("dev", "bench", SHORT, "--json", *words, limit=280, FABRICBENCH_CACHE=cache), 0).out)
                    for words in ((), ("--cached",)))
    parts = ("build", "checked", "timed", "sensitivity", "ranks", "start", "oracle", "compare", "rest")
    for report in (first, again):
        assert report["thoroughness"] == "full" and len(report["verdicts"]) == 1, report
        row = report["verdicts"][0]["seconds"]
        assert abs(sum(row[part] for part in parts) - row["all"]) < 1e-6 + 0.02 * row["all"], row
        assert all(row[part] > 0 for part in ("checked", "timed", "ranks", "start", "oracle", "compare")), row
        assert row["overhead"] > 1 and abs(row["per_hour"] * row["all"] - 3600) < 1, row
        assert report["median"] == report["largest"], report
        assert all(abs(report["mean"][name] - value) < 1e-9 * abs(value) for name, value in row.items() if value), report
    # Compilers are other processes, in a sandbox that does not wait for them.
    built, kept = (report["verdicts"][0]["seconds"]["build"] for report in (first, again))
    assert built > 0.2 and kept < built / 4, (built, kept)
    quick = json.loads(expect(run("dev", "bench", SHORT, "--json", "--quick", "--cached", FABRICBENCH_CACHE=cache), 0).out)
    row = quick["verdicts"][0]["seconds"]
    assert row["checked"] > 0 and row["timed"] == 0 and row["sensitivity"] == 0, row
    table = expect(run("dev", "bench", SHORT, "--quick", "--cached", FABRICBENCH_CACHE=cache), 0).out.splitlines()
    assert [line.split()[0] for line in table] == ["reference", SHORT, "median", "mean", "largest"], table
    assert table[0].split()[1:] == list(row), table
    expect(run("dev", "bench", "no_such_problem"), 2, "no problem matches")


def case_reference_fails():
    """Where the reference can't be measured there is no verdict: a pass without speed would count as slow."""
    pack = os.path.join(FOLDER, "pack")
    shutil.copytree(PROBLEMS, pack)
    folder = os.path.join(pack, "comm", "p2p", SHORT)
    with open(os.path.join(folder, "reference.cu"), encoding="utf-8") as file:
        text = file.read()
    answer = os.path.join(FOLDER, "answer.cu")
    with open(answer, "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(folder, "reference.cu"), "w", encoding="utf-8") as file:
        file.write(text.replace("class Solution", "#error not today\nclass Solution", 1))
    ran = expect(run("check", "--json", "--problems", pack, SHORT, answer), 2)
    verdict = ran.verdict()
    assert verdict["class"] == "infra" and "the reference could not be measured" in verdict["summary"], verdict
    assert verdict["speed"] is None and not verdict["timings"], verdict
    expect(run("check", "--no-reference", "--problems", pack, SHORT, answer), 0, verdict="PASS")


def case_reader_gone():
    """The reader of the verdict has gone."""
    watch = Watch()
    process = subprocess.Popen([TOOL, "check", "--quick", "push_copy", REFERENCE], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=watch.environment)
    process.stdout.close()
    err = process.stderr.read()
    process.wait(timeout=60)
    assert not any(crash.encode() in err for crash in CRASHES), err
    assert not watch.found()


def case_no_cache_folder():
    """A cache that can't be made: slower, and right."""
    blocked = os.path.join(FOLDER, "file")
    with open(blocked, "w", encoding="utf-8"):
        pass
    expect(run("check", "--quick", "push_copy", template(), FABRICBENCH_CACHE=blocked + "/cache"), 1, "never wrote")
    locked = os.path.join(FOLDER, "locked")
    os.makedirs(locked)
    os.chmod(locked, stat.S_IRUSR | stat.S_IXUSR)
    expect(run("check", "--quick", "push_copy", template(), FABRICBENCH_CACHE=locked), 1, "never wrote")
    os.chmod(locked, stat.S_IRWXU)


def full_disk():
    """A folder, and the words before a command that sees a full disk there."""
    disk = os.path.join(FOLDER, "disk")
    os.makedirs(disk)
    mount = f"mount -t tmpfs -o size=64k none {disk} && (head -c 1M /dev/zero > {disk}/zeros; true) 2>/dev/null"
    prefix = ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    if not shutil.which("unshare") or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        raise Skip("can't mount")
    return disk, prefix


def case_full_disk():
    """A disk for the cache that is full."""
    disk, prefix = full_disk()
    expect(run("check", "--quick", "push_copy", REFERENCE, prefix=prefix, FABRICBENCH_CACHE=disk), 0, verdict="PASS")


def case_full_temporary_folder():
    """A disk for temporary files that is full is our failure, and is said."""
    disk, prefix = full_disk()
    expect(run("check", "--quick", "push_copy", REFERENCE, prefix=prefix, TMPDIR=disk), 2, "No space left",
           verdict="infra")


CASES = {name[len("case_"):]: function for name, function in globals().items() if name.startswith("case_")}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print("\n".join(CASES))
        sys.exit()
    isolate()
    TOOL, FOLDER = os.path.abspath(sys.argv[1]), tempfile.mkdtemp(prefix="check")
    try:
        CASES[sys.argv[2]]()
    except Skip as why:
        print("skipped:", why)
        sys.exit(SKIPPED)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
