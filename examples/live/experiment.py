#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Experiments of the papers in small, live on one machine, beside the simulator's prediction.

usage: experiment.py [--sluice PATH] [--dir DIR] [--scale N] [--seconds S] NAME

Names:
  iosets    seed 000, Figure 4: one job with short, frequent I/O phases and fifteen with long, rare
            ones; without scheduling between jobs (fifo), with IO-Sets told the right periods, and told
            periods that are off by half
  gainaru   seed 003, section 5: applications of different sizes; unmanaged, max-sys-eff,
            min-dilation, granted by the controller

Time is scaled by a power of ten (--scale 100: a hundred times faster), volumes with it, bandwidth
is as in the paper. Every file is read again and compared at the end. The layer is its own.
"""
import argparse, json, math, os, random, shutil, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20


class Job:
    def __init__(self, name, procs, compute, volume, period):
        self.name, self.procs, self.compute, self.volume, self.period = name, procs, compute, volume, period


def measures(jobs, runs, bandwidth, start, end):
    """As sluice-sim(1) defines them, over the phases that lie in the window."""
    stretch, slow, computing, used = [], [], 0.0, 0.0
    for job, phases in zip(jobs, runs):
        inside = [p for p in phases if p[0] >= start and p[1] <= end]
        if not inside:
            continue
        io = sum(p[1] - p[0] for p in inside)
        alone = sum(p[2] for p in inside) / bandwidth
        compute = job.compute * len(inside)
        stretch.append((compute + io) / (compute + alone))
        slow.append(io / alone)
        computing += job.procs * compute
        used += job.procs * (compute + io)
    geo = lambda v: math.exp(sum(map(math.log, v)) / len(v))
    return {"max_stretch": max(stretch), "geomean_stretch": geo(stretch),
            "io_slowdown": geo(slow), "utilization": computing / used}


class Lab:
    def __init__(self, args):
        self.sluice, self.args = os.path.abspath(args.sluice), args
        self.tmp = tempfile.mkdtemp(prefix="sluice-experiment-", dir=args.dir)
        self.kernel = os.path.join(self.tmp, "phases")
        self.runtime = tempfile.mkdtemp(prefix="sluice-run-")
        self.env = dict(os.environ, SLUICE_RUNTIME=self.runtime)
        subprocess.run([*os.environ.get("CC", "cc").split(), "-O2", "-D_GNU_SOURCE", "-o", self.kernel,
                        os.path.join(HERE, "phases.c")], check=True)

    def close(self):
        shutil.rmtree(self.tmp, ignore_errors=True)
        shutil.rmtree(self.runtime, ignore_errors=True)

    def command(self, *words, **kw):
        return subprocess.run([self.sluice, *words], env=self.env, check=True, **kw)

    def live(self, jobs, up, seconds, period=lambda j: j.period):
        """Phases of every job under a layer started with these options."""
        root = os.path.join(self.tmp, "root")
        os.makedirs(root, exist_ok=True)
        self.command("up", *up, root, stdout=subprocess.DEVNULL)
        try:
            start = time.time() + 1.5
            running = [subprocess.Popen(
                [self.sluice, "run", "--job", j.name, "--procs", str(j.procs), "--period", f"{period(j):.6f}", "--",
                 self.kernel, f"{j.compute:.6f}", str(j.volume), f"{start:.6f}", f"{start + seconds:.6f}",
                 os.path.join(root, j.name)],
                env=self.env, stdout=subprocess.PIPE, text=True) for j in jobs]
            outputs = [p.communicate()[0] for p in running]
        finally:
            self.command("down", stdout=subprocess.DEVNULL)
            shutil.rmtree(root, ignore_errors=True)
        for job, p, text in zip(jobs, running, outputs):
            if p.returncode or "verified" not in text:
                sys.exit(f"job {job.name} failed")
        return start, [[tuple(map(float, l.split()[1:])) for l in t.splitlines() if l.startswith("phase")]
                       for t in outputs]

    def predict(self, jobs, bandwidth, window, policy, hint=lambda j: j.period, per_proc=0):
        path = os.path.join(self.tmp, "scenario.yaml")
        with open(path, "w") as f:
            f.write(f"platform: {{bandwidth: {bandwidth}, procs: {sum(j.procs for j in jobs)}"
                    + (f", per_proc_bandwidth: {per_proc}" if per_proc else "") + "}\n")
            f.write(f"window: [{window[0]}, {window[1]}]\njobs:\n")
            for j in jobs:
                f.write(f"  - {{name: {j.name}, procs: {j.procs}, compute: {j.compute:.9f}, "
                        f"volume: {j.volume}, period_hint: {hint(j):.9f}}}\n")
        out = self.command("sim", path, "--policy", policy, "--window-mode", "paper", "--json", stdout=subprocess.PIPE, text=True)
        return json.loads(out.stdout)["policies"][0]


def show(rows):
    keys = ["max_stretch", "geomean_stretch", "io_slowdown", "utilization"]
    print(f"{'':34}" + "".join(f"{k:>17}" for k in keys))
    for name, live, sim in rows:
        print(f"{name:26} live   " + " ".join(f"{live[k]:16.3f}" for k in keys))
        if sim:
            print(f"{'':26} model  " + " ".join(f"{sim[k]:16.3f}" for k in keys))


def iosets(lab, args):
    scale, bandwidth = args.scale, 110 * MIB
    jobs = [Job("frequent", 1, 18 / scale, int(128 * MIB / scale), 19.2)]
    jobs += [Job(f"rare-{i}", 1, 360 / scale, int(2560 * MIB / scale), 384) for i in range(15)]
    window = (400 / scale, (args.seconds or 3200 / scale))
    rng = random.Random(args.seed)
    factor = {j.name: rng.choice((0.5, 1.5)) for j in jobs}
    # The paper's periods, not the scaled ones, decide the set: a power of ten moves all by the same.
    right = lambda j: j.period / scale
    off = lambda j: j.period / scale * factor[j.name]
    rows = []
    for name, policy, model, period in (("fifo", "fifo", "fair-share", right),
                                        ("io-sets, right periods", "io-sets", "set-10", right),
                                        ("io-sets, periods off by half", "io-sets", "set-10", off)):
        start, runs = lab.live(jobs, ["--capacity", str(bandwidth), "--policy", f"share={policy}"], window[1], period)
        live = measures(jobs, runs, bandwidth, start + window[0], start + window[1])
        rows.append((name, live, lab.predict(jobs, bandwidth, window, model, period)))
        print(f"# {name} done", file=sys.stderr)
    show(rows)


def gainaru(lab, args):
    scale, bandwidth = args.scale, 200 * MIB
    # 512/256/256/32 of the paper's section 5, with I/O about a quarter of the time of each alone.
    jobs = [Job("large", 512, 30 / scale, int(2000 * MIB / scale), 40),
            Job("mid-1", 256, 24 / scale, int(1600 * MIB / scale), 32),
            Job("mid-2", 256, 24 / scale, int(1600 * MIB / scale), 32),
            Job("small", 32, 15 / scale, int(1000 * MIB / scale), 20)]
    window = (40 / scale, args.seconds or 800 / scale)
    rows = []
    for name, grant, model in (("unmanaged", "none", "fair-share"), ("max-sys-eff", "max-sys-eff", "max-sys-eff"),
                               ("min-dilation", "min-dilation", "min-dilation")):
        up = ["--capacity", str(bandwidth)]
        if grant != "none":
            up += ["--policy", f"grant={grant}", "--gap", f"{max(1 / scale, 0.05)}"]
        start, runs = lab.live(jobs, up, window[1])
        live = measures(jobs, runs, bandwidth, start + window[0], start + window[1])
        rows.append((name, live, lab.predict(jobs, bandwidth, window, model)))
        print(f"# {name} done", file=sys.stderr)
    show(rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("name", choices=["iosets", "gainaru"])
    p.add_argument("--sluice", default=os.path.join(HERE, "../../build/cli/sluice"))
    p.add_argument("--dir", default="/dev/shm", help="where the files are written")
    p.add_argument("--scale", type=float, default=100)
    p.add_argument("--seconds", type=float, default=0, help="length of a run, if not the paper's, scaled")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    lab = Lab(args)
    try:
        {"iosets": iosets, "gainaru": gainaru}[args.name](lab, args)
    finally:
        lab.close()


if __name__ == "__main__":
    main()
