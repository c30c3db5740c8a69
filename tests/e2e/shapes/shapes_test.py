#!/usr/bin/env python3
"""Runs one shape on modelled GPUs and checks what theory says about its times, whatever the platform's constants are.

The programs print lines `name value`; the relations are here. A bound is as wide as theory leaves it: how a program
fills its loops and how the links' calendars are cut shows up as some per cent.

Usage: shapes_test.py FABRICBENCH SHAPE.cu
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


class Shape:
    """The values of runs, and what did not hold."""

    def __init__(self, tool, source):
        self.tool, self.source, self.failures = tool, source, 0

    def run(self, *arguments, platform="b300x8"):
        """Values by name; the bytes that all devices together sent over links."""
        values, devices = self.run_with_record(*arguments, platform=platform)
        return values, sum(device["peer_bytes_sent"] for device in devices)

    def run_with_record(self, *arguments, platform="b300x8"):
        """Values by name; the record's devices."""
        with tempfile.TemporaryDirectory() as directory:
            record = os.path.join(directory, "record.json")
            command = [self.tool, "exec", "--platform", platform, "--record", record, self.source]
            if arguments:
                command += ["--", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=250)
            print(done.stdout + done.stderr)
            if done.returncode != 0:
                sys.exit(f"exit code {done.returncode}")
            with open(record) as file:
                devices = json.load(file)["devices"]
        values = dict(line.split() for line in done.stdout.splitlines())
        return {name: float(value) for name, value in values.items()}, devices

    def expect(self, what, value, least, most):
        good = least <= value <= most
        self.failures += not good
        print(f"{'ok  ' if good else 'FAIL'}  {what}: {value:.3f}, expected {least:.3f} to {most:.3f}")

    def expect_about(self, what, value, expected, tolerance):
        self.expect(what, value, expected * (1 - tolerance), expected * (1 + tolerance))


def ring(shape):
    """time = launch + 2 (n - 1) latencies + 2 (n - 1) / n * bytes / rate."""
    values, _ = shape.run()
    sizes = sorted(int(name.split(".")[1]) for name in values if name.startswith("push."))
    tiny, small, middle, large = sizes
    ranks = (2, 4, 8)
    time = {(n, size): values[f"ring.{n}.{size}"] for n in ranks for size in sizes}

    step = (time[4, tiny] - time[2, tiny]) / 4
    shape.expect_about("latency of steps from 4 to 8 ranks, against from 2 to 4", (time[8, tiny] - time[4, tiny]) / 8 / step, 1, 0.1)

    def slope(n, low, high):
        return (time[n, high] - time[n, low]) / (high - low)

    for n in ranks:
        ratio = slope(n, middle, large) / slope(n, small, middle)
        shape.expect_about(f"{n} ranks: time for more bytes, against that for the first ones", ratio, 1, 0.2)
        ratio = slope(n, small, large) / slope(2, small, large)
        shape.expect_about(f"{n} ranks: time for a byte, against 2 ranks", ratio, 2 * (n - 1) / n, 0.15)
    # Each byte crosses a link once with two ranks, and is then added: slower than a push, but not by much.
    push = (values[f"push.{large}"] - values[f"push.{small}"]) / (large - small)
    shape.expect("2 ranks: time for a byte, against a push", slope(2, small, large) / push, 1, 2)


def one_shot(shape):
    """Each reads from each: n (n - 1) messages over links, n - 1 into each device."""
    slopes = {}
    for n in (2, 4, 8):
        values, sent = shape.run(str(n))
        shape.expect_about(f"{n} ranks: bytes over links, against n (n - 1) messages", sent / (n * (n - 1) * values["bytes"]), 1, 0.02)
        sizes = sorted(int(name.split(".")[1]) for name in values if name.startswith("microseconds."))
        times = [values[f"microseconds.{size}"] for size in sizes]
        slopes[n] = (times[1] - times[0]) / (sizes[1] - sizes[0])
    for n in (4, 8):
        shape.expect_about(f"{n} ranks: time for a byte, against 2 ranks", slopes[n] / slopes[2], n - 1, 0.15)


def barrier(shape):
    """All flags are in flight at once: latency grows with every device that takes part, but far less than in proportion."""
    values, _ = shape.run()
    latency = {n: values[f"barrier.{n}"] for n in range(2, 9)}
    for n in range(3, 9):
        # When polls look shifts them by as much as a device adds.
        shape.expect(f"{n} devices, against {n - 1}", latency[n] / latency[n - 1], 0.98, 1.5)
    shape.expect("8 devices, against 2", latency[8] / latency[2], 1.01, 2)


def shared_evenly(starts, works):
    """When each of two flows ends that want the link for so long from then on, if it is shared evenly while both do."""
    order = sorted((0, 1), key=lambda k: starts[k])
    first, second = order
    left = {first: works[first] - (starts[second] - starts[first]), second: works[second]}
    if left[first] <= 0:
        return [start + work for start, work in zip(starts, works)]
    shorter, longer = sorted(order, key=lambda k: left[k])
    ends = [0, 0]
    ends[shorter] = starts[second] + 2 * left[shorter]
    ends[longer] = starts[second] + left[shorter] + left[longer]
    return ends


def sharing(shape):
    """While both flows last each has half of the link; then the longer one has all of it."""
    values, _ = shape.run()
    for case in dict.fromkeys(name.split(".")[0] for name in values):
        starts, alone, together = ([values[f"{case}.{k}.{what}"] for k in (0, 1)] for what in ("start", "alone", "together"))
        if case.startswith("apart"):
            expected = alone
        else:
            expected = shared_evenly(starts, [end - start for end, start in zip(alone, starts)])
        # The link is never idle, so this holds for any order of service.
        shape.expect_about(f"{case}: end of both, against a link that is never idle", max(together) / max(expected), 1, 0.05)
        for k in (0, 1):
            ratio = (together[k] - starts[k]) / (expected[k] - starts[k])
            shape.expect_about(f"{case}: flow {k}, against sharing evenly", ratio, 1, 0.15)


def all_to_all(shape):
    """Balanced, every link is full both ways all the time; all to one, its link takes n - 1 times as long."""
    values, _ = shape.run()
    for n in (2, 3, 5, 8):
        shape.expect_about(f"{n} devices: balanced, against one push", values[f"balanced.{n}"] / values[f"one.{n}"], 1, 0.15)
        shape.expect_about(f"{n} devices: all to one, against one push", values[f"skewed.{n}"] / values[f"one.{n}"], n - 1, 0.15)


def blocks(shape):
    """Rates add up until the link is full, and stay there."""
    values, _ = shape.run()
    for kind in ("push", "pull"):
        rate = {int(name.split(".")[1]): value for name, value in values.items() if name.startswith(kind)}
        one, full = rate[1], max(rate.values())
        linear = [count for count in rate if count > 1 and count * one <= 0.5 * full]
        flat = [count for count in rate if count * one >= 2 * full]
        shape.expect(f"{kind}: counts of blocks that are far from filling the link", len(linear), 2, 10)
        shape.expect(f"{kind}: counts of blocks that are more than enough", len(flat), 2, 10)
        for count in linear:
            shape.expect(f"{kind}: {count} blocks, against one", rate[count] / one, 0.8 * count, 1.05 * count)
        for count in flat:
            shape.expect(f"{kind}: {count} blocks, against the best", rate[count] / full, 0.93, 1)
        counts = sorted(rate)
        for fewer, more in zip(counts, counts[1:]):
            shape.expect(f"{kind}: {more} blocks, against {fewer}", rate[more] / rate[fewer], 0.95, 1.15 * more / fewer)


def banks(shape, values):
    """A warp's load takes as many cycles as lanes want different words of one bank; words that lanes share count once."""
    time = {int(name.split(".")[1]): value for name, value in values.items() if name.startswith("bank.")}
    # The begin and the end of the warps cost the same with every stride: differences are without them.
    way = max(time[2] - time[1], 1)  # a cycle at least: without conflicts the relations fail, rather than the division
    for ways in (2, 4, 8, 16):
        shape.expect_about(f"stride {2 * ways} against {ways}: ways more, in those from 1 to 2", (time[2 * ways] - time[ways]) / way, ways, 0.1)
    shape.expect_about("stride 32, against stride 1", time[32] / time[1], 32, 0.15)
    shape.expect_about("one word for all lanes, against stride 1", time[0] / time[1], 1, 0.02)
    shape.expect_about("an odd stride, against stride 1", time[33] / time[1], 1, 0.02)


def occupancy(shape, values):
    """A chain of loads leaves a multiprocessor idle: as many blocks as reside there, so many times as fast."""
    one = values["resident.1"]
    for resident in (2, 4):
        shape.expect_about(f"{resident} resident blocks, against 1", one / values[f"resident.{resident}"], resident, 0.05)
        fewer = resident - 1
        shape.expect_about(f"a byte of shared memory too many for {resident} blocks, against 1", one / values[f"exceeds.{resident}"], fewer, 0.05)


def caches(shape, values):
    """What is read again comes from the nearest cache that holds it."""
    shape.expect("a byte of L2, against one of L1", values["again.l2"] / values["again.l1"], 1.2, 100)
    shape.expect("a byte of memory, against one of L2", values["again.memory"] / values["again.l2"], 1.2, 100)


def units(shape, values):
    """Different units work beside each other, one unit does one thing after the other, and all share the issue slots."""
    time = {name.split(".")[1]: value for name, value in values.items() if name.startswith("units.")}
    for unit in ("fma", "integer"):
        shape.expect_about(f"twice as many instructions of {unit}", time[f"{unit}_and_{unit}"] / time[unit], 2, 0.1)
    # An integer instruction occupies its unit for two cycles, so that half of the issue slots are left for fma.
    shape.expect("fma and integer, against the larger", time["fma_and_integer"] / max(time["fma"], time["integer"]), 1, 1.2)


def tensor(shape, values):
    larger = max(values["tensor.loads"], values["tensor.products"])
    shape.expect("mma.sync and loads, against the larger", values["tensor.both"] / larger, 0.95, 1.15)
    # Otherwise the larger could not be told from the sum.
    shape.expect_about("loads, against mma.sync", values["tensor.loads"] / values["tensor.products"], 1, 0.3)


def inside(shape):
    """One multiprocessor: banks, resident blocks, caches, units, tensor cores beside loads."""
    for platform in ("b300x8", "h100x8"):
        values, _ = shape.run(platform=platform)
        for check in (banks, occupancy, caches, units, tensor):
            check(shape, values)
        if platform == "h100x8":  # half as many lanes of f64 as of f32
            shape.expect_about("f64, against f32", values["units.f64"] / values["units.fma"], 2, 0.1)
    for warps in (1, 2, 4):
        values, devices = shape.run_with_record("traffic", str(warps))
        ratio = devices[0]["memory_bytes"] / values["bytes"]
        shape.expect_about(f"{warps} warps of a block read the same lines: bytes of memory, against those of the lines", ratio, 1, 0.02)


def pipeline(shape):
    """A ring of stages hides latency, and no more: the slower of copies and products remains."""
    values, _ = shape.run(platform="h100x8")
    shape.expect("products: copies alone wait for their latency: 4 stages, against 2", values["products.copies.4"] / values["products.copies.2"], 0.4, 0.69)
    shape.expect_about("5 stages: copies of three times the bytes", values["copies.copies.5"] / values["products.copies.5"], 3, 0.15)
    for mix in ("products", "copies"):
        both, copies, products = ({n: values[f"{mix}.{what}.{n}"] for n in (2, 3, 4, 5)} for what in ("both", "copies", "products"))
        for n in (3, 4, 5):
            shape.expect(f"{mix}: {n} stages, against {n - 1}", both[n] / both[n - 1], 0, 1.01)
        # Copies alone say what limits them: their latency, or their bytes, which no stage makes fewer.
        if copies[4] < 0.7 * copies[2]:
            shape.expect(f"{mix}: 4 stages, against 2", both[4] / both[2], 0.5, 0.85)
        # Units are booked in intervals of 66 ns, 130 cycles: over 30 tiles of 383 cycles that is one per cent at each end.
        for n in (2, 3, 4, 5):
            shape.expect(f"{mix}: {n} stages, against the slower of copies and products", both[n] / max(copies[n], products[n]), 0.97, 3)
        shape.expect(f"{mix}: 5 stages, against the slower of copies and products", both[5] / max(copies[5], products[5]), 0.97, 1.25)


SHAPES = {check.__name__: check for check in (ring, one_shot, barrier, sharing, all_to_all, blocks, inside, pipeline)}


def main():
    tool, source = sys.argv[1:3]
    shape = Shape(tool, source)
    SHAPES[pathlib.Path(source).stem](shape)
    sys.exit(1 if shape.failures else 0)


main()
