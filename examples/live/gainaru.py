# SPDX-License-Identifier: Apache-2.0
"""Gainaru et al., Scheduling the I/O of HPC applications under congestion (RR-8519), section 5, in small.

Four applications of 512, 256, 256 and 32 nodes, the mix that the paper looks at most closely. It does not say
how long they compute and how much they write; here I/O is a quarter of the time of each alone, so that all
together ask for as much as there is. Time is scaled by 25; bandwidth, 50 MiB/s, is arbitrary. All
variants run at the same time, each on a layer of its own.

The controller sees that a phase has ended when nothing came for the gap (--gap, 50 ms here, with phases of
0.2 to 0.4 s), and as long it keeps the grant of a job that computes. "declared" are the same programs, which
say when a phase begins and ends (sl_phase_begin() of libsluice). With a gap below the 50 ms between two
reports the other phases are cut in pieces when programs wait for a CPU, and min-dilation loses half of its gain.
"""
from lab import MIB, said
from phased import Job, live, measures, predict, show as show_rows, side_by_side

BANDWIDTH = 200 * MIB / 4


def run(lab, args):
    scale = args.scale or 25
    seconds = args.seconds or (4 if args.quick else 60)
    # Names, nodes, computing and volume of each instance in the paper's time.
    jobs = [Job(name, procs, compute / scale, io * BANDWIDTH / scale, (compute + io) / scale)
            for name, procs, compute, io in (("large", 512, 30, 10), ("mid-1", 256, 24, 8), ("mid-2", 256, 24, 8), ("small", 32, 15, 5))]
    window = (40 / scale, seconds)

    def one(mine, variant):
        name, grant, declared = variant
        up = ["--capacity", f"{BANDWIDTH:.0f}"]
        if grant:
            up += ["--policy", f"grant={grant}", "--gap", f"{args.gap or 0.05:.6f}"]
        start, runs = live(mine, jobs, up, seconds, words=["declare"] if declared else [])
        said(f"{name} done")
        return {"variant": name, "live": measures(jobs, runs, BANDWIDTH, start + window[0], start + window[1]),
                "model": predict(mine, jobs, BANDWIDTH, window, grant or "fair-share"), "verified": True}

    return {"experiment": "gainaru", "time_scale": scale, "variants": side_by_side(lab, (
        ("unmanaged", None, False), ("max-sys-eff", "max-sys-eff", False), ("max-sys-eff, declared", "max-sys-eff", True),
        ("min-dilation", "min-dilation", False), ("min-dilation, declared", "min-dilation", True)), one)}


def show(result):
    show_rows(result["variants"])
    print("RR-8519, on Vesta: min-dilation lowers the dilation of each application by 8.4 % on average against unmanaged, by\n"
          "14.5 % for the smallest; max-sys-eff raises that of the smallest by 36 %, and has 5.65 % more SysEfficiency.")
    print("Live, a grant ends only when the node has reported and the controller has answered, some milliseconds later.")
    print("All files hold what was written.")
