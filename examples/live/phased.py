# SPDX-License-Identifier: Apache-2.0
"""Applications that alternate computing and I/O, live and in the simulator, with the same measures."""
import concurrent.futures, math, os, sys, time

MEASURES = ["max_stretch", "geomean_stretch", "io_slowdown", "utilization"]


class Job:
    def __init__(self, name, procs, compute, volume, period):
        self.name, self.procs, self.compute, self.volume, self.period = name, procs, compute, int(volume), period


def measures(jobs, runs, bandwidth, start, end):
    """As sluice-sim(1) defines them for --window-mode paper: a phase that crosses an end of the window counts by
    the part of its time that is inside."""
    length, stretch, slow, computing = end - start, [], [], 0.0
    for job, phases in zip(jobs, runs):
        io = alone = 0.0
        for begun, ended, volume in phases:
            inside = max(min(ended, end) - max(begun, start), 0)
            io += inside
            alone += volume / bandwidth * inside / (ended - begun)
        if not alone:
            sys.exit(f"no phase of {job.name} lies in the window: give it more --seconds")
        stretch.append(length / (length - io + alone))
        slow.append(io / alone)
        computing += job.procs * (length - io)
    geo = lambda v: math.exp(sum(map(math.log, v)) / len(v))
    return {"max_stretch": max(stretch), "geomean_stretch": geo(stretch), "io_slowdown": geo(slow),
            "utilization": computing / length / sum(j.procs for j in jobs)}


def side_by_side(lab, variants, what):
    """what(lab, variant) of all variants at the same time, each with a layer of its own: none has a quieter machine."""
    labs = [lab.other() for _ in variants]
    with concurrent.futures.ThreadPoolExecutor(len(variants)) as pool:
        try:
            return list(pool.map(what, labs, variants))
        except BaseException:
            for one in labs:
                one.close()  # else the others would go on to their end
            raise


def live(lab, jobs, up, seconds, period=None, seen=None, words=()):
    """When it began, and the phases of every job, under a layer started with these options."""
    kernel = lab.build("phases")
    with lab.layer(*up):
        start = time.time() + 1.5
        running = [lab.start(j.name, ["--procs", str(j.procs)] + (["--period", f"{period(j):.6f}"] if period else []),
                             [kernel, *words, f"{j.compute:.6f}", str(j.volume), f"{start:.6f}",
                              f"{start + seconds:.6f}", os.path.join(lab.root, j.name)]) for j in jobs]
        if seen:
            lab.watch(seen)
        outputs = [p.communicate()[0] for p in running]
    for job, p, text in zip(jobs, running, outputs):
        if p.returncode or "verified" not in text:
            sys.exit(f"job {job.name} failed, or its file does not hold what it wrote")
    return start, [[tuple(map(float, l.split()[1:])) for l in t.splitlines() if l.startswith("phase")]
                   for t in outputs]


def predict(lab, jobs, bandwidth, window, policy, hint=lambda j: j.period):
    """The simulator's measures of the same jobs."""
    path = os.path.join(lab.tmp, "scenario.yaml")
    with open(path, "w") as f:
        f.write(f"platform: {{bandwidth: {bandwidth}, procs: {sum(j.procs for j in jobs)}}}\n")
        f.write(f"window: [{window[0]}, {window[1]}]\njobs:\n")
        for j in jobs:
            f.write(f"  - {{name: {j.name}, procs: {j.procs}, compute: {j.compute:.9f}, "
                    f"volume: {j.volume}, period_hint: {hint(j):.9f}}}\n")
    got = lab.ask("sim", path, "--policy", policy, "--window-mode", "paper")["policies"][0]
    return {k: got[k] for k in MEASURES}


def show(rows):
    print(f"{'':37}" + " ".join(f"{k:>15}" for k in MEASURES))
    for row in rows:
        print(f"{row['variant']:30} live  " + " ".join(f"{row['live'][k]:15.3f}" for k in MEASURES))
        if row["model"]:
            print(f"{'':30} model " + " ".join(f"{row['model'][k]:15.3f}" for k in MEASURES))
