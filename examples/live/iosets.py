# SPDX-License-Identifier: Apache-2.0
"""IO-Sets in BeeGFS (Barthélemy et al., RR-9537), Figure 4, in small.

There, one job with a period of 19.2 s (18 s of computing, 128 MiB) and fifteen with 384 s (360 s, 2560 MiB) on
110 MiB/s. Here the rare ones are a hundred times faster and the frequent one thirty times: the controller
looks for periods of half a second and more, and wants to have seen three that are regular. So the two kinds are in neighbouring
sets, where in the paper there is one between them, and the frequent one has 10 times the share of the
others, not 100 times. Bandwidth and volumes are a quarter, since all variants run at the same time, each
on a layer of its own, and are judged over the same last part.

  unmanaged    share=fifo, the requests of all jobs as they come
  clairvoyant  share=io-sets, told the right periods
  detected     share=io-sets, told nothing: the controller finds the periods in the bytes that its node
               reports 20 times a second
  off by half  as detected; but whenever the controller has found another period of a job, 0.5 or 1.5 times
               that is declared, drawn anew each time, as the paper did with the output of FTIO

The model is `sluice sim`, fair-share or set-10, with the right periods; for the last variant with half or
one and a half of them, one draw for each job.
"""
import random

from lab import MIB, said
from phased import Job, live, measures, predict, show as show_rows, side_by_side

PAPER = ("RR-9537, on BeeGFS: clairvoyant against unmanaged -16 %, -22 %, -63 %, +29 %;\n"
         "off by half against detected +5 %, +5 %, +27 %, -5 %.")
WHY = ("Live differs from the model where it has what the model leaves out: nobody has a period before three of them were\n"
       "seen, calls of 64 KiB are not interrupted, phases drift apart, and sleeping programs wait for a CPU.")
BANDWIDTH = 110 * MIB / 4


class Found:
    """The periods that the controller shows, and what it is told instead."""

    def __init__(self, lab, jobs, rng):
        self.lab, self.rng, self.last = lab, rng, {}
        self.names = {j.name for j in jobs}

    def seen(self, status):
        for s in status["jobs"]:
            found = s.get("period_found_s") or 0
            if s["job"] not in self.names or not found:
                continue
            before = self.last.get(s["job"])
            if before and abs(found - before) < 0.1 * before:
                continue
            self.last[s["job"]] = found
            if self.rng:
                told = found * self.rng.choice((0.5, 1.5))
                self.lab.command("set", s["job"], f"period={told:.6f}")


def run(lab, args):
    rare, frequent = args.scale or (400 if args.quick else 100), args.scale or (120 if args.quick else 30)
    seconds = args.seconds or (3 if args.quick else 100)
    jobs = [Job("frequent", 1, 18 / frequent, 32 * MIB / frequent, 19.2 / frequent)]
    jobs += [Job(f"rare-{i}", 1, 360 / rare, 640 * MIB / rare, 384 / rare) for i in range(15)]
    window = (seconds * 0.6, seconds)
    rng = random.Random(args.seed)
    wrong = {j.name: j.period * rng.choice((0.5, 1.5)) for j in jobs}
    right = lambda j: j.period

    def one(mine, variant):
        name, share, told, model, hint = variant
        found = Found(mine, jobs, random.Random(args.seed) if name == "off by half" else None)
        start, runs = live(mine, jobs, ["--ionodes", "1", "--capacity", f"{BANDWIDTH:.0f}", "--policy", f"share={share}"],
                           seconds, told, None if told else found.seen)
        said(f"{name} done")
        return {"variant": name, "live": measures(jobs, runs, BANDWIDTH, start + window[0], start + window[1]),
                "model": predict(mine, jobs, BANDWIDTH, window, model, hint), "verified": True,
                "periods_found": len(found.last), "periods_s": found.last}

    return {"experiment": "iosets", "jobs": len(jobs), "seconds": seconds, "variants": side_by_side(lab, (
        ("unmanaged", "fifo", right, "fair-share", right), ("clairvoyant", "io-sets", right, "set-10", right),
        ("detected", "io-sets", None, "set-10", right),
        ("off by half", "io-sets", None, "set-10", lambda j: wrong[j.name])), one)}


def show(result):
    show_rows(result["variants"])
    for row in result["variants"]:
        if row["variant"] in ("detected", "off by half"):
            print(f"{row['variant']}: periods of {row['periods_found']} of {result['jobs']} jobs were found")
    print(f"{WHY}\n{PAPER}\nAll files hold what was written.")
